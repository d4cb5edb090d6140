"""Tables of how a run happens: releases, jobs, what was said on the wire, results, quotas, publication."""

from .arms import ArmItem, ArmRun
from .evidence import ResponseBody, Segment
from .items import Answer, BudgetScore, Item, Judgement, Retrieval
from .jobs import Job, StageProgress
from .publication import PublicationReview
from .quotas import QuotaAccount, QuotaEntry
from .releases import Release
from .results import Result
from .wire import Event, Receipt, Scope
from .workers import Worker

__all__ = [
    "Answer",
    "ArmItem",
    "ArmRun",
    "BudgetScore",
    "Event",
    "Item",
    "Job",
    "Judgement",
    "PublicationReview",
    "QuotaAccount",
    "QuotaEntry",
    "Receipt",
    "Release",
    "ResponseBody",
    "Result",
    "Retrieval",
    "Scope",
    "Segment",
    "StageProgress",
    "Worker",
]
