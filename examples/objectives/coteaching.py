"""Mutual-Taught (arXiv 2506.06292): a policy and its reward model improve each other by turns.

Without training a policy is a version of a skill, and its reward model a judge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import NormalDist, stdev
from typing import Generic, TypeVar

Policy = TypeVar("Policy")
Reward = TypeVar("Reward")


@dataclass(frozen=True)
class Round(Generic[Policy, Reward]):
    """One turn.

    Attributes:
        policy: after it.
        reward: after it.
        score: of the policy, on validation.
        improved: whether the new policy was kept.
        dropped: share of the pseudo pairs that were left out.
    """

    policy: Policy
    reward: Reward
    score: float
    improved: bool
    dropped: float


@dataclass
class CoTeaching(Generic[Policy, Reward]):
    """Settings and results of a turn.

    Attributes:
        improve: policy and reward -> a better policy (the paper: DPO on its own ranked samples).
        update: reward and the pairs (new, old) that stay -> a reward model that knows the new.
        compare: new policy and old -> texts of both on the same prompts, [(new, old)].
        score: reward and text -> a number.
        validate: policy -> its score on validation.
        quantile: how sure a pair must be wrong before it is dropped.
    """

    improve: Callable[[Policy, Reward], Policy]
    update: Callable[[Reward, list[tuple[str, str]]], Reward]
    compare: Callable[[Policy, Policy], list[tuple[str, str]]]
    score: Callable[[Reward, str], float]
    validate: Callable[[Policy], float]
    quantile: float = 0.8

    def run(self, policy: Policy, reward: Reward, rounds: int) -> list[Round[Policy, Reward]]:
        """At most `rounds` turns; a policy that does not improve is not kept, and ends them."""
        best = self.validate(policy)
        turns: list[Round[Policy, Reward]] = []
        while len(turns) < rounds:
            new = self.improve(policy, reward)
            value = self.validate(new)
            if value <= best:
                return [*turns, Round(policy, reward, best, False, 0.0)]
            pairs = self.compare(new, policy)
            gaps = [self.score(reward, a) - self.score(reward, b) for a, b in pairs]
            reliable = [pairs[place] for place in trusted(gaps, self.quantile)]
            dropped = 1 - len(reliable) / len(pairs) if pairs else 0.0
            policy, best, reward = new, value, self.update(reward, reliable)
            turns.append(Round(policy, reward, best, True, dropped))
        return turns


def trusted(gaps: Sequence[float], quantile: float = 0.8) -> list[int]:
    """Places of the pairs whose gap is a number, and not far below 0.

    The paper drops pairs with a gap of at most -epsilon, adapted to the variance, and does not
    say how; here epsilon is so many deviations of the gaps that a normal gap of mean 0 falls
    below it with 1 - quantile.

    Args:
        gaps: reward of the new text less that of the old.
        quantile: above 0.5; the higher, the fewer are dropped.
    """
    places = [place for place, gap in enumerate(gaps) if isfinite(gap)]
    if len(places) < 2:
        return places
    # Without a mean: its rounding error would be the deviation of equal gaps.
    epsilon = NormalDist().inv_cdf(quantile) * stdev(gaps[place] for place in places)
    return [place for place in places if not gaps[place] <= -epsilon or epsilon == 0]
