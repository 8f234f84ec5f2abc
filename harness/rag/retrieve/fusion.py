"""Several rankings of the same things to one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
Ranking = Sequence[tuple[KeyT, float]]

RRF_K = 60


def reciprocal_rank(
    rankings: Mapping[str, Ranking[KeyT]], k: int = RRF_K
) -> list[tuple[KeyT, float]]:
    """Sum of 1 / (k + rank), ranks from 1 (Cormack, Clarke & Büttcher 2009); best first.

    Needs no scores that can be compared; a weak ranking counts as much as a strong one.
    """
    found: dict[KeyT, float] = {}
    for ranking in rankings.values():
        for rank, (key, _) in enumerate(ranking, start=1):
            found[key] = found.get(key, 0.0) + 1 / (k + rank)
    return _ranked(found)


def weighted(
    rankings: Mapping[str, Ranking[KeyT]], weights: Mapping[str, float]
) -> list[tuple[KeyT, float]]:
    """Convex combination of scores scaled to 0..1 within each ranking (Bruch et al. 2023).

    What a ranking does not hold has 0 in it.

    Args:
        rankings: (key, score), best first, by name.
        weights: by the same names; scaled to a sum of 1.
    """
    total = sum(weights[name] for name in rankings) or 1.0
    found: dict[KeyT, float] = {}
    for name, ranking in rankings.items():
        scores = [score for _, score in ranking]
        low, high = (min(scores), max(scores)) if scores else (0.0, 0.0)
        spread = high - low or 1.0
        for key, score in ranking:
            scaled = (score - low) / spread if high > low else 1.0
            found[key] = found.get(key, 0.0) + weights[name] / total * scaled
    return _ranked(found)


def fuse(
    rankings: Mapping[str, Ranking[KeyT]], arm: str, dense_weight: float
) -> list[tuple[KeyT, float]]:
    """One ranking of the arms `dense` and `lexical`; a single one stays as it is.

    Args:
        rankings: by the name of the arm.
        arm: `weighted`, else reciprocal ranks.
        dense_weight: share of the dense arm in `weighted`.
    """
    if len(rankings) == 1:
        return list(next(iter(rankings.values())))
    if arm == "weighted":
        return weighted(rankings, {"dense": dense_weight, "lexical": 1 - dense_weight})
    return reciprocal_rank(rankings)


def _ranked(found: Mapping[KeyT, float]) -> list[tuple[KeyT, float]]:
    """Best first; equal ones in the order in which they were found."""
    return sorted(found.items(), key=lambda item: -item[1])
