"""Ranks from scores."""

from hypothesis import given
from hypothesis import strategies as st

from leaderboard.ranking import Standing, rank_by_score


def test_a_rank_is_one_more_than_the_number_of_better_ones() -> None:
    assert rank_by_score([0.2, 0.9, 0.5, 0.9]) == [
        Standing(4, False),
        Standing(1, True),
        Standing(3, False),
        Standing(1, True),
    ]
    assert rank_by_score([]) == []


def test_scores_that_differ_in_the_last_digit_are_not_tied() -> None:
    assert rank_by_score([0.1 + 0.2, 0.3]) == [Standing(1, False), Standing(2, False)]


@given(st.lists(st.floats(min_value=0, max_value=1), max_size=30))
def test_ranks_follow_scores_and_ties_share(scores: list[float]) -> None:
    standings = rank_by_score(scores)
    for mine, my in zip(scores, standings, strict=True):
        assert my.rank == 1 + sum(other > mine for other in scores)
        assert my.tied == any(other.rank == my.rank for other in standings if other is not my)
