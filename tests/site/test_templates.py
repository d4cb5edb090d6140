"""Rules that hold for the source of every template and style sheet."""

import re
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
PAGES = sorted(
    path
    for path in (ROOT / "templates").rglob("*.html")
    if not {"emails"} & set(path.relative_to(ROOT / "templates").parts)
)
STYLES = sorted((ROOT / "static" / "css").glob("*.css"))
SCRIPTS = sorted((ROOT / "static" / "js").glob("*.js"))

INLINE = re.compile(
    r"""\sstyle\s*=|\son[a-z]+\s*=\s*["']|\shx-on|<style\b|javascript:|<script(?![^>]*\bsrc=)""", re.IGNORECASE
)
ELSEWHERE = re.compile(r"""(?:src|href)\s*=\s*["'](?:https?:)?//[^"']+\.(?:css|js|woff2?)""", re.IGNORECASE)
EVALUATED = re.compile(r"""hx-vals\s*=\s*["']js:|hx-trigger\s*=\s*["'][^"']*\[""")
HAN = re.compile(r"[\u4e00-\u9fff]")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_template_holds_inline_styles_or_scripts(path):
    text = path.read_text()
    for rule in (INLINE, ELSEWHERE, EVALUATED):
        assert not (found := rule.search(text)), found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_chinese_stands_in_the_catalogue_and_not_in_templates(path):
    text = re.sub(r'lang="zh-Hans"[^>]*>[^<]*<', "", path.read_text())  # a language may name itself
    assert not HAN.search(text)


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.name)
def test_style_sheets_take_colours_from_tokens_and_nothing_from_elsewhere(path):
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    assert "@import" not in text
    assert not re.search(r"url\(\s*[\"']?(?:https?:)?//", text)
    if path.name not in {"tokens.css", "organizer.css"}:
        colours = [line for line in text.splitlines() if re.search(r"#[0-9a-f]{3,8}\b|rgb\(|hsl\(", line)]
        assert colours == []
    assert text.count("{") == text.count("}")


def test_pages_use_classes_that_the_style_sheets_know():
    known = set(re.findall(r"\.([a-z][a-z0-9-]*)", "\n".join(path.read_text() for path in [*STYLES, *SCRIPTS])))
    used = {
        name
        for path in (ROOT / "templates" / "site").rglob("*.html")
        for value in re.findall(r'class="([^"{]*)"', path.read_text())
        for name in value.split()
    }
    assert used <= known, used - known
