"""Numbers, sizes and moments as text."""

from datetime import UTC, date, datetime

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from aml import figures
from submissions import moments


@pytest.mark.parametrize(
    ("value", "text"), [(0.6142, "61.42"), (0, "0.00"), (1, "100.00"), (None, "–"), (0.99999, "100.00")]
)
def test_scores_are_points_of_100(value, text):
    assert figures.score_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0%"), (1, "100%"), (0.5, "50.0%"), (0.99999, "99.9%"), (0.00001, "0.1%"), (None, "–")],
)
def test_a_share_is_whole_only_when_it_is(value, text):
    assert figures.percent_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (10 * 2**20, "10 MiB"), (3 * 2**30, "3.0 GiB")],
)
def test_sizes_have_binary_units(value, text):
    assert figures.bytes_text(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.9, "59 s"),
        (250, "4 min 10 s"),
        (3600, "1 h 0 min"),
        (183600, "2 d 3 h"),
        (-5, "0 s"),
        (None, "–"),
    ],
)
def test_durations_have_two_units_at_most(seconds, text):
    assert figures.duration_text(seconds) == text


@pytest.mark.parametrize(("value", "text"), [(0.84, "0.8 ms"), (182.3, "182 ms"), (2410, "2.41 s"), (None, "–")])
def test_latencies_have_their_unit(value, text):
    assert figures.milliseconds_text(value) == text


def test_moments_name_the_zone_of_the_board():
    moment = datetime(2026, 10, 31, 15, 59, tzinfo=UTC)
    assert moments.moment_text(moment) == "31 October 2026, 23:59 (UTC+8)"
    assert moments.day_text(datetime(2026, 10, 31, 16, 0, tzinfo=UTC)) == "1 November 2026"


@pytest.mark.parametrize(
    ("zone", "named"),
    [
        ("UTC", "(UTC)"),
        ("Asia/Kolkata", "(UTC+5:30)"),
        ("America/St_Johns", "(UTC-2:30)"),
        ("America/New_York", "(UTC-4)"),
    ],
)
def test_other_zones_are_named_as_well(settings, zone, named):
    settings.AML_BOARD_TIME_ZONE = zone
    assert moments.moment_text(datetime(2026, 7, 1, tzinfo=UTC)).endswith(named)


def test_a_loosely_meant_day_keeps_its_looseness():
    day = date(2026, 11, 15)
    assert moments.part_of_month_text(day, "middle") == "mid-November 2026"
    assert moments.part_of_month_text(day, "exact") == "15 November 2026"


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=0, max_value=1e15))
def test_no_figure_is_too_odd_to_show(value):
    for text in (figures.bytes_text, figures.duration_text, figures.milliseconds_text, figures.count_text):
        with translation.override("en"):
            assert text(value)
