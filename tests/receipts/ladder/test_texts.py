"""The texts of the rungs: their lengths, and examples that were verified."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core import BadInput, Task, Trajectory
from harness.evals import load_suite
from harness.receipts.ladder import Example, LadderSettings, plan_of
from harness.receipts.ladder.examples import pairs_of, read_pairs
from harness.receipts.ladder.plan import prepare
from harness.receipts.ladder.rungs import (
    all_lessons,
    body_tokens,
    draw_sets,
    format_rule,
    lesson_list,
    near,
    nearest_examples,
    placebo,
    prose_of,
    tokens_of,
)
from harness.skills import count_tokens, new_skill, write_skill

POOL = [
    Example(task=f"t{number}", prompt="word " * (10 + 7 * number), reply=f"answer {number}")
    for number in range(12)
]
PROGRAM = "```python\nprint({})\n```"


def suite_at(root: Path, **changed: Any) -> str:
    """A suite of sums with three splits, for programs."""
    for split, first in (("train", 0), ("selection", 100), ("test", 200)):
        rows = [
            {"id": f"{split}-{n}", "prompt": f"What is {n} + 1?", "answer": str(n + 1)}
            for n in range(first, first + 12)
        ]
        (root / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    document = {
        "name": "sums", "agent": "graph:program",
        "tasks": {split: f"{split}.jsonl" for split in ("train", "selection", "test")},
    } | changed  # fmt: skip
    (root / "suite.yaml").write_text(json.dumps(document))
    return str(root / "suite.yaml")


def settings_at(root: Path, **changed: Any) -> LadderSettings:
    if not (root / "adder").exists():
        body = "\n# Adder\n\n- Add with care.\n" + "- Read the question to its end.\n" * 12
        write_skill(new_skill("adder", "Adds.", body), root / "adder")
    fields: dict[str, Any] = {
        "skill": root / "adder", "suite": str(root / "suite.yaml"), "sandbox": "none",
        "models": ("simulated/lookup",), "choose": 6,
    } | changed  # fmt: skip
    return LadderSettings(**fields)


@settings(max_examples=25, deadline=None)
@given(st.integers(20, 4000))
def test_a_placebo_has_the_length_that_is_asked_for(tokens: int) -> None:
    assert near(count_tokens(placebo(tokens)), tokens)
    assert placebo(tokens).startswith("# Notes\n\nThe harbour")


@settings(max_examples=25, deadline=None)
@given(st.integers(20, 4000))
def test_the_nearest_examples_are_no_shorter_than_asked_for(tokens: int) -> None:
    body = nearest_examples(POOL, tokens)
    every, one = count_tokens(body), count_tokens(body) / len(POOL)
    assert body.count("Task: ") == len(POOL)
    assert body_tokens(body) == every or tokens - 2 <= body_tokens(body) <= tokens + one + 2


@settings(max_examples=25, deadline=None)
@given(st.integers(60, 400), st.integers(0, 5))
def test_sets_of_examples_have_the_length_and_whole_replies(tokens: int, seed: int) -> None:
    sets = draw_sets(POOL, tokens, 8, seed)
    assert sets == draw_sets(POOL, tokens, 8, seed)
    assert len({row.body for row in sets}) == len(sets) > 1
    for row in sets:
        assert near(row.tokens, tokens) and row.tokens == count_tokens(row.body)
        assert len(set(row.examples)) == len(row.examples) == row.body.count("Task: ")
        for example in POOL:
            assert (example.task in row.examples) == (
                f"Answer: {example.reply}\n" in row.body + "\n"
            )


def test_replies_that_are_longer_than_the_skill_are_taken_whole() -> None:
    program = "```python\n" + "x = 1\n" * 80 + "```"
    pool = [row.model_copy(update={"reply": f"{program} {row.reply}"}) for row in POOL]
    sets = draw_sets(pool, 60, 8, 1)
    assert len(sets) > 4 and all(len(row.examples) == 1 and row.tokens > 200 for row in sets)
    assert all(program in row.body and row.body.count("word") <= 20 for row in sets)


def test_lessons_are_listed_once_and_cut(tmp_path: Path) -> None:
    texts = ("Close the file.", "Read  the\nheader.", "")
    items = [{"title": "", "lesson": text} for text in texts]
    (tmp_path / "records.json").write_text(json.dumps([{"items": items}, {"items": items[:1]}]))
    lessons = all_lessons(tmp_path)
    assert lessons == ["Close the file.", "Read the header."]
    assert lesson_list(lessons, 1000) == "# Lessons\n\n- Close the file.\n- Read the header."
    assert near(count_tokens(lesson_list(lessons * 40, 200)), 200)
    (tmp_path / "records.json").write_text("[]")
    with pytest.raises(BadInput, match="hold no lesson"):
        all_lessons(tmp_path)
    with pytest.raises(BadInput, match="expected the folder of an evolution"):
        all_lessons(tmp_path / "nowhere")


def test_prose_is_the_skill_without_its_scripts_and_what_uses_them() -> None:
    body = (
        "\n# Adder\n\n- Add with care.\n\nRun `scripts/add.py` first.\n\n"
        "```python\nfrom add import total\nprint(total())\n```\n\nThen answer.\n"
    )
    skill = new_skill("adder", "Adds.", body)
    assert prose_of(skill) is skill
    files = {"scripts/add.py": b"def total(): ...\n", "references/a.md": b"See SKILL.md.\n"}
    part = prose_of(replace(skill, files=files))
    assert "Add with care" in part.body and "Then answer" in part.body
    assert "import" not in part.body and "add.py" not in part.body
    assert list(part.files) == ["references/a.md"]


def test_the_format_rule_comes_from_the_agent_and_the_checks(tmp_path: Path) -> None:
    suite = load_suite(suite_at(tmp_path), "test")
    rule = format_rule(suite, "graph:program", [])
    assert "```python block" in rule and "bare answer" in rule and "at most" not in rule
    answered = [Task(id=str(n), prompt="?", answer="one two") for n in range(5)]
    assert "at most 2 words" in format_rule(suite, "graph:answer", answered)
    books = [task.model_copy(update={"check": "spreadsheet"}) for task in suite.tasks]
    rule = format_rule(suite.model_copy(update={"tasks": tuple(books)}), "graph:react", answered)
    assert "output.xlsx" in rule and "python" not in rule and "bare" not in rule
    changes = {"check": "output", "answer": "golden/t.csv"}
    tables = tuple(task.model_copy(update=changes) for task in suite.tasks)
    rule = format_rule(suite.model_copy(update={"tasks": tables}), "graph:program", answered)
    assert "output.csv" in rule and "prints the answer" not in rule and "at most" not in rule


def test_only_examples_that_pass_are_used(tmp_path: Path) -> None:
    suite_at(tmp_path)
    rows = [{"task": f"train-{n}", "reply": PROGRAM.format(f"{n} + 1")} for n in range(8)]
    rows += [
        {"task": "train-8", "reply": PROGRAM.format("8 + 2")},  # wrong
        {"task": "train-8", "reply": PROGRAM.format("round(9.0) if True else 0")},
        {"task": "train-9", "reply": PROGRAM.format("1 / 0")},
        {"task": "train-10", "reply": ""},
        {"task": "test-200", "reply": PROGRAM.format("201")},
        {"task": "elsewhere", "reply": PROGRAM.format("1")},
    ]
    pairs = tmp_path / "examples.jsonl"
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "out"
    out.mkdir()
    pool = prepare(settings_at(tmp_path, examples=str(tmp_path)), out).pool
    assert pool is not None
    assert pool.source == tmp_path.name  # what is published names no folder of this machine
    assert {row.task for row in pool.examples} == {f"train-{n}" for n in range(9)}
    refused = {row.task: row.reason for row in pool.refused}
    assert refused["test-200"] == "its task is one of the test"
    assert refused["elsewhere"] == "the suite's other splits have no such task"
    assert refused["train-10"] == "its reply is empty" and refused["train-9"]
    pairs.unlink()  # what was verified is kept
    assert prepare(settings_at(tmp_path, examples=str(tmp_path)), out).pool == pool


def test_examples_that_cannot_be_used_are_refused_with_a_reason(tmp_path: Path) -> None:
    suite_at(tmp_path)
    pairs = tmp_path / "examples.jsonl"
    pairs.write_text(json.dumps({"task": "train-0", "reply": PROGRAM.format(7)}) + "\n")
    with pytest.raises(BadInput, match=r"no gold example could be used.*1 refused"):
        prepare(settings_at(tmp_path, examples=str(pairs)), None)
    pairs.write_text('{"task": "train-0", "reply": "7"}\n{"task": "train-0"}\n')
    with pytest.raises(BadInput, match=r"examples.jsonl:2: expected \{.task.: id, .reply"):
        prepare(settings_at(tmp_path, examples=str(pairs)), None)
    with pytest.raises(BadInput, match=r"expected a split .train, selection., a run folder"):
        prepare(settings_at(tmp_path, examples="nowhere"), None)
    plan = plan_of(settings_at(tmp_path, examples="none"))
    assert [row["rung"] for row in plan["rungs"]] == [
        "none", "placebo", "format", "prose", "skill", "repeat",
    ]  # fmt: skip


def test_programs_are_taken_from_trajectories_of_other_agents() -> None:
    def run(outcome: str, *steps: dict[str, Any]) -> Trajectory:
        rows = [{"step_id": n, **step} for n, step in enumerate(steps, 1)]
        extra = {"harness": {"task_id": "t", "outcome": outcome, "answer": "2"}}
        document = {"schema_version": "ATIF-v1.8", "session_id": "s", "steps": rows, "extra": extra}
        return Trajectory.model_validate(document | {"agent": {"name": "a", "version": "1"}})

    call = {"tool_call_id": "1", "function_name": "python", "arguments": {"code": "print(2)\n"}}
    agent = {"source": "agent", "message": ""}
    replies = [
        pair.reply
        for pair in pairs_of(
            [
                run("pass", {**agent, "tool_calls": [call]}, {**agent, "message": "2"}),
                run("pass", {**agent, "message": PROGRAM.format(2)}),
                run("pass", {**agent, "message": "two, so 2"}),
                run("fail", {**agent, "message": "3"}),
            ]
        )
    ]
    assert replies == [PROGRAM.format(2), PROGRAM.format(2), "2"]


def test_a_suite_needs_held_out_tasks(tmp_path: Path) -> None:
    suite_at(tmp_path, tasks="train.jsonl")
    with pytest.raises(BadInput, match="expected a suite with the splits train, selection and"):
        prepare(settings_at(tmp_path), None)
    suite_at(tmp_path, tasks={"test": "test.jsonl"})
    with pytest.raises(BadInput, match="has no split but 'test'"):
        prepare(settings_at(tmp_path), None)
    suite_at(tmp_path, agent="graph:answer", tasks={"train": "train.jsonl", "test": "test.jsonl"})
    with pytest.raises(BadInput, match="no task is left to choose"):
        prepare(settings_at(tmp_path), None)
    suite_at(tmp_path)
    with pytest.raises(BadInput, match="expected 8 held-out tasks or more, got 5"):
        prepare(settings_at(tmp_path, limit=5), None)


def test_gold_answers_of_a_split_are_examples(tmp_path: Path) -> None:
    suite_at(tmp_path, agent="graph:answer")
    prepared = prepare(settings_at(tmp_path), None)
    assert prepared.pool is not None and len(prepared.pool.examples) == 12
    assert read_pairs("train", {"train": load_suite(str(tmp_path / "suite.yaml"), "train").tasks})
    tokens = tokens_of(prepared.skill)
    for name in ("placebo", "random"):
        assert near(tokens_of(prepared.skills[name]), tokens)
    assert prepared.chooser is not None and prepared.chooser.split == "selection"
