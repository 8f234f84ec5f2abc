"""SoLoPO (arXiv 2505.11166): learn preferences on short contexts, and the same reward on long ones.

Short is what the answer needs, such as a compressed context; long is the original. Only the chosen
answer is read with the long context, which is what makes it cheap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

Form = Literal["dpo", "simpo", "orpo"]
# Of the paper: the weight of the long part.
WEIGHT: dict[Form, float] = {"dpo": 3.0, "simpo": 1.0, "orpo": 1.0}


@dataclass(frozen=True)
class Likelihoods:
    """Log-likelihoods of answers, each of shape (pairs,).

    Attributes:
        total: summed over the answer's tokens, under the policy.
        tokens: how many there are.
        reference: the same sum under the reference model; only DPO needs it.
    """

    total: Tensor
    tokens: Tensor
    reference: Tensor | None = None

    @property
    def mean(self) -> Tensor:
        """Of a token, shape (pairs,); 0 for an answer without tokens."""
        return self.total / self.tokens.clamp(min=1)


def implicit_reward(answers: Likelihoods, form: Form, beta: float) -> Tensor:
    """Return what each form calls the reward of an answer, shape (pairs,).

    Raises:
        ValueError: DPO without likelihoods of the reference.
    """
    if form == "dpo":
        if answers.reference is None:
            raise ValueError("DPO needs the likelihoods of a reference model")
        return beta * (answers.total - answers.reference)
    mean = answers.mean
    if form == "simpo":
        return beta * mean
    # log odds of the mean likelihood; log(1 - p) without cancellation.
    return mean - torch.log(-torch.expm1(mean.clamp(max=-1e-7)))


def preference_loss(
    chosen: Likelihoods, rejected: Likelihoods, form: Form, beta: float = 0.1, margin: float = 0.0
) -> Tensor:
    """Mean loss of DPO, SimPO (with its margin) or ORPO over pairs, a scalar.

    ORPO adds the chosen answer's own negative log-likelihood, and weighs the pair by `beta`.
    """
    gap = implicit_reward(chosen, form, beta) - implicit_reward(rejected, form, beta)
    each = -functional.logsigmoid(gap - margin)
    if form == "orpo":
        each = beta * each - chosen.mean
    return each.sum() / max(len(each), 1)


def solopo_loss(
    chosen: Likelihoods,
    rejected: Likelihoods,
    chosen_long: Likelihoods,
    form: Form,
    beta: float = 0.1,
    weight: float | None = None,
    margin: float = 0.0,
) -> Tensor:
    """The loss on short contexts plus how far the chosen answer's reward moves on long ones.

    With weight 0 it is the loss on short contexts.

    Args:
        chosen: with the short context.
        rejected: with the short context.
        chosen_long: the chosen answers with the long context.
        form: of the loss.
        beta: of the form.
        weight: alpha; that of the paper for the form unless given.
        margin: of SimPO.
    """
    alpha = WEIGHT[form] if weight is None else weight
    short = implicit_reward(chosen, form, beta)
    moved = (short - implicit_reward(chosen_long, form, beta)).abs().sum() / max(len(short), 1)
    return preference_loss(chosen, rejected, form, beta, margin) + alpha * moved


def compression_fidelity(short: Likelihoods, long: Likelihoods) -> Tensor:
    """Measure how a compressed context moves the likelihood of answers: nats a token, (pairs,).

    Needs no training: 0 where the compressed context says as much about the answer as the whole.
    """
    return (short.mean - long.mean).abs()
