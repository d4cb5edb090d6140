"""Counters that hold under many callers at once, and the address that is counted."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import RequestFactory

from submissions.models import ThrottleCounter
from submissions.refusals import Refusal
from submissions.throttle import Limit, client_address, count_hit, is_exhausted

AT = datetime(2026, 11, 1, 12, 0, 5, tzinfo=UTC)
FIVE = Limit("five", 5, 60)


def hit_and_close(_n: int) -> bool:
    try:
        count_hit(FIVE, "somebody", at=AT)
    except Refusal:
        return False
    else:
        return True
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_twenty_at_once_get_exactly_the_limit():
    with ThreadPoolExecutor(20) as pool:
        passed = list(pool.map(hit_and_close, range(20)))
    assert sum(passed) == 5
    assert ThrottleCounter.objects.get().count == 20


@pytest.mark.django_db
def test_hits_count_down_and_the_next_window_starts_anew():
    assert [count_hit(FIVE, "a", at=AT) for _ in range(5)] == [4, 3, 2, 1, 0]
    assert is_exhausted(FIVE, "a", at=AT)
    assert not is_exhausted(FIVE, "b", at=AT)
    with pytest.raises(Refusal) as refused:
        count_hit(FIVE, "a", at=AT)
    assert refused.value.retry_after_s == 55
    assert count_hit(FIVE, "a", at=AT + timedelta(seconds=55)) == 4


@pytest.mark.django_db
def test_limits_of_different_names_do_not_share_a_count():
    count_hit(FIVE, "a", at=AT)
    assert count_hit(Limit("other", 5, 60), "a", at=AT) == 4


@pytest.mark.django_db
def test_subjects_are_kept_as_digests_and_old_counters_go():
    count_hit(FIVE, "198.51.100.7", at=AT)
    assert "198.51.100.7" not in str(ThrottleCounter.objects.values().get())
    count_hit(FIVE, "198.51.100.7", at=AT + timedelta(days=2))
    assert ThrottleCounter.objects.count() == 1


@pytest.mark.parametrize(
    ("proxies", "remote", "forwarded", "counted"),
    [
        (0, "198.51.100.1", "", "198.51.100.1"),
        (0, "198.51.100.1", "203.0.113.5", "198.51.100.1"),
        (1, "10.0.0.1", "203.0.113.5", "203.0.113.5"),
        (1, "10.0.0.1", "1.1.1.1, 203.0.113.5", "203.0.113.5"),
        (2, "10.0.0.1", "1.1.1.1, 203.0.113.5, 10.0.0.2", "203.0.113.5"),
        (2, "10.0.0.1", "203.0.113.5", "10.0.0.1"),
        (1, "10.0.0.1", "", "unknown"),
        (1, "10.0.0.1", "nonsense", "unknown"),
        (0, "2001:db8:1:2:aaaa::1", "", "2001:db8:1:2::/64"),
        (0, "2001:db8:1:2:bbbb::9", "", "2001:db8:1:2::/64"),
        (0, "::ffff:198.51.100.1", "", "198.51.100.1"),
    ],
)
def test_the_counted_address_is_the_one_that_the_callers_cannot_choose(settings, proxies, remote, forwarded, counted):
    settings.AML_TRUSTED_PROXY_COUNT = proxies
    headers = {"HTTP_X_FORWARDED_FOR": forwarded} if forwarded else {}
    assert client_address(RequestFactory().get("/", REMOTE_ADDR=remote, **headers)) == counted
