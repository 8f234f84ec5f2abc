"""The noise layer of F3-Tokenizer (arXiv 2606.06357), as a function of tensors.

Only this layer: the paper's encoder, its targets and its flow-matching decoder are not built here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.core import BadInput, require

if TYPE_CHECKING:
    import torch

_EPSILON = 1e-5


def channel_norm_noise(
    z: torch.Tensor,
    gamma: float,
    *,
    training: bool = True,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Normalise each time step over its channels, then add noise of a random strength.

    It takes the place of a KL bottleneck: the latent's scale is fixed, so that noise of strength
    alpha ~ U(0, gamma) bounds what it can carry, and a decoder learns to bear it.

        z_n = (z - mean_t) / (std_t + 1e-5)
        z~  = z_n + alpha * epsilon,    epsilon ~ N(0, I)

    Mean and standard deviation (of the population) are those of a step's channels. The paper, as
    it was to be read, does not say whether alpha is drawn for a step or a sequence: here for a
    sequence, so that all steps of one are equally noisy.

    Args:
        z: shape (..., steps, channels), floating point; at least 2 channels.
        gamma: the largest strength, 0 or more; 0 adds nothing.
        training: without it, nothing is added.
        generator: of the noise; default torch's own.

    Returns:
        Shape and dtype of `z`. Gradients flow through the normalisation.

    Raises:
        BadInput: for another shape or dtype, or a gamma below 0.
    """
    torch = require("torch", "the noise layer needs torch")
    if z.ndim < 2 or z.shape[-1] < 2 or not z.is_floating_point():
        raise BadInput(
            "expected floating-point z of shape (..., steps, channels) with 2 channels or more, "
            f"got {z.dtype} of shape {tuple(z.shape)}"
        )
    if not gamma >= 0:
        raise BadInput(f"expected a gamma of 0 or more, got {gamma!r}")
    wide = z.double()  # in single precision a step of equal channels has a deviation
    deviation = wide.std(dim=-1, keepdim=True, correction=0)
    normal: torch.Tensor = (wide - wide.mean(dim=-1, keepdim=True)) / (deviation + _EPSILON)
    normal = normal.to(z.dtype)
    if not training or not gamma:
        return normal
    options = {"dtype": z.dtype, "device": z.device, "generator": generator}
    alpha = gamma * torch.rand((*z.shape[:-2], 1, 1), **options)
    return normal + alpha * torch.randn(z.shape, **options)
