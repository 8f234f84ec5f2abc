"""Every objective where floats mislead: equal values, half precision, nothing, and no numbers."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
import torch

from examples.objectives import games
from examples.objectives.batches import clipped_loss, refill
from examples.objectives.coteaching import trusted
from examples.objectives.distillation import distillation_loss, reverse_kl
from examples.objectives.long_context import (
    Form,
    Likelihoods,
    compression_fidelity,
    implicit_reward,
    solopo_loss,
)
from examples.objectives.mixture import GradientMixture, minimum_norm_weights
from examples.objectives.noise import channel_norm_noise
from examples.objectives.preferences import apo_loss, bradley_terry, club_bound, ranking_loss
from harness.train.objectives.advantages import (
    clipped_terms,
    gd2po,
    normalized,
    whitened,
)
from harness.train.objectives.contrast import contrastive_losses

TYPES = [torch.float32, torch.bfloat16, torch.float16]
NAN, INF = math.nan, math.inf
NONE, ONE = torch.zeros(0), torch.ones(1)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("value", [0.1, 0.7, -3.3, 1000.1, 1e-3])
def test_equal_values_have_no_sign(dtype: torch.dtype, value: float) -> None:
    for size in range(1, 65):
        equal = torch.full((size,), value).to(dtype)
        assert not whitened(equal, torch.ones(size, 3, dtype=dtype)).any()
        assert trusted([-abs(value)] * size) == list(range(size))
        if size > 1:
            assert not normalized(equal[None], [0] * size).any()
            assert channel_norm_noise(equal.expand(2, -1), 0.0).abs().max() < 1e-6


def test_whole_numbers_are_rewards() -> None:
    rewards = torch.tensor([[1, 0], [0, 1]])
    assert gd2po(rewards, ["q", "q"]).conflict.all()
    assert torch.equal(normalized(rewards, ["q", "q"]), normalized(rewards.float(), ["q", "q"]))


def test_an_infinite_reward_has_no_part_in_its_group() -> None:
    for size in (1, 3):
        rewards = torch.tensor([[-INF, 1.0, 0.0][:size], [NAN, 1.0, 0.0][:size]])
        first, second = gd2po(rewards, [0] * size).each
        assert torch.equal(first, second)
        assert first.isfinite().all()


def test_groups_without_two_rewards_are_idle() -> None:
    groups = {"none": [], "missing": [NAN, NAN], "one": [NAN, 1.0], "two": [NAN, 1.0, 0.0]}
    assert refill(groups, random.Random(0)) == (["two"] * 4, ["none", "missing", "one"])


def test_nothing_outside_the_mask_counts() -> None:
    mask = torch.tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]])
    white = whitened(torch.tensor([NAN, 1.0, 2.0]), mask)
    assert white.isfinite().all()
    assert not white[mask == 0].any()
    now = torch.zeros(2, 2, requires_grad=True)
    terms = clipped_terms(now, now.detach(), torch.tensor([[NAN], [1.0]]), mask[:2])
    terms.sum().backward()  # pyright: ignore[reportUnknownMemberType]
    assert terms.detach().numpy().tolist() == [[0.0, 0.0], [-1.0, -1.0]]
    assert now.grad is not None and now.grad.isfinite().all()
    long = torch.zeros(1, 70_000)  # more than half precision counts
    assert float(clipped_loss(long, long, ONE, torch.ones_like(long, dtype=torch.float16))) == -1.0


def test_an_absent_answer_may_have_any_reward() -> None:
    scores = torch.tensor([[1.0, 0.0, -1.0]])
    for absent in (NAN, INF, -INF):
        rewards = torch.tensor([[1.0, 0.0, absent]], requires_grad=True)
        loss = ranking_loss(rewards, scores)
        loss.backward()  # pyright: ignore[reportUnknownMemberType]
        assert float(loss.detach()) == pytest.approx(math.log1p(math.exp(-1)))
        assert rewards.grad is not None and rewards.grad.isfinite().all()


def test_a_state_that_is_no_number_is_refused() -> None:
    states = torch.tensor([[NAN, 1.0], [1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="finite states"):
        contrastive_losses(states, torch.tensor([True, True, False]), [0] * 3)


def test_a_gradient_that_is_no_number_is_forgotten() -> None:
    mixture = GradientMixture(2)
    for wrong in (NAN, INF):
        assert mixture(torch.tensor([[wrong, 0.0], [1.0, 0.0]])).numpy().tolist() == [0.0, 1.0]
    assert mixture(torch.tensor([[0.0, 1.0], [1.0, 0.0]])).numpy().tolist() == [0.5, 0.5]


@pytest.mark.parametrize("size", [1e-4, 400.0])
def test_the_size_of_a_gradient_in_half_precision_decides_nothing(size: float) -> None:
    weights = GradientMixture(2)(torch.tensor([[size, 0.0], [0.0, 1.0]], dtype=torch.float16))
    assert weights.numpy().tolist() == [0.5, 0.5]


@pytest.mark.parametrize("dtype", TYPES)
def test_a_divergence_of_half_precision_is_never_negative(dtype: torch.dtype) -> None:
    chance = torch.Generator().manual_seed(0)
    student, noise = torch.randn(2, 200, 50, generator=chance)
    teacher = student + 0.01 * noise
    assert (reverse_kl(student.to(dtype), teacher.to(dtype)) >= 0).all()


def test_a_batch_of_nothing_costs_nothing() -> None:
    wide, none = torch.zeros(0, 2), Likelihoods(NONE, NONE, NONE)
    forms: list[Form] = ["dpo", "simpo", "orpo"]
    losses: list[Any] = [
        bradley_terry(NONE, NONE),
        club_bound(wide, NONE.long()),
        apo_loss(wide, wide, NONE, wide),
        distillation_loss(torch.zeros(0, 2, 3), torch.zeros(0, 2, 3), wide),
        clipped_loss(wide, wide, NONE, wide),
        games.imitation_loss(NONE, NONE, NONE),
        games.offline_loss(NONE, NONE, NONE, NONE),
        *(solopo_loss(none, none, none, form) for form in forms),
    ]
    assert [float(loss) for loss in losses] == [0.0] * len(losses)
    assert contrastive_losses(wide, NONE.bool(), [])[0].shape == (0,)
    assert minimum_norm_weights(wide).shape == gd2po(wide.T, []).values.shape == (0,)


def test_an_answer_without_tokens_has_a_number() -> None:
    empty = Likelihoods(0 * ONE, 0 * ONE)
    assert float(compression_fidelity(empty, empty)) == 0.0
    assert implicit_reward(empty, "orpo", 1.0).isfinite().all()
    assert float(implicit_reward(empty, "simpo", 1.0)) == 0.0


def test_what_a_player_would_never_say_makes_no_nan() -> None:
    assert float(games.imitation_loss(-INF * ONE, -ONE, ONE)) == INF
    for now, then in ((-INF, -1.0), (-1.0, -INF), (-1.0, -200.0)):
        assert games.offline_loss(now * ONE, then * ONE, ONE, ONE).isfinite()


def test_a_gap_that_is_no_number_is_not_trusted() -> None:
    assert trusted([NAN, 1.0, 0.9, INF, 0.5]) == [1, 2, 4]
    assert trusted([NAN]) == []
