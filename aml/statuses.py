"""What follows on each HTTP status, by the code that reads answers at run time. API guide and API show the same."""

from contract.answers import read_add, read_search
from contract.messages import AddRequest, Message, SearchRequest
from evaluation.pipeline.baseline import TOP_K

HTTP_STATUSES = (
    *(408, 425, 429, 500, 502, 503, 504, 524, 409),
    *(401, 403, 404, 405, 410, 413, 415, 501, 505, 400, 422),
    *(201, 202, 204, 301, 302, 307, 308),
)
"""Statuses that the retry table names, and neighbours that people ask about; 200 is judged by its body."""

_ADD = AddRequest(request_id="r", messages=(Message(role="user", content="m"),), user_id="u", session_id="s")
_SEARCH = SearchRequest(query="q", user_id="u", top_k=TOP_K)


def verdicts(status: int) -> tuple[str, str]:
    """The verdict of an Add and of a Search that are answered with `status` and nothing else."""
    add = read_add(status, {}, b"", request=_ADD, track="textual")
    search = read_search(status, {}, b"", request=_SEARCH, track="textual")
    return str(add.verdict), str(search.verdict)
