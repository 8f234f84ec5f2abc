"""Reasons why nothing passed: the check, an answer beside what was expected, and a way out."""

from __future__ import annotations

from typing import Any

from harness.core import Outcome, Task, invalid
from harness.evals import ItemRecord, near_misses, unsolved
from harness.tasks.answers import compare_answer


def _run(replies: dict[str, str], **fields: Any) -> tuple[list[ItemRecord], dict[str, Task]]:
    """Attempts at tasks whose answer is their id."""
    tasks = {name: Task(id=name, prompt="?", answer=name, **fields) for name in replies}
    scores = {name: compare_answer(tasks[name], text) for name, text in replies.items()}
    items = [
        ItemRecord(
            id=name, task_id=name, outcome=score.outcome, value=score.value, reason=score.reason,
            answer=replies[name],
        )
        for name, score in scores.items()
    ]  # fmt: skip
    return items, tasks


def _invalid(name: str) -> ItemRecord:
    outcome: Outcome = invalid("no model").outcome
    return ItemRecord(id=name, task_id=name, outcome=outcome, value=0.0)


def test_right_answers_among_other_words_are_counted_and_shown() -> None:
    items, tasks = _run({"41": "no idea", "42": "It is 42, I think.", "43": "43 it is"})
    lines = unsolved([*items, _invalid("44")], tasks)
    assert lines[0] == "none of the 3 judged attempts passed (1 invalid)"
    assert lines[1].startswith("check em (the default): the answer must be the expected text")
    assert lines[2] == "for example 42: expected '42', got 'It is 42, I think.'"
    assert lines[3] == "2 of 3 answers contain the expected text among other words"
    assert "format rule" in lines[4] and "--check contains" in lines[4]


def test_wrong_answers_are_called_wrong() -> None:
    lines = unsolved(*_run({"41": "7", "42": "8"}, check="numeric"))
    assert lines[1] == "check numeric: the last number in the answer must be the expected one"
    assert lines[2] == "for example 41: expected '41', got '7'"
    assert lines[3] == "no answer contains the expected text"
    assert "stronger model" in lines[4]


CALL = '{"name": "convert", "arguments": {"amount": 42, "to": "km"}}'


def test_calls_that_were_written_as_text_are_no_sign_of_hard_tasks() -> None:
    lines = unsolved(*_run({"41": f"```json\n{CALL}\n```", "42": CALL}))
    assert lines[2].startswith("for example 41: expected '41', got '```json")
    assert lines[3].startswith("2 of 2 answers are tool calls that were written as text")
    assert "tool_choice" in lines[4]
    assert "too hard" not in " ".join(lines)
    assert "among other words" not in " ".join(lines)  # 42 is an argument, no answer


def test_calls_among_other_answers_are_counted_and_the_others_judged() -> None:
    lines = unsolved(*_run({"41": "no idea", "42": CALL}))
    assert lines[3].startswith("1 of 2 answers are tool calls")
    assert "stronger model" in lines[-1]


def test_an_object_that_looks_like_a_call_may_be_the_answer() -> None:
    lines = unsolved(*_run({"41": CALL}, check="json"))
    assert "tool calls" not in " ".join(lines)


def test_what_another_check_expects_stands_beside_the_answer() -> None:
    task = Task(id="a", prompt="?", answer={"x": 1}, check="python3 check.py")
    item = ItemRecord(id="a", task_id="a", outcome="fail", value=0.0, reason="exit 1", answer="{x}")
    lines = unsolved([item], {"a": task})
    assert lines[1:3] == (
        "check python3 check.py",
        "for example a: expected {'x': 1}, got '{x}' (exit 1)",
    )
    assert len(lines) == 4


def test_expected_answers_are_offered_where_there_is_one_to_show() -> None:
    task = Task(id="a", prompt="?", answer="gold/output.csv", check="output")
    item = ItemRecord(id="a", task_id="a", outcome="fail", value=0.0, reason="no file")
    assert "teaches the form" not in unsolved([item], {"a": task})[-1]
    assert "teaches the form" in unsolved(*_run({"41": "no idea"}))[-1]


def test_without_the_tasks_the_reason_is_shown() -> None:
    items, _ = _run({"42": "It is 42."})
    assert unsolved(items, {})[1] == "for example 42: expected '42', got 'It is 42.'"


def test_nothing_is_said_where_an_attempt_passed_or_none_was_judged() -> None:
    assert unsolved(*_run({"41": "41", "42": "It is 42."})) == ()
    assert unsolved([_invalid("a")], {}) == ()


def test_near_misses_are_counted_where_others_passed() -> None:
    items, tasks = _run({"41": "41", "42": "It is 42.", "43": "no idea", "44": "44!? 44"})
    first, remedy = near_misses([*items, _invalid("45")], tasks)
    expected = "2 of 3 failed answers contain the expected text among other words, for example 42: "
    assert first == f"{expected}expected '42', got 'It is 42.'"
    assert "format rule" in remedy
    assert near_misses(*_run({"41": "41", "42": "no idea"})) == ()
    assert near_misses(*_run({"42": "It is 43."}, check="contains")) == ()
    assert near_misses(items, {}) == ()
