"""The public cycles as data."""

from datetime import UTC, date, datetime
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import translation

from submissions.models import Cycle, Prize
from submissions.seeding import seed_cycles

pytestmark = pytest.mark.django_db


def test_cycle_two_has_its_dates_in_china_time_and_its_prizes():
    seed_cycles()
    cycle = Cycle.objects.get(number=2)
    assert cycle.opens_at == datetime(2026, 9, 19, 16, 0, tzinfo=UTC)
    assert cycle.materials_close_at == datetime(2026, 10, 31, 15, 59, tzinfo=UTC)
    assert cycle.evaluation_closes_at == datetime(2026, 11, 4, 15, 59, tzinfo=UTC)
    assert (cycle.state, cycle.board_date_kind, cycle.board_on.month) == ("closed", "middle", 11)
    prizes = Prize.objects.filter(cycle=cycle).values_list("winners_per_track", "amount_cny")
    assert list(prizes) == [(1, 20_000), (2, 8_000), (1, 5_000), (3, 3_000)]
    assert sum(winners * amount for winners, amount in prizes) * len(cycle.tracks) == 150_000


def test_cycle_one_says_no_more_than_is_known():
    seed_cycles()
    cycle = Cycle.objects.get(number=1)
    assert (cycle.state, cycle.board_on) == ("published", date(2026, 8, 12))
    assert (cycle.opens_at, cycle.materials_close_at, cycle.evaluation_closes_at) == (None, None, None)
    assert not cycle.prizes.exists()
    assert not cycle.takes_materials(datetime(2026, 8, 1, tzinfo=UTC))


def test_seeding_again_changes_nothing_that_organizers_changed():
    out = StringIO()
    call_command("seed_cycles", stdout=out)
    Cycle.objects.filter(number=2).update(contact_email="contact@example.org")
    Prize.objects.filter(cycle__number=2, kind="first").update(amount_cny=1)
    call_command("seed_cycles", stdout=out)
    assert out.getvalue().splitlines() == ["6 cycles and prizes made", "0 cycles and prizes made"]
    assert Cycle.objects.get(number=2).contact_email == "contact@example.org"
    assert Prize.objects.get(kind="first").amount_cny == 1


def test_names_follow_the_language():
    seed_cycles()
    cycle = Cycle.objects.get(number=2)
    with translation.override("zh-hans"):
        assert cycle.name == "第二期 Agent 记忆挑战赛"
    with translation.override("en"):
        assert cycle.name == "Cycle 2 Agent Memory Challenge"
