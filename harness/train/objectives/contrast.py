"""CLIPO (arXiv 2603.10101): which correct rollouts are like the other correct ones.

The similarity of a correct rollout to others of its group becomes a small penalty. Without
training, the same number is how much an exemplar stands apart.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Literal

import torch
from torch import Tensor

from harness.train.objectives.advantages import group_members

TEMPERATURE, WEIGHT, FLOOR = 0.05, 0.2, -0.5
Variant = Literal["infonce", "supcon_out", "supcon_in", "soft_nn"]


def contrastive_losses(
    states: Tensor,
    correct: Tensor,
    groups: Sequence[Hashable],
    variant: Variant = "infonce",
    temperature: float = TEMPERATURE,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Loss of every rollout and whether it is an anchor, both of shape (rollouts,).

    Anchors are correct, with another correct and a wrong rollout in their group; others have 0.

    Args:
        states: a vector a rollout, shape (rollouts, width): mean hidden states of the response
            through a head, as in the paper, or embeddings of the text.
        correct: shape (rollouts,), bool.
        groups: the query of each rollout.
        variant: `infonce` draws one positive; `supcon_out` takes the mean of the logarithms of
            all, `supcon_in` the logarithm of their mean, `soft_nn` that of their sum.
        temperature: of the cosines.
        generator: which positive `infonce` draws.

    Raises:
        ValueError: a state that is not finite, which would spoil all of its group.
    """
    if not states.isfinite().all():
        raise ValueError("expected finite states of rollouts, found NaN or infinite ones")
    unit = torch.nn.functional.normalize(states, dim=-1)
    scores = unit @ unit.T / temperature
    losses = [*unit.new_zeros(len(groups))]
    anchors = torch.zeros(len(groups), dtype=torch.bool)
    for members in group_members(groups):
        right = members[correct[members].bool()]
        if len(right) < 2 or len(right) == len(members):
            continue
        for anchor in map(int, right):
            compared, positives = members[members != anchor], right[right != anchor]
            total, alike = scores[anchor, compared].logsumexp(0), scores[anchor, positives]
            if variant == "infonce":
                near = alike[torch.randint(len(positives), (), generator=generator)]
            elif variant == "supcon_out":
                near = alike.mean()
            else:
                shared = len(positives) if variant == "supcon_in" else 1
                near = alike.logsumexp(0) - math.log(shared)
            losses[anchor], anchors[anchor] = total - near, True
    return torch.stack(losses) if losses else unit.new_zeros(0), anchors


def contrastive_reward(losses: Tensor, weight: float = WEIGHT) -> Tensor:
    """Return the addition to the reward of each rollout, between -0.5 and 0, shape (rollouts,)."""
    return (-weight * losses).clamp(FLOOR, 0.0)
