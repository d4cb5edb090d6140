"""What every operation's description shares: the form of errors."""

from typing import Any

ERROR = {
    "type": "object",
    "description": "An error. `detail` may have further members, such as the numbers that a refusal is about.",
    "required": ["detail"],
    "properties": {
        "detail": {
            "type": "object",
            "required": ["reason", "message", "request_id"],
            "properties": {
                "reason": {"type": "string", "description": "Stable, for programs."},
                "message": {"type": "string", "description": "For people, in the language of Accept-Language."},
                "request_id": {"type": "string", "description": "What to quote to the organizers."},
                "retry_after_s": {"type": "integer", "description": "Seconds, the same as Retry-After."},
                "fields": {
                    "type": "array",
                    "description": "With 422: what is off, by its path in the body.",
                    "items": {
                        "type": "object",
                        "required": ["field", "code", "message"],
                        "properties": {name: {"type": "string"} for name in ("field", "code", "message")},
                    },
                },
            },
        }
    },
}


def describe_errors(result: dict[str, Any], **_rest: Any) -> dict[str, Any]:
    """Add to each operation the errors that it may answer with, and no other text than its own summary.

    A postprocessing hook of drf-spectacular, which would otherwise give a view's docstring as the description.
    """
    result.setdefault("components", {}).setdefault("schemas", {})["Error"] = ERROR
    for methods in result["paths"].values():
        for method, operation in methods.items():
            operation.pop("description", None)
            for status, text in _errors_of(method, operation).items():
                operation["responses"].setdefault(status, _error(text))
    return result


def _errors_of(method: str, operation: dict[str, Any]) -> dict[str, str]:
    """Descriptions of errors by their status. Who needs a key may lack one; who sends a body may send a wrong one."""
    errors = {"429": "Too many requests; Retry-After says when to try again", "default": "Another error"}
    if any(operation.get("security", [])):
        errors["401"] = "No key, or one that is not valid"
    if method != "get":
        errors["409"] = "Refused as things stand; the reason says why"
        errors["422"] = "The body is not as expected; `fields` says where"
    return errors


def _error(text: str) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}


_RANGES = {-(2**63), -(2**31), 2**31 - 1, 2**63 - 1}


def forget_database_ranges(result: dict[str, Any], **_rest: Any) -> dict[str, Any]:
    """Take out bounds of integers that are the database's and not ours, so that each database gives one description."""
    _forget(result)
    return result


def _forget(node: Any) -> None:
    if isinstance(node, list):
        for inner in node:
            _forget(inner)
    elif isinstance(node, dict):
        for bound in ("minimum", "maximum"):
            if isinstance(node.get(bound), int) and node[bound] in _RANGES:
                del node[bound]
        if node.get("type") == "integer" and node.get("format") == "int64":
            del node["format"]
        for inner in node.values():
            _forget(inner)
