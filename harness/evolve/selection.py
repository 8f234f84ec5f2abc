"""Which of the candidate edits to keep: greedy and by a tree-structured Parzen estimator.

Trace2Skill (arXiv 2603.25158, section "use all vs select patches", table 6) compares both with
taking everything. Candidates are numbered; a set of them is scored by running tasks with it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal

from harness.core import Value

Select = Literal["all", "greedy", "tpe"]
Members = frozenset[int]
Score = Callable[[Members], Coroutine[Any, Any, float]]
"""Pass rate with these candidates in the skill, from 0 to 1."""

CANDIDATES = {"greedy": 5, "tpe": 15}
"""The best supported candidates that are selected from (table 6: 5 and at most 15)."""
GOOD = 0.2
"""gamma: the share of trials that count as good."""
PRIOR = 1.0
"""alpha: the Beta prior of each candidate's presence."""
EXPLORE = 0.1
"""rho: the probability that a candidate of a proposal is drawn evenly instead."""
POOL, PER_ROUND, ROUNDS, RANDOM_STARTS = 500, 8, 4, 5


class Trial(Value):
    """One set of candidates that was run: its members in order, and its score."""

    members: tuple[int, ...]
    score: float


def most_trials(how: Select, candidates: int) -> int:
    """Sets that are run at most."""
    count = min(candidates, CANDIDATES.get(how, candidates))
    if how == "greedy":
        return 1 + count * (count + 1) // 2
    if how == "tpe":
        return min(2**count, 2 + count + RANDOM_STARTS + PER_ROUND * ROUNDS)
    return 0


async def greedy(count: int, score: Score) -> list[Trial]:
    """Forward selection: from nothing, the candidate that helps most, while none left but hurts.

    Returns:
        Every set that was run, in that order.
    """
    chosen: Members = frozenset()
    best = Trial(members=(), score=await score(chosen))
    trials = [best]
    while len(chosen) < count:
        step = [await _trial(chosen | {one}, score) for one in range(count) if one not in chosen]
        trials += step
        # max takes the first of equals: the better supported candidate.
        leader = max(step, key=lambda trial: trial.score)
        if leader.score < best.score:
            break
        best, chosen = leader, frozenset(leader.members)
    return trials


async def tpe(count: int, score: Score, rng: random.Random) -> list[Trial]:
    """Bergstra et al. (2011) over inclusion bits, each with a density of its own.

    It starts from the empty set, each candidate alone, some random sets and all; then every round
    runs the sets of a random pool that the good trials make most likely against the others.

    Returns:
        Every set that was run, in that order; a set is run once.
    """
    everything = frozenset(range(count))
    start: list[Members] = [frozenset(), *(frozenset({one}) for one in range(count))]
    start += [_drawn([0.5] * count, rng) for _ in range(RANDOM_STARTS)]
    trials = [await _trial(members, score) for members in dict.fromkeys([*start, everything])]
    for _ in range(ROUNDS):
        proposals = _proposals(count, trials, rng)
        if not proposals:
            break
        trials += [await _trial(members, score) for members in proposals]
    return trials


def best_of(trials: Sequence[Trial]) -> Trial:
    """The trial with the best score; of equals the one with most candidates, then the first.

    A candidate that did no harm has evidence of its own: trajectories of several tasks.
    """
    return max(trials, key=lambda trial: (trial.score, len(trial.members)))


async def _trial(members: Members, score: Score) -> Trial:
    return Trial(members=tuple(sorted(members)), score=await score(members))


def _proposals(count: int, trials: Sequence[Trial], rng: random.Random) -> list[Members]:
    """Sets that were not run, those with the best ratio of the two densities first."""
    ranked = sorted(trials, key=lambda trial: -trial.score)
    cut = max(1, math.ceil(GOOD * len(ranked)))
    good, rest = _densities(count, ranked[:cut]), _densities(count, ranked[cut:])
    known = {frozenset(trial.members) for trial in trials}
    mixed = [(1 - EXPLORE) * one + EXPLORE * 0.5 for one in good]
    pool = dict.fromkeys(_drawn(mixed, rng) for _ in range(POOL))
    fresh = [members for members in pool if members not in known]
    return sorted(fresh, key=lambda members: -_ratio(members, good, rest))[:PER_ROUND]


def _densities(count: int, trials: Sequence[Trial]) -> list[float]:
    """For each candidate, how likely it is a member: the mean of its Beta posterior."""
    return [
        (sum(one in trial.members for trial in trials) + PRIOR) / (len(trials) + 2 * PRIOR)
        for one in range(count)
    ]


def _drawn(chances: Sequence[float], rng: random.Random) -> Members:
    return frozenset(one for one, chance in enumerate(chances) if rng.random() < chance)


def _ratio(members: Members, good: Sequence[float], rest: Sequence[float]) -> float:
    """Logarithm of the density of good trials over that of the others."""
    return sum(
        math.log(high / low) if one in members else math.log((1 - high) / (1 - low))
        for one, (high, low) in enumerate(zip(good, rest, strict=True))
    )
