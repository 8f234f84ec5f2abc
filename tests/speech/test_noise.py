"""The noise layer of F3."""

from __future__ import annotations

from typing import Any

import pytest

from examples.objectives.noise import channel_norm_noise
from harness.core import BadInput

torch: Any = pytest.importorskip("torch", reason="torch is not installed")


def test_without_noise_every_step_has_mean_0_and_deviation_1_over_its_channels() -> None:
    z = torch.tensor([[[1.0, 3.0], [10.0, 20.0]]], dtype=torch.float64)
    out = channel_norm_noise(z, 0.0)
    # by hand: (z - mean) / (std + 1e-5), with the deviation of the population (1 and 5)
    expected = torch.tensor([[[-1 / 1.00001, 1 / 1.00001], [-5 / 5.00001, 5 / 5.00001]]])
    assert torch.allclose(out, expected.double(), atol=1e-12)
    assert torch.equal(channel_norm_noise(z, 3.0, training=False), out)


def test_scale_and_shift_of_a_step_are_forgotten() -> None:
    z = torch.randn(4, 7, 64, generator=torch.Generator().manual_seed(0))
    shifted = channel_norm_noise(5 * z + 3, 0.0)
    assert torch.allclose(channel_norm_noise(z, 0.0), shifted, atol=1e-4)


def test_the_noise_is_as_strong_as_alpha_which_is_uniform_below_gamma() -> None:
    z = torch.randn(2000, 5, 64, generator=torch.Generator().manual_seed(1))
    out = channel_norm_noise(z, 0.8, generator=torch.Generator().manual_seed(2))
    alphas = (out - channel_norm_noise(z, 0.0)).std(dim=(1, 2))
    assert alphas.max() < 0.8 * 1.2
    assert abs(alphas.mean().item() - 0.4) < 0.02  # mean of U(0, 0.8)
    assert abs(alphas.std().item() - 0.8 / 12**0.5) < 0.02


def test_the_same_generator_gives_the_same_noise() -> None:
    z = torch.randn(2, 3, 8)
    first, second = (
        channel_norm_noise(z, 1.0, generator=torch.Generator().manual_seed(9)) for _ in range(2)
    )
    assert torch.equal(first, second)


def test_gradients_flow_and_are_finite_where_a_step_is_constant() -> None:
    z = torch.cat([torch.randn(1, 2, 8), torch.zeros(1, 2, 8)]).requires_grad_()
    total: Any = (channel_norm_noise(z, 0.5) ** 2).sum()
    total.backward()
    assert z.grad is not None and bool(torch.isfinite(z.grad).all())


@pytest.mark.parametrize(
    ("z", "gamma"),
    [
        (torch.zeros(8), 0.1),
        (torch.zeros(2, 1), 0.1),
        (torch.zeros(2, 4, dtype=torch.int64), 0.1),
        (torch.zeros(2, 4), -0.1),
        (torch.zeros(2, 4), float("nan")),
    ],
)
def test_other_input_is_refused(z: Any, gamma: float) -> None:
    with pytest.raises(BadInput, match="expected"):
        channel_norm_noise(z, gamma)
