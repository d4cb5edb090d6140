"""The judges that ask a chat model, by id with version."""

from collections.abc import Callable, Mapping
from typing import Final

from benchmarks.judging.chat import ChatModel
from benchmarks.judging.judge import ChatJudge
from benchmarks.judging.verdict import Judge

__all__ = ["JUDGES"]

JUDGES: Final[Mapping[str, Callable[[ChatModel, bytes], Judge]]] = {ChatJudge.id: ChatJudge}
