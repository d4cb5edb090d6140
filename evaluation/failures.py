"""Why a run failed, in words: what happened, what was expected, and what to do next."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _  # translates messages from data

from contract.reasons import reason_text

Text = str | Promise


@dataclass(frozen=True, slots=True)
class FailureText:
    """`title` says what happened, `expected` what should have come, `advice` what to do; empty where none applies."""

    title: Text
    expected: Text = ""
    advice: Text = ""


_NOTHING_TO_DO: Final = _("You need not do anything; start the run again when you like.")

# Faults that are the platform's own. Those of a participant are the contract's reason codes.
PLATFORM: Final[Mapping[str, FailureText]] = {
    "ended_by_organizer": FailureText(_("The organizers ended the run."), advice=_NOTHING_TO_DO),
    "no_progress": FailureText(_("The platform could not get on with the run."), advice=_NOTHING_TO_DO),
    "answers_incomplete": FailureText(
        _("The platform's answer model did not answer every question."), advice=_NOTHING_TO_DO
    ),
    "scores_incomplete": FailureText(_("The platform's judge did not score every answer."), advice=_NOTHING_TO_DO),
    "model_status": FailureText(
        _("The platform's answer model or judge refused to be asked: a setting of the platform is wrong."),
        advice=_NOTHING_TO_DO,
    ),
    "dataset_changed": FailureText(
        _("A dataset file on the platform is missing or has changed."), advice=_NOTHING_TO_DO
    ),
    "secret_unavailable": FailureText(
        _("The Memory System Key could not be read."),
        advice=_("Give the key again on the request's status page, then start the run again."),
    ),
    "plan_changed": FailureText(_("The platform was changed while the run went on."), advice=_NOTHING_TO_DO),
    "internal_error": FailureText(_("The platform made an error."), advice=_NOTHING_TO_DO),
}


def failure_text(code: str, *, platform: bool = False) -> FailureText:
    """The words for a failure code; never raises. Codes that are not the platform's own are reason codes."""
    if code in PLATFORM:
        return PLATFORM[code]
    if platform:
        return PLATFORM["internal_error"]
    if not code:
        return FailureText(_("Nothing is wrong."))
    reason = reason_text(code)
    return FailureText(
        _("A call to your system did not succeed."), expected=_(reason.expected), advice=_(reason.advice)
    )
