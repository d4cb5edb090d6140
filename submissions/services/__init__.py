"""Every write about who takes part. Each function is atomic, says no by raising Refusal, and leaves an audit row."""

from submissions.services.access import (
    edit_access_request,
    new_receipt,
    submit_access_request,
    withdraw_access_request,
)
from submissions.services.cycles import record_cycle_change, record_prize_change
from submissions.services.keys import claim_key, offer_new_key, revoke_key, rotate_key, set_scopes
from submissions.services.review import (
    approval_letter,
    approve_access_request,
    changes_letter,
    reject_access_request,
    rejection_letter,
    request_changes,
    start_review,
)
from submissions.services.versions import (
    appeal_version,
    disqualify_version,
    forget_secret,
    reinstate_version,
    replace_secret,
    set_http_override,
    suspend_version,
)

__all__ = [
    "appeal_version",
    "approval_letter",
    "approve_access_request",
    "changes_letter",
    "claim_key",
    "disqualify_version",
    "edit_access_request",
    "forget_secret",
    "new_receipt",
    "offer_new_key",
    "record_cycle_change",
    "record_prize_change",
    "reinstate_version",
    "reject_access_request",
    "rejection_letter",
    "replace_secret",
    "request_changes",
    "revoke_key",
    "rotate_key",
    "set_http_override",
    "set_scopes",
    "start_review",
    "submit_access_request",
    "suspend_version",
    "withdraw_access_request",
]
