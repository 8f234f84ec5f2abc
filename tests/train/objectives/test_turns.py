"""Ladders of references, turns of policy and judge, and the block of two streams."""

from __future__ import annotations

import multiprocessing
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.objectives import siamese
from examples.objectives.coteaching import CoTeaching, trusted
from examples.objectives.references import ReferenceLadder, by_margin, pairwise_reward


def test_samples_by_what_is_left_to_learn() -> None:
    assert by_margin({"a": 9, "b": 9, "c": 5, "d": 9}, {"a": 8, "b": 2, "c": 5}) == ["b", "a", "c"]
    assert [pairwise_reward(outcome, True) for outcome in ("win", "tie", "loss")] == [
        1.1,
        0.55,
        0.1,
    ]
    assert pairwise_reward("win", well_formed=False) == 0.0


@settings(max_examples=15)
@given(st.lists(st.lists(st.sampled_from(["win", "tie", "loss"]), min_size=1, max_size=4)))
def test_the_ladder_only_rises_and_only_by_winning(groups: list[list[Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, place = Path(folder) / "ladder.sqlite", 0
        for outcomes in groups:
            won = 2 * outcomes.count("win") > len(outcomes)
            after = ReferenceLadder(path).record("x", outcomes, 3)  # another process each time
            assert after == min(place + won, 2)
            place = after
        assert ReferenceLadder(path).place("x") == place
        assert ReferenceLadder(path).place("y") == 0


def climb(path: Path) -> None:
    for _ in range(20):
        ReferenceLadder(path).record("x", ["win"], 1000)


def test_no_win_is_lost_between_processes(tmp_path: Path) -> None:
    path = tmp_path / "ladder.sqlite"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=climb, args=(path,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert ReferenceLadder(path).place("x") == 40
    with pytest.raises(ValueError, match="no references"):
        ReferenceLadder(path).record("z", ["win"], 0)


def test_pairs_that_are_surely_wrong_are_dropped() -> None:
    gaps = [1.0, 0.5, -0.1, -3.0, 0.8]
    assert trusted(gaps) == [0, 1, 2, 4]
    assert trusted(gaps, 0.999) == [0, 1, 2, 3, 4]
    assert trusted([-1.0]) == [0]
    assert trusted([-1.0, -1.0]) == [0, 1]


def test_co_teaching_keeps_what_validates() -> None:
    """Policies are numbers, their texts too; validation falls beyond 2."""
    seen: list[list[tuple[str, str]]] = []

    def update(reward: int, pairs: list[tuple[str, str]]) -> int:
        seen.append(pairs)
        return reward + 1

    teaching = CoTeaching[int, int](
        improve=lambda policy, _: policy + 1,
        update=update,
        compare=lambda new, old: [(str(new), str(old)), (str(new), "5"), (str(old), str(new))] * 4,
        score=lambda _, text: float(text),
        validate=lambda policy: -abs(policy - 2),
    )
    turns = teaching.run(0, 0, 9)
    assert (turns[-1].policy, turns[-1].reward) == (2, 2)
    assert [turn.improved for turn in turns] == [True, True, False]
    assert teaching.run(0, 0, 1) == turns[:1]
    assert all(("1", "5") not in pairs for pairs in seen)
    assert turns[0].dropped == pytest.approx(1 / 3)


class Zero(torch.nn.Module):
    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(states)


def test_a_silent_first_stream_makes_pre_norm() -> None:
    read: list[torch.Tensor] = []
    linear = torch.nn.Linear(4, 4)

    def attention(states: torch.Tensor) -> torch.Tensor:
        read.append(states)
        return linear(states)

    block = siamese.SiameseBlock(4, attention, Zero(), layer=1)
    block.entry[0] = torch.nn.Identity()
    second = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    first, after = block(torch.zeros_like(second), second)
    before = torch.nn.functional.layer_norm(second, (4,))
    assert torch.allclose(after, second + linear(before))
    assert first.abs().max() > 0
    assert len(read) == 1
    assert siamese.SiameseOutput(4)(first, after).shape == second.shape
