"""Batches that teach, and the mean of the clipped objective over them (DUPO, arXiv 2507.02592)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from torch import Tensor

from harness.train.objectives.advantages import clipped_terms


def refill(
    groups: Mapping[str, Sequence[float]], draw: random.Random
) -> tuple[list[str], list[str]]:
    """A batch of constant size without groups that teach nothing (DUPO, arXiv 2507.02592).

    Groups whose rewards are all alike are replaced by groups of the batch drawn at random. Rewards
    that are NaN count in none.

    Args:
        groups: query -> rewards of its rollouts.
        draw: the source of chance.

    Returns:
        Names of the batch, as many as came in, and names of those that were replaced. Where all
        are alike the batch is empty, and the trainer has nothing to do.
    """
    idle = [name for name, row in groups.items() if len({r for r in row if r == r}) < 2]
    teaching = [name for name in groups if name not in set(idle)]
    if not teaching:
        return [], idle
    return teaching + draw.choices(teaching, k=len(idle)), idle


def clipped_loss(
    logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, mask: Tensor
) -> Tensor:
    """The mean of `clipped_terms` over all tokens of the model (DUPO), a scalar.

    Args:
        logprobs: as there.
        old_logprobs: as there.
        advantages: shape (rollouts,).
        mask: as there.
    """
    terms = clipped_terms(logprobs, old_logprobs, advantages[:, None], mask)
    return terms.sum() / mask.bool().sum().clamp(min=1)
