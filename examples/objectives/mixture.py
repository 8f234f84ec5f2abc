"""MORE (arXiv 2312.07401): weights of preference sources under which none gets worse.

The weights are those of the shortest vector in the hull of the sources' gradients (MGDA, Desideri
2012), found by Frank-Wolfe. Along the exact shortest vector every source descends, or none can. The
steps of Frank-Wolfe come near it: where sources nearly cancel out, one of them may rise a little.
"""

from __future__ import annotations

import torch
from torch import Tensor

MOMENTUM = 0.99
# The official code stays off the ends of a segment by this much.
EDGE = 0.001


def segment_minimum(v11: float, v12: float, v22: float) -> tuple[float, float]:
    """The weight of the first of two vectors in the shortest mixture, and its squared length.

    Args:
        v11: squared length of the first.
        v12: their product.
        v22: squared length of the second.
    """
    if v12 >= v11:
        return 1 - EDGE, v11
    if v12 >= v22:
        return EDGE, v22
    weight = (v22 - v12) / (v11 + v22 - 2 * v12)
    return weight, v22 + weight * (v12 - v22)


def minimum_norm_weights(gradients: Tensor, steps: int = 250, tolerance: float = 1e-6) -> Tensor:
    """Weights of the shortest mixture, at least 0 with sum 1, shape (sources,).

    Args:
        gradients: one a source, shape (sources, width).
        steps: of Frank-Wolfe, at most.
        tolerance: ends where no source shortens the mixture by more.
    """
    products = gradients.double() @ gradients.double().T
    weights = torch.ones(len(gradients), dtype=torch.float64) / max(len(gradients), 1)
    for _ in range(steps if len(gradients) else 0):
        along = products @ weights
        best = int(along.argmin())
        length = float(weights @ along)
        if length - float(along[best]) <= tolerance * max(length, 1e-12):
            break
        step, _ = segment_minimum(float(products[best, best]), float(along[best]), length)
        weights = (1 - step) * weights
        weights[best] += step
    return weights.to(gradients.dtype)


class GradientMixture:
    """Weights from the running mean of each source's gradient of a linear head.

    Args:
        sources: how many.
        momentum: of the running mean.
    """

    def __init__(self, sources: int, momentum: float = MOMENTUM) -> None:
        self.sources, self.momentum = sources, momentum
        self.mean: Tensor | None = None

    def __call__(self, gradients: Tensor) -> Tensor:
        """Weights of this step, shape (sources,).

        Args:
            gradients: of the sources' losses, shape (sources, width). A source without gradient
                has weight 0: it would else hold all others still. A gradient that is not finite
                counts as none.

        Raises:
            ValueError: a gradient too few or too many.
        """
        if len(gradients) != self.sources:
            raise ValueError(f"expected {self.sources} gradients, not {len(gradients)}")
        fresh = gradients.detach().double()
        fresh = torch.where(fresh.isfinite().all(-1, keepdim=True), fresh, 0.0)
        share = 1 - self.momentum
        self.mean = fresh if self.mean is None else share * self.mean + self.momentum * fresh
        lengths = self.mean.square().sum(-1).sqrt()
        weights = torch.zeros_like(lengths)
        moving = lengths > 0
        if moving.any():
            unit = self.mean[moving] / lengths[moving, None]
            weights[moving] = minimum_norm_weights(unit)
        return weights.to(gradients.dtype)
