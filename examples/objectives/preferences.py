"""Losses of reward models: Bradley-Terry, without a bias (DIR), against one's own samples (APO).

DIR (arXiv 2512.23461) subtracts what the pair's representation says about a bias, such as which
text is longer, by the CLUB upper bound on mutual information (Cheng et al., ICML 2020). APO
(arXiv 2311.08045) goes on teaching the reward model that accepted answers beat what the policy
writes now, so that the policy cannot exploit a model that stands still.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

# Of APO's script: the weight of pairs with the policy's samples.
ADVERSARIAL = 0.1


def bradley_terry(chosen: Tensor, rejected: Tensor) -> Tensor:
    """Mean of -log sigma(chosen - rejected), a scalar, 0 for no pairs; both of shape (pairs,)."""
    return -functional.logsigmoid(chosen - rejected).sum() / max(len(chosen), 1)


def club_bound(logits: Tensor, labels: Tensor) -> Tensor:
    """Upper bound on the mutual information of representations and labels, in nats, a scalar.

    The mean log-likelihood of own labels less that of everybody's labels; 0 for no pairs.

    Args:
        logits: of q(label | representation), shape (pairs, classes).
        labels: shape (pairs,), integers.
    """
    if not len(labels):
        return logits.sum()
    likelihood = functional.log_softmax(logits, dim=-1)
    own = likelihood.gather(1, labels[:, None]).mean()
    return own - likelihood[:, labels].mean()


def dir_loss(
    chosen: Tensor, rejected: Tensor, logits: Tensor, bias: Tensor, weight: float = 0.1
) -> Tensor:
    """Bradley-Terry plus what the pair says about the bias, a scalar.

    Args:
        chosen: rewards, shape (pairs,).
        rejected: rewards, shape (pairs,).
        logits: of q(bias | difference of the hidden states), shape (pairs, classes), with gradient
            to these states; q itself is fitted by :func:`fit_bias` on detached ones.
        bias: its label of each pair, such as 1 where the chosen text is longer.
        weight: gamma.
    """
    return bradley_terry(chosen, rejected) + weight * club_bound(logits, bias)


def fit_bias(
    guess: nn.Module, states: Tensor, bias: Tensor, optimizer: torch.optim.Optimizer, steps: int = 5
) -> float:
    """Fit q(bias | states) by a few steps of cross-entropy; the last loss.

    Args:
        guess: states -> logits.
        states: shape (pairs, width); no gradient reaches them.
        bias: labels, shape (pairs,).
        optimizer: of the parameters of `guess`.
        steps: how many, before each step of the reward model.
    """
    value = float("nan")
    for _ in range(steps):
        optimizer.zero_grad()
        loss = functional.cross_entropy(guess(states.detach()), bias)
        loss.backward()  # pyright: ignore[reportUnknownMemberType]
        optimizer.step()
        value = float(loss.detach())
    return value


def ranking_loss(
    rewards: Tensor,
    scores: Tensor,
    kind: Literal["ranking", "difference"] = "ranking",
    weights: Tensor | None = None,
    normalizer: Literal["weights", "pairs"] = "weights",
) -> Tensor:
    """Mean over the pairs of each list whose scores differ, a scalar.

    Args:
        rewards: of the model, shape (lists, answers).
        scores: higher is better, same shape; below 0 stands for no answer.
        kind: `ranking` is -log sigma of the difference, `difference` its negative.
        weights: of each list, shape (lists,).
        normalizer: divide by the weights of all pairs, or by their number as the official code
            does, where a list of weight 0 still makes the loss smaller.
    """
    better = (scores[:, :, None] > scores[:, None, :]) & (scores >= 0)[:, None, :]
    # Zero before the logarithm: what stands for no answer may have any reward, NaN included.
    gap = torch.where(better, rewards[:, :, None] - rewards[:, None, :], 0.0)
    each = -functional.logsigmoid(gap) if kind == "ranking" else -gap
    size = better.to(rewards.dtype)
    weighted = size if weights is None else size * weights[:, None, None]
    total = weighted.sum() if normalizer == "weights" else size.sum()
    return (each * weighted).sum() / total.clamp(min=torch.finfo(rewards.dtype).tiny)


def apo_loss(
    rewards: Tensor,
    scores: Tensor,
    accepted: Tensor,
    sampled: Tensor,
    weight: float = ADVERSARIAL,
) -> Tensor:
    """A step of APO's reward model: people's pairs, and accepted answers above the policy's.

    Args:
        rewards: of ranked answers, shape (lists, answers).
        scores: their ranks, same shape.
        accepted: rewards of accepted answers, shape (prompts,).
        sampled: rewards of what the policy writes now, shape (prompts, samples).
        weight: of the second part, over the samples.
    """
    beaten = bradley_terry((accepted[:, None] - sampled).flatten(), sampled.new_zeros(()))
    return ranking_loss(rewards, scores) + weight * beaten
