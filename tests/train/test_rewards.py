"""Checks as reward functions."""

from __future__ import annotations

import json

import pytest

from harness.core import BadInput, Score, Task, invalid
from harness.tasks import GenericFamily
from harness.train.rewards import check_reward, final_answer, task_reward

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
