"""Text is readable on every ground in both themes: WCAG 2.2, 1.4.3 (4.5:1) and 1.4.11 (3:1)."""

import math
import re
from pathlib import Path

import pytest
from django.conf import settings

TOKENS = (Path(settings.BASE_DIR) / "static" / "css" / "tokens.css").read_text()
PAIRS = re.findall(r"--([\w-]+): light-dark\(oklch\(([\d. ]+)\), oklch\(([\d. ]+)\)\);", TOKENS)
COLOURS = {name: {"light": light, "dark": dark} for name, light, dark in PAIRS}
GROUNDS = ("paper", "raised")


def luminance(oklch: str) -> float:
    """Relative luminance of a colour in OKLCH. Source: CSS Color 4, sample code for conversions."""
    lightness, chroma, hue = (float(part) for part in oklch.split())
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    red = 4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short
    green = -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short
    blue = -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short
    red, green, blue = (min(max(channel, 0.0), 1.0) for channel in (red, green, blue))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_the_measure_itself_is_right():
    assert contrast("1 0 0", "0 0 0") == pytest.approx(21, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("ink", ["ink", "ink-2", "ink-3", "accent", "accent-strong", "good", "warn", "bad"])
def test_text_stands_out(ink, ground, theme):
    assert contrast(COLOURS[ink][theme], COLOURS[ground][theme]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    ("text", "ground"),
    [
        ("on-accent", "accent"),
        ("on-accent", "accent-strong"),
        ("ink", "accent-wash"),
        ("ink-3", "sunken"),
        ("paper", "bad"),
    ],
)
def test_words_on_buttons_stand_out(text, ground, theme):
    assert contrast(COLOURS[text][theme], COLOURS[ground][theme]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "mark", ["control", "accent", "hue-textual", "hue-multimodal", "hue-coding", "hue-diagnostics"]
)
def test_controls_and_bars_stand_out(mark, theme):
    assert contrast(COLOURS[mark][theme], COLOURS["paper"][theme]) >= 3
