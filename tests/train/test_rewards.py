"""Checks as reward functions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.core import BadInput, Score, Task, invalid
from harness.tasks import GenericFamily
from harness.train.rewards import check_reward, contrastive, final_answer, task_reward

pytestmark = pytest.mark.wing("train")


def test_the_columns_of_a_data_set_are_a_task() -> None:
    reward = check_reward("numeric")
    assert reward.__name__ == "numeric"
    rewards = reward(
        ["6 x 7?"] * 4,
        ["42", "so it is 41", "<think>41</think> 42.0", "fortytwo"],
        answer=["42"] * 4,
        trainer_state=None,
    )
    assert rewards == [1.0, 0.0, 1.0, 0.0]


def test_a_row_may_name_its_check_and_settings() -> None:
    columns = {
        "answer": ["5", "5"],
        "check": ["numeric", None],
        "meta": [json.dumps({"tolerance": 1}), None],
    }
    assert check_reward("exact")(["?", "?"], ["5.5", "5.5"], **columns) == [1.0, 0.0]


def test_messages_are_read_by_their_last() -> None:
    turns = [{"role": "assistant", "content": "<think>no</think> yes"}]
    assert final_answer(turns) == "yes"
    assert final_answer([]) == ""
    prompt = [{"role": "user", "content": "well?"}]
    assert check_reward()([prompt], [turns], answer=["yes"]) == [1.0]


def test_a_task_judged_by_a_file_is_refused() -> None:
    task = Task(id="a", prompt="p", check="output", answer="gold.csv")
    with pytest.raises(BadInput, match=r"output\.csv.*completion has none"):
        task_reward(task, "done")


def test_no_verdict_is_no_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    def score(*_: object) -> Score:
        return invalid("the judge was not reached")

    monkeypatch.setattr(GenericFamily, "score", score)
    assert check_reward("em")(["p"], ["a"], answer=["a"]) == [None]


def test_contrast_takes_most_from_the_outlier_and_follows_its_temperature() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from harness.train.objectives.contrast import contrastive_losses, contrastive_reward

    texts = ["a", "b", "c", "far", "wrong"]
    angles = torch.tensor([0.0, 0.5, -0.5, 1.2, 3.0])
    states = torch.stack([angles.cos(), angles.sin()], 1)

    def right(_: Any, completions: Any) -> list[float | None]:
        return [float(text != "wrong") for text in completions]

    def expected(temperature: float) -> list[float]:
        correct = torch.tensor([text != "wrong" for text in texts])
        losses, _ = contrastive_losses(states, correct, ["p"] * 5, "supcon_in", temperature)
        return (correct + contrastive_reward(losses)).numpy().tolist()

    usual = contrastive(right, lambda _: states)(["p"] * 5, texts)
    assert usual == pytest.approx(expected(0.1))
    assert min(value or 0.0 for value in usual[:4]) == usual[3]
    flat = contrastive(right, lambda _: states, temperature=0.5)(["p"] * 5, texts)
    assert flat == pytest.approx(expected(0.5))
