"""Units in order of rank: the critic's scores."""

from __future__ import annotations

from collections.abc import Sequence

from harness.compress.compressor import Ranked
from harness.compress.pool import Pool
from harness.compress.types import Critic, Query


def rank(pool: Pool, query: Query, critic: Critic) -> Ranked:
    """Score every unit of the pool and order them; ties go to the earlier one."""
    scores = [float(score) for score in critic.score(query, pool.units)]
    return Ranked(pool, scores, _order(scores), critic.name, [])


def _order(scores: Sequence[float]) -> list[int]:
    """Places best first; units with a score of exactly 0, for which nothing speaks, left out."""
    places = sorted(range(len(scores)), key=lambda at: (-scores[at], at))
    return [at for at in places if scores[at]] or places[:1]
