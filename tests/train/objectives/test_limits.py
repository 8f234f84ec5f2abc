"""Limits of each objective at its ends, and the traps of the official code."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples.objectives import games
from examples.objectives.batches import clipped_loss, refill
from examples.objectives.calibration import calibration_errors
from examples.objectives.distillation import distillation_loss, follow, reverse_kl
from examples.objectives.long_context import (
    Form,
    Likelihoods,
    compression_fidelity,
    implicit_reward,
    preference_loss,
    solopo_loss,
)
from examples.objectives.mixture import GradientMixture, minimum_norm_weights, segment_minimum
from examples.objectives.preferences import (
    apo_loss,
    bradley_terry,
    club_bound,
    dir_loss,
    fit_bias,
    ranking_loss,
)
from harness.train.objectives.advantages import (
    gd2po,
    normalized,
    whitened,
)
from harness.train.objectives.contrast import contrastive_losses, contrastive_reward

REWARDS = st.lists(st.floats(-2, 2, width=32), min_size=4, max_size=12)
FORMS: list[Form] = ["dpo", "simpo", "orpo"]


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@given(REWARDS)
def test_one_reward_is_never_in_conflict(rewards: list[float]) -> None:
    values = torch.tensor([rewards], dtype=torch.float64)
    groups = [number % 2 for number in range(len(rewards))]
    advantages = gd2po(values, groups)
    assert advantages.keep.all()
    assert torch.equal(advantages.values, normalized(values, groups)[0])


@given(REWARDS, st.floats(0, 1))
def test_a_higher_threshold_keeps_no_more(rewards: list[float], threshold: float) -> None:
    values = torch.tensor([rewards, rewards[::-1]], dtype=torch.float64)
    groups = [0] * len(rewards)
    low, high = (gd2po(values, groups, "snr", limit).keep for limit in (threshold / 2, threshold))
    assert (low | ~high).all()
    assert (high | ~gd2po(values, groups, "hard").keep).all()
    assert gd2po(values, groups, "none").keep.all()


def test_all_rollouts_in_conflict_teach_nothing() -> None:
    advantages = gd2po(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), ["a", "a"])
    assert advantages.values.numpy().tolist() == [0.0, 0.0]
    assert not whitened(advantages.values, torch.zeros(2, 3)).any()
    assert advantages.conflict.all()
    with pytest.raises(ValueError, match="rewards of shape"):
        gd2po(torch.zeros(2, 3), ["a", "a"])


def test_a_group_of_one_keeps_its_reward() -> None:
    assert normalized(torch.tensor([[0.5, 1.0]]), ["a", "b"]).numpy().tolist() == [[0.5, 1.0]]


@given(
    st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=40),
    st.floats(-3, 3, width=32),
    st.sampled_from([torch.float32, torch.float64, torch.float16]),
)
@example([1.0, 0.0, 0.0] * 3, 0.7, torch.float32)
@example([0.0, 1.0] * 5, 0.3, torch.float64)
@example([1.0, 0.0] * 4, 0.1, torch.float32)
def test_a_constant_reward_is_in_conflict_with_none(
    varied: list[float], constant: float, dtype: torch.dtype
) -> None:
    rewards = torch.tensor([varied, [constant] * len(varied)], dtype=dtype)
    groups = ["q"] * len(varied)
    assert not gd2po(rewards, groups).conflict.any()
    assert gd2po(rewards, groups).each.dtype == dtype
    assert not normalized(rewards, groups)[1].any()
    missing = torch.where(torch.arange(len(varied)) == 0, torch.nan, rewards)
    assert not normalized(missing, groups)[1].any()


def test_whitening_can_turn_a_small_advantage() -> None:
    """A property of whitening over tokens that a user should know of."""
    mask = torch.tensor([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    turned = whitened(torch.tensor([1.0, 0.1]), mask)
    assert turned[1, 0] < 0 < turned[0, 0]
    assert turned[1, 1:].numpy().tolist() == [0.0, 0.0]


@given(st.lists(REWARDS, min_size=1, max_size=6), st.integers(0, 9))
def test_a_batch_of_dupo_has_its_size_and_no_idle_group(
    rewards: list[list[float]], seed: int
) -> None:
    groups = {str(number): row for number, row in enumerate([*rewards, [1.0] * 4])}
    names, idle = refill(groups, random.Random(seed))
    assert str(len(rewards)) in idle
    assert not set(names) & set(idle)
    assert len(names) in (0, len(groups))
    assert (not names) == (len(idle) == len(groups))


def test_tokens_of_tools_have_no_gradient() -> None:
    logprobs = draw(2, 5).requires_grad_()
    old = torch.cat([draw(2, 4, seed=1), torch.full((2, 1), -math.inf, dtype=torch.float64)], 1)
    mask = torch.tensor([[1.0, 1, 0, 1, 0], [1, 0, 0, 1, 0]], dtype=torch.float64)
    loss = clipped_loss(logprobs, old, torch.tensor([1.0, -1.0], dtype=torch.float64), mask)
    loss.backward()  # pyright: ignore[reportUnknownMemberType]
    assert logprobs.grad is not None
    assert torch.isfinite(logprobs.grad).all()
    assert not logprobs.grad[mask == 0].any()


@given(st.lists(st.booleans(), min_size=2, max_size=8), st.integers(0, 5))
def test_contrast_only_where_there_is_something_to_compare(correct: list[bool], seed: int) -> None:
    states, right = draw(len(correct), 3, seed=seed), torch.tensor(correct)
    losses, anchors = contrastive_losses(states, right, [0] * len(correct), "supcon_in")
    compared = 2 <= sum(correct) < len(correct)
    assert anchors.numpy().tolist() == [compared and value for value in correct]
    rewards = contrastive_reward(losses)
    assert ((rewards <= 0) & (rewards >= -0.5)).all()
    assert not rewards[~right].any()


def test_variants_differ_where_there_are_two_positives() -> None:
    """By hand: cosines 0.8 and 0.6 to the positives and 0 to the wrong one, temperature 1."""
    states = torch.tensor([[1.0, 0, 0], [0.8, 0.6, 0], [0.6, -0.8, 0], [0, 0, 1.0]])
    correct = torch.tensor([True, True, True, False])
    total = math.exp(0.8) + math.exp(0.6) + 1

    def first(variant: Any) -> float:
        return float(contrastive_losses(states, correct, [0] * 4, variant, 1.0)[0][0])

    near = math.exp(0.8) + math.exp(0.6)
    assert first("supcon_out") == pytest.approx(math.log(total) - 0.7, abs=1e-6)
    assert first("supcon_in") == pytest.approx(math.log(total) - math.log(near / 2), abs=1e-6)
    assert first("soft_nn") == pytest.approx(math.log(total) - math.log(near), abs=1e-6)
    drawn = [0.8, 0.6][int(torch.randint(2, (), generator=torch.Generator().manual_seed(3)).item())]
    generator = torch.Generator().manual_seed(3)
    one = contrastive_losses(states, correct, [0] * 4, "infonce", 1.0, generator)[0][0]
    assert float(one) == pytest.approx(math.log(total) - drawn, abs=1e-6)


def test_an_outlier_among_correct_rollouts_is_lowest() -> None:
    states = torch.tensor([[1.0, 0.1], [1.0, 0.0], [0.9, 0.1], [-1.0, 0.2], [0.0, 1.0]])
    correct = torch.tensor([True, True, True, True, False])
    for variant in ("supcon_out", "supcon_in", "soft_nn"):
        losses, _ = contrastive_losses(states, correct, [0] * 5, variant)
        assert int(losses.argmax()) == 3


def test_a_bias_that_says_nothing_costs_nothing() -> None:
    labels = torch.tensor([0, 1, 1, 0])
    assert float(club_bound(torch.zeros(4, 2), labels)) == pytest.approx(0.0, abs=1e-7)
    chosen, rejected = draw(4), draw(4, seed=1)
    alone = bradley_terry(chosen, rejected)
    assert torch.equal(dir_loss(chosen, rejected, draw(4, 2), labels, weight=0.0), alone)


def test_the_guess_of_a_bias_leaves_the_states_alone() -> None:
    states = draw(8, 3).float().requires_grad_()
    guess = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(guess.parameters(), lr=0.1)
    bias = (states.detach()[:, 0] > 0).long()
    first = fit_bias(guess, states, bias, optimizer, 1)
    assert fit_bias(guess, states, bias, optimizer, 50) < first
    assert states.grad is None


def test_rankings_without_pairs_cost_nothing() -> None:
    tied = torch.tensor([[1.0, 1.0, -1.0]])
    assert float(ranking_loss(torch.tensor([[0.3, 0.1, 9.0]]), tied)) == 0.0
    sampled = torch.full((1, 4), 2.0)
    none = apo_loss(torch.zeros(1, 2), torch.ones(1, 2), torch.zeros(1), sampled)
    assert float(none) == pytest.approx(0.1 * math.log1p(math.exp(2)))


@settings(max_examples=20)
@given(st.integers(2, 6), st.integers(0, 40))
def test_the_mixture_descends_on_every_source(sources: int, seed: int) -> None:
    gradients = draw(sources, 4, seed=seed)
    weights = minimum_norm_weights(gradients, steps=500, tolerance=1e-6)
    assert float(weights.sum()) == pytest.approx(1.0)
    assert (weights >= 0).all()
    mixture = weights @ gradients
    assert (gradients @ mixture >= mixture @ mixture - 0.02).all()


@settings(max_examples=20)
@given(st.floats(0.1, 9), st.floats(-3, 3), st.floats(0.1, 9))
def test_frank_wolfe_finds_the_minimum_of_a_segment(a: float, b: float, c: float) -> None:
    first, second = torch.tensor([a, 0.0]).double(), torch.tensor([b, c]).double()
    products = [float(x @ y) for x, y in ((first, first), (first, second), (second, second))]
    weight, length = segment_minimum(*products)
    weights = minimum_norm_weights(torch.stack([first, second]), 500, 1e-9)
    mixture = weights @ torch.stack([first, second])
    assert float(mixture @ mixture) == pytest.approx(length, rel=1e-3, abs=1e-6)
    assert float(weights[0]) == pytest.approx(weight, abs=0.01)


def test_a_source_without_gradient_has_no_say() -> None:
    mixture = GradientMixture(2)
    assert mixture(torch.tensor([[1.0, 0.0], [0.0, 0.0]])).numpy().tolist() == [1.0, 0.0]
    assert GradientMixture(2)(torch.zeros(2, 3)).numpy().tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="expected 2 gradients"):
        mixture(torch.zeros(3, 2))


def test_a_student_that_is_its_teacher_has_nothing_to_learn() -> None:
    logits = draw(2, 3, 5).requires_grad_()
    assert reverse_kl(logits, logits, 2, renormalize=True).abs().max() < 1e-9
    teacher = draw(2, 3, 5, seed=1).requires_grad_()
    mask = torch.tensor([[1.0, 1, 0], [1, 0, 0]])
    distillation_loss(logits, teacher, mask, 0).backward()  # pyright: ignore[reportUnknownMemberType]
    assert teacher.grad is None
    assert logits.grad is not None
    assert not logits.grad[mask == 0].any()


@given(st.integers(0, 30), st.integers(1, 5))
def test_a_renormalised_divergence_is_never_negative(seed: int, top: int) -> None:
    student, teacher = draw(4, 6, seed=seed), draw(4, 6, seed=seed + 100)
    assert (reverse_kl(student, teacher, top, renormalize=True) >= -1e-9).all()
    assert torch.allclose(reverse_kl(student, teacher, 6), reverse_kl(student, teacher))


def test_tokens_that_are_ruled_out_make_no_nan() -> None:
    never = -math.inf
    student = torch.tensor([[0.0, 1.0, never], [0.0, never, 2.0]], requires_grad=True)
    teacher = torch.tensor([[1.0, 0.5, never], [3.0, 1.0, never]])
    both, other = reverse_kl(student.detach(), teacher)
    expected = reverse_kl(student.detach()[:1, :2], teacher[:1, :2])[0]
    assert float(both) == pytest.approx(float(expected))
    assert float(other) == math.inf
    for top, renormalize in ((1, True), (2, True), (2, False)):
        assert not reverse_kl(student, teacher, top, renormalize).isnan().any()
    loss = distillation_loss(student[None], teacher[None], torch.tensor([[1.0, 0.0]]))
    loss.backward()  # pyright: ignore[reportUnknownMemberType]
    assert float(loss.detach()) == pytest.approx(float(expected))
    assert student.grad is not None and not student.grad.isnan().any()
    assert student.grad[0].any()


def test_the_teacher_follows_slowly() -> None:
    slow, fast = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
    before, target = slow.weight.item(), fast.weight.item()
    follow(slow, fast, 0.9)
    assert slow.weight.item() == pytest.approx(0.9 * before + 0.1 * target)


def answers(seed: int, grad: bool = False) -> Likelihoods:
    total = -10 * draw(3, seed=seed).abs() - 1
    reference = -10 * draw(3, seed=seed + 50).abs() - 1
    return Likelihoods(total.requires_grad_(grad), torch.tensor([4.0, 7.0, 9.0]), reference)


@pytest.mark.parametrize("form", FORMS)
def test_solopo_without_weight_is_the_preference_loss(form: Form) -> None:
    chosen, rejected, long = answers(1), answers(2), answers(3)
    alone = preference_loss(chosen, rejected, form)
    assert torch.equal(solopo_loss(chosen, rejected, long, form, weight=0.0), alone)
    moved = implicit_reward(chosen, form, 0.1) - implicit_reward(long, form, 0.1)
    whole = solopo_loss(chosen, rejected, long, form, weight=2.0)
    assert float(whole) == pytest.approx(float(alone + 2 * moved.abs().mean()))


@pytest.mark.parametrize("form", FORMS)
def test_only_the_chosen_answer_is_read_with_the_long_context(form: Form) -> None:
    chosen, rejected, long = answers(1, True), answers(2, True), answers(3, True)
    flat = solopo_loss(chosen, rejected, long, form)
    flat.backward()  # pyright: ignore[reportUnknownMemberType]
    assert all(part.total.grad is not None for part in (chosen, rejected, long))
    alone = preference_loss(*(answers(2, True), answers(1, True)), form)
    assert torch.isfinite(alone)


def test_dpo_by_hand_and_without_a_reference() -> None:
    one = torch.ones(1)
    chosen, rejected = Likelihoods(-2 * one, one, -3 * one), Likelihoods(-5 * one, one, -4 * one)
    loss = preference_loss(chosen, rejected, "dpo", beta=0.5)
    assert float(loss) == pytest.approx(math.log1p(math.exp(-0.5 * 2)))
    with pytest.raises(ValueError, match="reference"):
        preference_loss(Likelihoods(one, one), rejected, "dpo")
    assert float(implicit_reward(Likelihoods(math.log(0.25) * one, one), "orpo", 1.0)) == (
        pytest.approx(math.log(1 / 3))
    )
    assert float(compression_fidelity(chosen, rejected)) == 3.0


def test_games_by_hand() -> None:
    logprobs, reference = torch.tensor([-1.0, -2.0]), torch.tensor([-1.5, -2.0])
    weights, rewards = torch.tensor([1.5, 0.75]), torch.tensor([1.0, 0.5])
    imitation = [
        1.5 * (1.0 + 0.1 * math.exp(-1) * 0.5),
        0.75 * 2.0,
    ]
    loss = games.imitation_loss(logprobs, reference, weights)
    assert float(loss) == pytest.approx(sum(imitation) / 2)
    advantage = 1.0 - 0.2 * 0.5
    offline = [1.5 * advantage * min(math.exp(0.5), 1.2), 0.75 * 0.5]
    value = games.offline_loss(logprobs, reference, rewards, weights)
    assert float(value) == pytest.approx(-sum(offline) / 2)
    more = games.offline_loss(logprobs, reference, rewards, weights, torch.tensor([1.0, 3.0]))
    assert float(more) == pytest.approx(float(value) + 1.0)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1), st.integers(1, 20))
def test_no_calibration_error_exceeds_the_maximum(
    rows: list[tuple[float, bool]], bins: int
) -> None:
    probabilities, labels = [p for p, _ in rows], [label for _, label in rows]
    errors = calibration_errors(probabilities, labels, bins)
    assert 0 <= max(errors.expected, errors.average) <= errors.maximum + 1e-9 <= 1 + 1e-9
    # In a single bin all three are the gap of the means, which more bins do not make smaller.
    single = calibration_errors(probabilities, labels, 1)
    gap = abs(sum(probabilities) - sum(labels)) / len(rows)
    assert list(single) == pytest.approx([gap] * 3, abs=1e-9)
    assert errors.expected >= single.expected - 1e-9


def test_calibration_errors_of_no_rows_or_of_no_probabilities_are_refused() -> None:
    # An edge belongs to the bin below: 0.5 stands alone here, with neither 0.6 nor 1.
    assert calibration_errors([0.5, 0.6, 1.0], [True, True, False], 2) == (
        pytest.approx((0.5 + 0.6) / 3), pytest.approx(0.4), 0.5
    )  # fmt: skip
    for probabilities in ([], [1.2], [float("nan")]):
        with pytest.raises(ValueError, match="expected probabilities"):
            calibration_errors(probabilities, [True] * len(probabilities))
