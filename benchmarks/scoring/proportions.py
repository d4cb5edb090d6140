"""How sure a share is, and whether two systems differ on the same yes-or-no questions.

Sources: Wilson's score interval (1927); McNemar's test in its exact binomial form.
"""

from math import comb, sqrt
from typing import Final

__all__ = ["mcnemar_exact", "wilson95"]

_Z95: Final = 1.959963984540054


def wilson95(successes: int, n: int) -> tuple[float, float]:
    """Return the 95% interval, from 0 to 1, of a share of `successes` in `n` trials.

    Raises ValueError unless 0 <= successes <= n and n > 0.
    """
    if not 0 <= successes <= n or n == 0:
        raise ValueError(f"expected 0 <= successes <= n and n > 0, got {successes} of {n}")
    share, z2 = successes / n, _Z95 * _Z95
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z95 * sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    low = 0.0 if successes == 0 else max(centre - half, 0.0)
    high = 1.0 if successes == n else min(centre + half, 1.0)
    return low, high


def mcnemar_exact(b: int, c: int) -> float:
    """Return the two-sided p that the discordant pairs, `b` one way and `c` the other, are a fair coin's.

    Without discordant pairs it is 1. Raises ValueError for a negative count.
    """
    if b < 0 or c < 0:
        raise ValueError(f"expected counts of 0 or more, got {b} and {c}")
    n = b + c
    tail = sum(comb(n, k) for k in range(min(b, c) + 1))
    return min(1.0, tail / (1 << n) * 2)
