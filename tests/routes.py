"""Every address of the site, read from the resolver, so that a table over all of them cannot forget one."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver


@dataclass(frozen=True, slots=True)
class Route:
    """`pattern` as it is written in the urls, pages with the language of the moment; `name` with its namespace."""

    pattern: str
    name: str
    space: str
    parameters: frozenset[str]


def routes() -> list[Route]:
    """All routes in the order in which they are tried."""
    return list(_routes(get_resolver().url_patterns, "", "", frozenset()))


def _routes(
    patterns: list[URLPattern | URLResolver], before: str, space: str, outer: frozenset[str]
) -> Iterator[Route]:
    for entry in patterns:
        whole = before + str(entry.pattern)
        parameters = outer | set(entry.pattern.converters)
        if isinstance(entry, URLResolver):
            yield from _routes(entry.url_patterns, whole, entry.app_name or space, parameters)
        else:
            yield Route(whole, f"{space}:{entry.name or ''}", space, parameters)
