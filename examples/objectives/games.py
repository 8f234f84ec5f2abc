"""The offline losses of SPAG (arXiv 2404.10642): imitate a game's winner, then improve on it."""

from __future__ import annotations

import torch
from torch import Tensor

IMITATION, PENALTY, CLIP, SUPERVISED = 0.1, 0.2, 0.2, 0.5
FAR = 20.0
"""Bound on the change of a mean log-likelihood: beyond it ratios leave single precision."""


def imitation_loss(logprobs: Tensor, reference: Tensor, weights: Tensor) -> Tensor:
    """Weighted likelihood of winners' utterances with a KL term to the reference, a scalar.

    Args:
        logprobs: mean over each utterance's own tokens, shape (utterances,).
        reference: the same under the reference model; no gradient.
        weights: of the roles, so that each has half the say.
    """
    change = (logprobs - reference.detach()).clamp(-FAR, FAR)
    losses = weights * (-logprobs + IMITATION * logprobs.exp() * change)
    return losses.sum() / max(len(losses), 1)


def offline_loss(
    logprobs: Tensor,
    reference: Tensor,
    rewards: Tensor,
    weights: Tensor,
    supervised: Tensor | None = None,
) -> Tensor:
    """The clipped offline objective, a scalar.

    Args:
        logprobs: mean over each utterance's own tokens, shape (utterances,).
        reference: the same under the reference model; no gradient.
        rewards: of the utterances: the winner's share, decayed over its turns.
        weights: of the roles.
        supervised: losses of ordinary instructions, any shape; half their mean is added.
    """
    change = (logprobs - reference.detach()).clamp(-FAR, FAR)
    advantages = (rewards - PENALTY * change).detach()
    ratio = change.exp()
    clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
    losses = -weights * torch.minimum(advantages * ratio, advantages * clipped)
    loss = losses.sum() / max(len(losses), 1)
    return loss if supervised is None else loss + SUPERVISED * supervised.mean()
