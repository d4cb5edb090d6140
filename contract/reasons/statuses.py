"""Sentences for HTTP status codes."""

from __future__ import annotations

from contract.reasons.text import ReasonText
from contract.words import gettext_noop

__all__ = ["OTHER_STATUS", "STATUSES"]

OTHER_STATUS = ReasonText(
    "http_status",
    gettext_noop("HTTP status 200."),
    gettext_noop("Look in the logs of the server or its proxy for the cause of this status."),
)

STATUSES = (
    ReasonText(
        "http_400",
        gettext_noop("HTTP status 200 for a request that follows the API guide."),
        gettext_noop("Compare the server's validation with the request format in the API guide."),
    ),
    ReasonText(
        "http_422",
        gettext_noop("HTTP status 200 for a request that follows the API guide."),
        gettext_noop("Compare the server's validation with the request format in the API guide."),
    ),
    ReasonText(
        "http_413",
        gettext_noop("A server that accepts the request sizes in the API guide."),
        gettext_noop("Raise the limit on request bodies in the server and its proxy."),
    ),
    ReasonText(
        "http_429",
        gettext_noop("A server that bears the concurrency that you declared."),
        gettext_noop("Raise the server's rate limit, or declare a lower concurrency."),
    ),
    ReasonText(
        "auth_failed",
        gettext_noop("An accepted Memory System Key."),
        gettext_noop("Check the Memory System Key and the authentication scheme of this version."),
    ),
    ReasonText(
        "access_denied",
        gettext_noop("A Memory System Key that may use this address."),
        gettext_noop("Give the Memory System Key access, and let no firewall or bot filter refuse the platform."),
    ),
    ReasonText(
        "not_found",
        gettext_noop("An endpoint at the given path."),
        gettext_noop("Check the path of the URL, letter by letter."),
    ),
    ReasonText(
        "conflict",
        gettext_noop("HTTP status 200."),
        gettext_noop("Answer a repeated request with the same request_id and body as a success."),
    ),
    ReasonText(
        "redirect_not_followed",
        gettext_noop("An answer at the given address itself."),
        gettext_noop("Submit the final address; redirects are never followed."),
    ),
    ReasonText(
        "unexpected_status",
        gettext_noop("HTTP status 200 with a JSON body."),
        gettext_noop("Answer with status 200 once the work is done."),
    ),
    ReasonText(
        "status_202_unbound",
        gettext_noop("HTTP status 200 once the messages are stored and searchable."),
        gettext_noop("Answer when the write is complete, or have an Add-status URL approved with the version."),
    ),
    ReasonText(
        "task_id_missing",
        gettext_noop("A task_id in the body of HTTP 202."),
        gettext_noop("Return the task_id under which the Add-status URL knows this write."),
    ),
    ReasonText(
        "task_id_type",
        gettext_noop("A task_id that is a string."),
        gettext_noop("Return the task_id as a JSON string."),
    ),
    ReasonText(
        "task_id_charset",
        gettext_noop(
            "A task_id of 1 to 200 characters out of A-Z, a-z, 0-9 and . _ ~ : - that begins with a letter or digit."
        ),
        gettext_noop("Use a UUID or a number as task_id."),
    ),
)
