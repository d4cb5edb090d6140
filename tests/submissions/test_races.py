"""What happens when two people, or one of them twice, act at the same moment."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.utils import timezone

from submissions.audit import verify_chain
from submissions.models import (
    AccessRequest,
    KeyClaim,
    LeaderboardKey,
    OutboxMail,
)
from submissions.refusals import Refusal
from submissions.services import (
    approve_access_request,
    claim_key,
    new_receipt,
    rotate_key,
    submit_access_request,
)
from tests.builders import (
    ORGANIZER,
    make_cycle,
    make_key,
    make_materials,
    make_request,
    make_version,
)

AT = timezone.now()


def at_once(action: Callable[[], object], times: int = 8) -> list[object]:
    """What `action` gave in each of `times` threads; a Refusal counts as its code."""

    def attempt(_n: int) -> object:
        try:
            return action()
        except Refusal as refusal:
            return refusal.code
        finally:
            connection.close()

    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(attempt, range(times)))


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def test_a_double_click_at_the_same_moment_is_one_request(self):
        cycle, materials, receipt = make_cycle(), make_materials(), new_receipt()
        answers = at_once(
            lambda: submit_access_request(cycle=cycle, materials=materials, receipt=receipt, language="en", at=AT).pk
        )
        assert set(answers) == {AccessRequest.objects.get().pk}
        assert OutboxMail.objects.count() == 1

    def test_a_claim_at_the_same_moment_makes_one_key(self):
        version = make_version(at=AT)
        answers = at_once(lambda: claim_key(access_request=version.access_request, at=AT))
        assert answers.count("already_claimed") == 7
        assert LeaderboardKey.objects.count() == 1

    def test_two_organizers_at_the_same_moment_decide_once(self):
        request = make_request(at=AT)
        answers = at_once(
            lambda: (
                approve_access_request(access_request=request, actor=ORGANIZER, reason="All is there.", at=AT).state
            ),
            times=4,
        )
        assert sorted(map(str, answers)) == ["approved", "state_changed", "state_changed", "state_changed"]
        assert KeyClaim.objects.count() == 1
        assert verify_chain().is_whole

    def test_a_rotation_at_the_same_moment_makes_one_key(self):
        key, _text = make_key(at=AT)
        answers = at_once(lambda: rotate_key(key=key, actor="x", at=AT)[0].pk, times=4)
        assert answers.count("key_superseded") == 3
        assert LeaderboardKey.objects.count() == 2
