"""The one exception by which a service says no to a person or a program."""

from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _


class Refusal(Exception):
    """A rule that says no. `code` is for machines and stays; `message` says what was expected and what to do next.

    `status` is the HTTP status with which a page or the API answers; `details` holds JSON values for the API's body
    (times as ISO 8601 text), `retry_after_s` the seconds after which another try makes sense.
    """

    def __init__(
        self,
        code: str,
        message: str | Promise,
        *,
        status: int = 409,
        retry_after_s: int | None = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(code)
        self.code = code
        self.message = message
        self.status = status
        self.retry_after_s = retry_after_s
        self.details = details or {}


def require_reason(reason: str) -> None:
    """Raise Refusal `reason_missing` for a decision that says nothing."""
    if not reason.strip():
        raise Refusal("reason_missing", _("Give a reason; it stays with the decision."), status=422)
