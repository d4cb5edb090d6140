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
    """`message` in the terminal's language, or in the one that was chosen."""
    return _spoken[0].gettext(message)


def speak(language: str) -> None:
    """Have `gettext` speak `language` from now on, `en` or `zh_Hans`."""
    _spoken[0] = _catalogue(language)


def _catalogue(language: str) -> catalogues.NullTranslations:
    return catalogues.translation("django", LOCALE, languages=[language], fallback=True)


_spoken = [_catalogue(terminal_language())]
