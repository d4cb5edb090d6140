"""The language of the command: the portal's own catalogue, chosen by the terminal's locale."""

import gettext as catalogues
import os
from pathlib import Path

LOCALE = Path(__file__).resolve().parent.parent / "locale"


def terminal_language() -> str:
    """`zh_Hans` when AGENTMEM_LANG, else the terminal's locale, is Chinese; otherwise `en`."""
    for name in ("AGENTMEM_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name, ""):
            return "zh_Hans" if value.lower().startswith("zh") else "en"
    return "en"


def gettext(message: str) -> str:
    """`message` in the terminal's language."""
    return _catalogue.gettext(message)


_catalogue = catalogues.translation("django", LOCALE, languages=[terminal_language()], fallback=True)
