"""Reason codes: one code for one cause, stable, each with sentences for people.

Whoever shows a reason translates `ReasonText.expected` and `ReasonText.advice` and sets `Reason.got` and
`Reason.where`, which are quotations, beside them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from contract.reasons.addresses import ADDRESSES
from contract.reasons.bodies import BODIES
from contract.reasons.fields import FIELDS
from contract.reasons.flags import FLAGS, flag_text
from contract.reasons.media import MEDIA
from contract.reasons.statuses import OTHER_STATUS, STATUSES
from contract.reasons.text import ReasonText
from contract.reasons.transport import TRANSPORT
from contract.words import gettext_noop

__all__ = ["FLAGS", "REASONS", "ReasonText", "flag_text", "reason_text"]

REASONS: Mapping[str, ReasonText] = {
    text.code: text for text in (*TRANSPORT, *STATUSES, *BODIES, *FIELDS, *MEDIA, *ADDRESSES)
}
"""Every code with its sentences, but for the family `http_NNN` of other status codes."""

_STATUS_CODE = re.compile(r"http_[0-9]{3}")


def reason_text(code: str) -> ReasonText:
    """Return the sentences for `code`; never raises, a code that nobody knows gets a general answer."""
    if code in REASONS:
        return REASONS[code]
    if _STATUS_CODE.fullmatch(code):
        return ReasonText(code, OTHER_STATUS.expected, OTHER_STATUS.advice)
    return ReasonText(
        code,
        gettext_noop("An answer that follows the API guide."),
        gettext_noop("Compare the answer with the API guide, then try again."),
    )
