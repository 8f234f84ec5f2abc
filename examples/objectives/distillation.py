"""Self-distillation of a policy text (PolicyAlign, arXiv 2606.25442): behave as if it were there.

The student answers without the policy; the teacher, the same model with the policy in its context,
says what it would have written at each place.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

TOP, DECAY = 256, 0.99


def reverse_kl(student: Tensor, teacher: Tensor, top: int = 0, renormalize: bool = False) -> Tensor:
    """KL(student || teacher) at each place, over the student's best tokens, shape (..., tokens).

    A token that the student never writes (a logit of minus infinity) counts nothing; one that it
    may write and the teacher never would makes the divergence infinite. Cut off and not
    renormalised, as in the paper's code by default, it can be below 0 and so does not measure a
    distance.

    Args:
        student: logits, shape (..., tokens, vocabulary).
        teacher: logits of the same places, with the policy in the context.
        top: tokens that count, the student's most likely; 0 for all.
        renormalize: make either a distribution over these tokens.
    """
    # In half precision the error of a logarithm is larger than most divergences.
    mine, theirs = (
        functional.log_softmax(logits, -1, dtype=torch.promote_types(logits.dtype, torch.float32))
        for logits in (student, teacher)
    )
    if top and top < student.shape[-1]:
        best = mine.topk(top, dim=-1).indices
        mine, theirs = mine.gather(-1, best), theirs.gather(-1, best)
        if renormalize:
            mine = mine - mine.logsumexp(-1, keepdim=True)
            # Where the teacher would write none of these tokens, all stay at minus infinity.
            theirs = theirs - theirs.logsumexp(-1, keepdim=True).nan_to_num(neginf=0.0)
    share = mine.exp()
    return (share * torch.where(share > 0, mine - theirs, 0.0)).sum(-1)


def distillation_loss(
    student: Tensor,
    teacher: Tensor,
    mask: Tensor,
    top: int = TOP,
    renormalize: bool = False,
) -> Tensor:
    """Mean of :func:`reverse_kl` over the student's own tokens, a scalar.

    Args:
        student: logits, shape (batch, tokens, vocabulary).
        teacher: logits; no gradient reaches them.
        mask: 1 for tokens that the student sampled, shape (batch, tokens).
        top: tokens that count at each place.
        renormalize: as in :func:`reverse_kl`.
    """
    # Only within the mask: an infinite divergence outside of it would make nan.
    taught = mask.bool()
    each = reverse_kl(student[taught], teacher.detach()[taught], top, renormalize)
    return each.sum() / taught.sum().clamp(min=1)


def follow(teacher: nn.Module, student: nn.Module, decay: float = DECAY) -> None:
    """Move the teacher a little towards the student: decay * teacher + (1 - decay) * student."""
    with torch.no_grad():
        pairs = zip(teacher.parameters(), student.parameters(), strict=True)
        for slow, fast in pairs:
            slow.mul_(decay).add_(fast, alpha=1 - decay)
