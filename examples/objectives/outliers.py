"""CLIPO's problem: a correct rollout that is unlike the other correct ones, and who finds it."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from harness.train.objectives.contrast import Variant, contrastive_losses


def outliers(
    seed: int, second: int, variant: Variant = "supcon_in", temperature: float = 0.1
) -> dict[str, float]:
    """Count how often each rule finds the planted outlier among eight correct rollouts of sixteen.

    `second` of the correct ones go another way to the answer; the outlier goes one of its own.
    `centroid` takes the rollout whose cosine to the mean of the correct ones is lowest, `nearest`
    the one whose closest correct neighbour is furthest.
    """
    chance = torch.Generator().manual_seed(seed)
    hits = dict.fromkeys(("CLIPO", "centroid", "nearest"), 0)
    for _ in range(100):
        ways = torch.randn(2, 16, generator=chance)
        states = ways[(torch.arange(16) < second).long()]
        states = states + 0.5 * torch.randn(16, 16, generator=chance)
        states[8:] = torch.randn(8, 16, generator=chance)
        states[3] = torch.randn(16, generator=chance)
        correct = torch.arange(16) < 8
        losses, _ = contrastive_losses(states, correct, [0] * 16, variant, temperature, chance)
        unit = functional.normalize(states[:8], dim=-1)
        near = functional.cosine_similarity(states[:8], states[:8].mean(0, keepdim=True))
        hits["CLIPO"] += int(losses.argmax()) == 3
        hits["centroid"] += int(near.argmin()) == 3
        hits["nearest"] += int((unit @ unit.T - 2 * torch.eye(8)).amax(1).argmin()) == 3
    return {rule: count / 100 for rule, count in hits.items()}


def outlier(seed: int, second: int = 3, **settings: Any) -> tuple[float, float]:
    """CLIPO: how often the planted outlier among two ways is the lowest, beside a centroid."""
    rates = outliers(seed, second, **settings)
    return rates["CLIPO"], rates["centroid"]


def outlier_of_one_way(seed: int) -> tuple[float, float]:
    """CLIPO with one way to the answer, beside a centroid."""
    return outlier(seed, 0)


def outlier_by_neighbour(seed: int) -> tuple[float, float]:
    """CLIPO with two ways to the answer, beside the nearest neighbour."""
    rates = outliers(seed, 3)
    return rates["CLIPO"], rates["nearest"]
