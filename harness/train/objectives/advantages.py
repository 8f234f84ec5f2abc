"""Advantages of a rollout over its group: GD2PO (arXiv 2606.16771) and the batches of DUPO.

A rollout that several rewards pull in opposite directions teaches whichever has the larger spread.
GD2PO normalises each reward by itself, leaves out rollouts on which they conflict, and weighs what
a query has left by its share.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import torch
from torch import Tensor

# What the official code adds to a standard deviation, to a variance, and calls zero.
EPSILON, WHITENING, ZERO = 1e-6, 1e-8, 1e-8
Rule = Literal["none", "hard", "snr"]
Rollout = TypeVar("Rollout")


@dataclass(frozen=True)
class GroupAdvantages:
    """Advantages of rollouts.

    Attributes:
        values: shape (rollouts,).
        each: of every reward by itself, shape (rewards, rollouts).
        conflict: whether rewards of a rollout have opposite signs, shape (rollouts,).
        ratio: signal to noise, sum of advantages over sum of their sizes, shape (rollouts,).
        keep: whether a rollout teaches, shape (rollouts,).
        keep_ratio: share of its group that does, shape (rollouts,).
    """

    values: Tensor
    each: Tensor
    conflict: Tensor
    ratio: Tensor
    keep: Tensor
    keep_ratio: Tensor


def group_members(groups: Sequence[Hashable]) -> list[Tensor]:
    """The places of each group, in the order in which groups first occur."""
    positions: dict[Hashable, list[int]] = {}
    for position, group in enumerate(groups):
        positions.setdefault(group, []).append(position)
    return [torch.tensor(members) for members in positions.values()]


def normalized(rewards: Tensor, groups: Sequence[Hashable]) -> Tensor:
    """Rewards less the mean of their group over its deviation (GRPO), of the shape of `rewards`.

    A group of one keeps its reward as it is: mean 0, deviation 1. A reward that is NaN or infinite,
    because it does not apply or could not be had, has no part in its group and becomes 0. Where all
    rewards of a group are equal each becomes exactly 0: the mean of equal floats can differ from
    them by a rounding error, which division by a deviation of about 0 would turn into a sign.

    Args:
        rewards: the last dimension is of rollouts; whole numbers give single precision.
        groups: the query of each rollout.
    """
    rewards = torch.where(rewards.isfinite(), rewards, torch.nan)
    values = rewards.clone()
    for members in group_members(groups):
        if len(members) > 1:
            part = rewards[..., members].double()
            count = (~part.isnan()).sum(-1, keepdim=True)
            change = part - part.nanmean(-1, keepdim=True)
            least = part.nan_to_num(torch.inf).amin(-1, keepdim=True)
            alike = (part.isnan() | (part == least)).all(-1, keepdim=True)
            change = torch.where(alike, 0.0, change)
            variance = change.square().nansum(-1, keepdim=True) / (count - 1).clamp(min=1)
            values[..., members] = (change / (variance.sqrt() + EPSILON)).to(values)
    return torch.where(values.isnan(), 0.0, values)


def gd2po(
    rewards: Tensor, groups: Sequence[Hashable], rule: Rule = "hard", threshold: float = 0.8
) -> GroupAdvantages:
    """Advantages without conflicting rollouts; with one reward they are GRPO's.

    Args:
        rewards: shape (rewards, rollouts).
        groups: the query of each rollout.
        rule: `hard` leaves out every rollout in conflict, `snr` those whose signal-to-noise ratio
            is below `threshold` in size, `none` nothing (the baseline GDPO).
        threshold: between 0 and 1.

    Raises:
        ValueError: rewards and groups are not of the same rollouts.
    """
    if rewards.dim() != 2 or rewards.shape[1] != len(groups):
        raise ValueError(
            f"expected rewards of shape (rewards, {len(groups)}), not {tuple(rewards.shape)}"
        )
    per_reward = normalized(rewards, groups)
    total = per_reward.sum(0)
    conflict = (per_reward > ZERO).any(0) & (per_reward < -ZERO).any(0)
    ratio = total / (per_reward.abs().sum(0) + EPSILON)
    least = {"none": 0.0, "hard": math.inf, "snr": min(max(threshold, 0.0), 1.0)}[rule]
    keep = ~(conflict & (ratio.abs() < least))
    share = torch.zeros_like(total)
    for members in group_members(groups):
        share[members] = keep[members].to(total.dtype).mean()
    return GroupAdvantages(share * keep * total, per_reward, conflict, ratio, keep, share)


def whitened(advantages: Tensor, mask: Tensor) -> Tensor:
    """Advantages with mean 0 and variance 1 over the tokens of the mask, shape (rollouts, tokens).

    Long responses weigh more, and a small advantage can change its sign: both are properties of
    whitening over tokens, as GD2PO's code does by default. All zero where nothing is kept.

    Args:
        advantages: shape (rollouts,).
        mask: 1 for tokens of responses that are kept, shape (rollouts, tokens).
    """
    spread = advantages[:, None].expand(mask.shape)
    # As in `normalized`, equal advantages must not differ from their mean by a rounding error.
    values = spread[mask.bool()].double()
    if len(values) < 2 or bool((values == values[0]).all()):
        return torch.zeros_like(spread)
    white = (spread - values.mean()) / torch.sqrt(values.var() + WHITENING)
    return torch.where(mask.bool(), white, 0.0).to(spread)


def clipped_terms(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    low: float = 0.2,
    high: float = 0.28,
) -> Tensor:
    """The clipped objective of each token, to minimise; 0 outside the mask.

    Args:
        logprobs: of the sampled tokens now, shape (rollouts, tokens).
        old_logprobs: of the same tokens when they were sampled.
        advantages: shape (rollouts, 1) or (rollouts, tokens).
        mask: 1 where the model wrote the token; what tools returned has 0 and no gradient.
        low: how far the ratio may fall below 1.
        high: how far it may rise above.
    """
    # Zero before the exponential: an infinite difference outside the mask would make nan.
    ratio = torch.where(mask.bool(), logprobs - old_logprobs, torch.zeros_like(logprobs)).exp()
    clipped = ratio.clamp(1 - low, 1 + high)
    return torch.where(mask.bool(), -torch.minimum(ratio * advantages, clipped * advantages), 0.0)
