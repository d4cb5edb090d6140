"""Prompts live in text files beside the code that uses them, so that a release can name them by hash."""

from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from string import Template

__all__ = ["fill_prompt", "hash_prompts"]


def fill_prompt(folder: Path, name: str, **values: str) -> str:
    """Return the text of the prompt file `name`.txt in `folder`, with its $placeholders filled.

    Raises KeyError for a placeholder without a value and OSError for a file that isn't there.
    """
    return _template(folder / f"{name}.txt").substitute(values)


def hash_prompts(folder: Path) -> Mapping[str, str]:
    """Return the hex SHA-256 of each prompt file in `folder`, by file name."""
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.txt"))}


@lru_cache(maxsize=64)
def _template(path: Path) -> Template:
    return Template(path.read_text(encoding="utf-8").strip())
