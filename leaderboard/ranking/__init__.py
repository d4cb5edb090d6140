"""Who stands where on a board. Pure: numbers in, standings out."""

from .order import METHOD, Standing, rank_by_score

__all__ = ["METHOD", "Standing", "rank_by_score"]
