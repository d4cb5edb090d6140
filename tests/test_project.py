"""What must hold for the whole project, whatever feature it belongs to."""

import ast
import io
import re
import subprocess
from pathlib import Path

import pytest
from babel.messages.pofile import read_po
from django.apps import apps
from django.core.management import call_command

ROOT = Path(__file__).resolve().parent.parent
APPS = ("aml", "leaderboard", "evaluation", "benchmarks", "submissions", "contract")
SOURCES = sorted(
    path for app in APPS for path in (ROOT / app).rglob("*.py") if "migrations" not in path.relative_to(ROOT).parts
)
TRANSLATORS = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy", "pgettext", "pgettext_lazy"}
CATALOGUE = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"


@pytest.mark.django_db
def test_models_and_migrations_agree() -> None:
    call_command("makemigrations", check=True, dry_run=True, stdout=io.StringIO())


def test_every_message_has_a_chinese_translation() -> None:
    with CATALOGUE.open("rb") as file:
        messages = [message for message in read_po(file) if message.id]
    untranslated = [
        message.id
        for message in messages
        if message.fuzzy or not all(message.string if isinstance(message.string, tuple) else (message.string,))
    ]
    assert len(messages) > 300
    assert untranslated == []


def test_a_translation_keeps_the_placeholders_of_its_message() -> None:
    with CATALOGUE.open("rb") as file:
        wrong = [str(message.id) for message in read_po(file) if message.id and list(message.check())]
    assert wrong == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_literals_are_marked_for_translation(path: Path) -> None:
    """A message that is put together at run time never gets into the catalogue."""
    calls = [
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in TRANSLATORS
    ]
    reads_the_catalogue = {"gettext", "_"} if "# translates messages from data" in path.read_text() else set()
    built = [
        f"line {call.lineno}"
        for call in calls
        if not isinstance(call.args[0], ast.Constant) and call.func.id not in reads_the_catalogue
    ]
    assert built == []


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt", "requirements-uv.txt"])
def test_locks_have_hashes_and_name_no_index(name: str) -> None:
    lines = (ROOT / name).read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith((" ", "#"))]
    assert pins
    assert all("==" in pin for pin in pins)
    assert sum("--hash=sha256:" in line for line in lines) >= len(pins)
    assert not any(word in line for line in lines for word in ("--index", "--find-links", "://"))


def test_the_tree_holds_no_file_over_one_mebibyte() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    files = [ROOT / name for name in listed.decode().split("\0") if name]
    assert [str(file) for file in files if file.is_file() and file.stat().st_size > 1 << 20] == []


def glossary() -> set[str]:
    """The words of CONTRIBUTING.md: the first column of its table, without what stands in brackets."""
    lines = (ROOT / "CONTRIBUTING.md").read_text().partition("| word | 中文 | meaning |")[2].splitlines()[2:]
    return {line.split("|")[1].partition("(")[0].strip() for line in lines if line.startswith("|")}


def test_every_model_is_in_the_glossary() -> None:
    models = {
        model.__name__
        for model in apps.get_models()
        if model._meta.app_label in APPS and not model.__name__.startswith("Historical")
    }
    assert len(models) > 25
    assert models - glossary() == set()


def test_every_word_of_the_glossary_is_used_in_code() -> None:
    code = "\n".join(path.read_text() for path in SOURCES)
    assert [word for word in glossary() if not re.search(rf"\b{word}", code)] == []
