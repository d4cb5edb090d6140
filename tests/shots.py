"""Which pages `make screenshots` takes, and which it leaves out and why. A test holds both against the resolver."""

from dataclasses import dataclass
from typing import Any

LANGUAGES = ("en", "zh-hans")
THEMES = ("light", "dark")
WIDTHS = (360, 1440)

SEND_EMPTY = "document.querySelector('form:has([name=team])').submit()"


@dataclass(frozen=True, slots=True)
class Shot:
    """A page in one state: `route` is its view's name, `path` follows the language prefix, `act` is a script that
    leads on from there, `visitor` is "key" (a Leaderboard Key and an organizer are signed in) or "nobody"."""

    route: str
    path: str
    name: str = ""
    act: str = ""
    visitor: str = "key"
    status: int = 200
    has_axe: bool = True
    once: bool = False

    @property
    def title(self) -> str:
        return self.name or self.route.replace(":", "-")

    def is_examined(self, theme: str, width: int) -> bool:
        """axe needs no fourth look: the dark narrow page has the colours of the wide and the order of the light one."""
        return self.has_axe and (theme, width) != (THEMES[-1], WIDTHS[0])

    def is_taken(self, theme: str, width: int) -> bool:
        """Django's own lists and forms are taken once in each language; every page of ours in each theme and width."""
        return not self.once or (theme, width) == (THEMES[0], WIDTHS[-1])


def shots(facts: dict[str, Any]) -> list[Shot]:
    """Every page of the portal, in the state in which the demo and `prepare` leave it."""
    return [
        Shot("site:home", "/"),
        Shot("leaderboard:index", "/leaderboard/"),
        Shot("leaderboard:board", facts["board"]),
        Shot("leaderboard:board", "/leaderboard/cycle-2/textual/open_source/", name="board-unpublished"),
        Shot("leaderboard:snapshot", f"{facts['board']}snapshots/1/"),
        Shot("leaderboard:entry", facts["entry"]),
        Shot("site:guide", "/guide/"),
        Shot("site:documentation", "/documentation/"),
        Shot("site:api_guide", "/api-guide/"),
        Shot("site:api_reference", "/api-reference/"),
        Shot("site:status", "/status/"),
        Shot("site:privacy", "/privacy/"),
        Shot("benchmarks:index", "/benchmarks/"),
        Shot("", "/no-such-page/", name="not-found", status=404),
        Shot("submissions:request", "/request-access/", visitor="nobody"),
        Shot("submissions:request", "/request-access/", name="request-errors", act=SEND_EMPTY, visitor="nobody"),
        Shot("submissions:status", facts["receipt"]),
        Shot("submissions:status", facts["waiting"], name="status-changes-asked"),
        Shot("submissions:edit", f"{facts['waiting']}edit/"),
        Shot("submissions:key", "/request-access/key/"),
        Shot("evaluation:home", "/evaluation/"),
        Shot("evaluation:home", "/evaluation/", name="key-form", visitor="nobody"),
        Shot("evaluation:job", facts["job"]),
        Shot("evaluation:questions", f"{facts['job']}questions/"),
        Shot("evaluation:receipts", f"{facts['job']}receipts/"),
    ]


LISTS = (
    *(f"submissions/{model}" for model in ("accessrequest", "version", "leaderboardkey", "cycle", "team", "system")),
    *(f"submissions/{model}" for model in ("auditevent", "outboxmail")),
    *(f"evaluation/{model}" for model in ("job", "publicationreview", "release", "result", "receipt")),
    *(f"evaluation/{model}" for model in ("quotaentry", "quotaaccount")),
    *(f"leaderboard/{model}" for model in ("board", "entry", "snapshot")),
    "benchmarks/bundle",
)
EVERYWHERE = {"submissions/accessrequest", "evaluation/publicationreview", "evaluation/job", "leaderboard/board"}
"""What organizers work with every day, and what holds tables of ours."""
DECISIONS = {
    "submissions/accessrequest": "approve",
    "submissions/version": "suspend",
    "submissions/leaderboardkey": "revoke",
    "submissions/outboxmail": "send-again",
    "evaluation/job": "cancel",
    "evaluation/publicationreview": "return",
    "evaluation/release": "open",
    "leaderboard/board": "publish",
    "leaderboard/entry": "withdraw",
}


def organizer_shots(rows: dict[str, str]) -> list[Shot]:
    """The organizers' pages are Django's admin, and axe's findings in Django's own templates are not ours to mend.

    `rows` gives for each of `LISTS` the path of one row's page, and that of "question".
    """
    found = [
        Shot("admin:index", "/admin/", has_axe=False),
        Shot("admin:login", "/admin/login/", visitor="nobody", has_axe=False),
        Shot("admin:evaluation_release_open", "/admin/evaluation/release/open/", has_axe=False),
        Shot("admin:submissions_cycle_add", "/admin/submissions/cycle/add/", has_axe=False, once=True),
        Shot("admin:leaderboard_board_add", "/admin/leaderboard/board/add/", has_axe=False, once=True),
    ]
    questions = rows["question"].rstrip("0123456789/") + "/"
    found.append(Shot("admin:evaluation_job_questions", questions, has_axe=False))
    found.append(Shot("admin:evaluation_job_question", rows["question"], has_axe=False))
    for each in LISTS:
        name, once = each.replace("/", "_"), each not in EVERYWHERE
        found.append(Shot(f"admin:{name}_changelist", f"/admin/{each}/", has_axe=False, once=once))
        found.append(Shot(f"admin:{name}_change", rows[each], has_axe=False, once=once))
        if each in DECISIONS:
            path = rows[each].replace("/change/", f"/decide/{DECISIONS[each]}/")
            found.append(Shot(f"admin:{name}_decide", path, has_axe=False, once=each != "submissions/accessrequest"))
    return found


_NO_PAGE = "takes a POST and leads on to a page that is taken"
_A_FILE = "a file, not a page"
_OTHER_FORM = "answers with a page that is taken, and refuses on that page"
EXCUSED = {
    "site:theme": _NO_PAGE,
    "submissions:existing_key": _OTHER_FORM,
    "submissions:rotate_key": "shows a key, and a picture keeps what it shows; the browser tests look at it",
    "submissions:claim": "shows a key, and a picture keeps what it shows; the browser tests look at it",
    "submissions:withdraw": _NO_PAGE,
    "submissions:secret": _OTHER_FORM,
    "submissions:appeal": _OTHER_FORM,
    "evaluation:open_key": _OTHER_FORM,
    "evaluation:close_key": _NO_PAGE,
    "evaluation:submit": _OTHER_FORM,
    "evaluation:progress": "a part of the run's page",
    "evaluation:progress_json": _A_FILE,
    "evaluation:cancel": _NO_PAGE,
    "leaderboard:board_csv": _A_FILE,
    "leaderboard:board_json": _A_FILE,
    "leaderboard:snapshot_csv": _A_FILE,
    "leaderboard:snapshot_json": _A_FILE,
    **{f"admin:{each.replace('/', '_')}_decide_many": "the decision page of more rows" for each in DECISIONS},
}
_DJANGO = "Django's own page, which the project does not change"
EXCUSED_ENDS = {
    "_history": _DJANGO,
    "_delete": "nothing is deleted by hand: the page answers 403",
    "_add": "nothing is added by hand: the page answers 403, but for those that are taken",
}
EXCUSED_STARTS = {
    **dict.fromkeys(("admin:auth_", "admin:password_change", "admin:logout", "admin:app_list"), _DJANGO),
    **dict.fromkeys(("admin:autocomplete", "admin:jsi18n", "admin:view_on_site"), _NO_PAGE),
}
