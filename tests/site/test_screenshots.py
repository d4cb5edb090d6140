"""`make screenshots` takes every page; what it leaves out is named with a reason."""

from collections import defaultdict

from tests.routes import routes
from tests.shots import EXCUSED, EXCUSED_ENDS, EXCUSED_STARTS, LISTS, organizer_shots, shots


def pages() -> set[str]:
    """The names of all pages; the API and what machines read are no pages."""
    return {route.name for route in routes() if route.space not in {"", "api"} and not route.name.endswith(":")}


def test_every_page_is_taken_or_excused_by_name() -> None:
    taken = {
        shot.route for shot in [*shots(defaultdict(str)), *organizer_shots(dict.fromkeys([*LISTS, "question"], ""))]
    } - {""}
    known = pages()
    assert len(known) > 100
    assert taken <= known
    assert set(EXCUSED) <= known
    assert not set(EXCUSED) & taken
    forgotten = known - taken - set(EXCUSED)
    assert {
        name
        for name in forgotten
        if not name.endswith(tuple(EXCUSED_ENDS)) and not name.startswith(tuple(EXCUSED_STARTS))
    } == set()


def test_an_excuse_by_a_part_of_the_name_still_excuses_something() -> None:
    known = pages()
    assert all(any(name.endswith(end) for name in known) for end in EXCUSED_ENDS)
    assert all(any(name.startswith(start) for name in known) for start in EXCUSED_STARTS)
