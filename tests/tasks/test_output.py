"""The output family: tables and JSON documents, prompts, and what an agent may leave instead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.core import BadInput, Score, Task
from harness.evals import load_suite
from harness.tasks import family, output_file

TABLE = "Id,Weight\n007,1.5\n008,2\n"


def task_of(base: Path, gold: str, suffix: str, *, ordered: bool = False) -> Task:
    (base / "in.csv").write_text("Id;Weight\n" + "7;1\n" * 20)
    (base / f"gold{suffix}").write_text(gold)
    return Task(
        id="t",
        prompt="Clean it.",
        files={"table.csv": "in.csv"},
        answer=f"gold{suffix}",
        check="output",
        meta={"ordered": ordered},
    )


def judged(base: Path, task: Task, output: str | bytes | None) -> Score:
    work = base / "work"
    work.mkdir()
    if output is not None:
        data = output.encode() if isinstance(output, str) else output
        (work / output_file(task)).write_bytes(data)
    return family(task).score(task, base, work, None)


@pytest.mark.parametrize(
    ("output", "ordered", "fault"),
    [
        (TABLE, True, ""),
        ("\ufeffId , Weight\r\n007,1.504\r\n\r\n 008,2.00\r\n", True, ""),
        ('"Id","Weight"\n"008","2"\n007,1.5', False, ""),
        ("Id,Weight\n008,2\n007,1.5\n", True, "row[1][0]: expected '007', got '008'"),
        ("Id,Weight\n007,1.506\n008,2\n", False, "row[1][1]: expected 1.5, got 1.506"),
        ("Id,Weight\n7,1.5\n8,2\n", False, "row[1][0]: expected '007', got 7.0"),
        ("Id,Weight\n007,1.5\n", False, "number of entries of row: expected 3, got 2"),
        ("Id,Weight\n007,1.5\n007,1.5\n", False, "row[2][0]: expected '008', got '007'"),
        ("Weight,Id\n1.5,007\n2,008\n", False, "row[0][0]: expected 'Id', got 'Weight'"),
        ("Id,Weight\n007,1.5,\n008,2\n", False, "number of entries of row[1]"),
        ("", False, "number of entries of row"),
        ("x" * 200_000, False, "row[0][0]: expected 'Id', got 'xxx"),
        (b"Id,\xff", False, "the output file 'output.csv' cannot be read: 'utf-8'"),
        (None, False, "there is no output file 'output.csv'"),
    ],
)
def test_tables(tmp_path: Path, output: str | bytes | None, ordered: bool, fault: str) -> None:
    score = judged(tmp_path, task_of(tmp_path, TABLE, ".csv", ordered=ordered), output)
    assert (score.outcome, score.value) == ("fail" if fault else "pass", 0.0 if fault else 1.0)
    assert score.reason.startswith(fault)


GOLD = {"a": [1, 2.5], "b": {"c": "x", "d": None, "e": True}}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, ""),
        ({"a": [1.0, 2.504]}, ""),
        ({"b": {"e": True, "d": None, "c": " x "}}, ""),
        ({"a": [2.5, 1]}, "output.a[0]: expected 1, got 2.5"),
        ({"a": [1, 2.5, 3]}, "number of entries of output.a: expected 2, got 3"),
        ({"a": [1, "2.5"]}, "output.a[1]: expected 2.5, got '2.5'"),
        ({"a": [True, 2.5]}, "output.a[0]: expected 1, got True"),
        ({"a": [10**400, 2.5]}, "output.a[0]: expected 1, got 1000"),
        ({"b": {"c": "x", "e": True}}, "output.b lacks 'd'"),
        ({"b": {"c": "x", "d": 0, "e": True}}, "output.b.d: expected None, got 0"),
        ({"f": 1}, "output has 'f', which is not expected"),
    ],
)
def test_documents(tmp_path: Path, change: dict[str, object], fault: str) -> None:
    task = task_of(tmp_path, json.dumps(GOLD), ".json")
    score = judged(tmp_path, task, json.dumps({**GOLD, **change}))
    assert score.outcome == ("fail" if fault else "pass")
    assert score.reason.startswith(fault)


@pytest.mark.parametrize("output", ["", "no JSON", "[" * 100_000, '{"a": 1}\n{"a": 2}'])
def test_what_is_no_document_fails(tmp_path: Path, output: str) -> None:
    score = judged(tmp_path, task_of(tmp_path, json.dumps(GOLD), ".json"), output)
    assert score.outcome == "fail"
    assert score.reason.startswith("the output file 'output.json' cannot be read")


def test_a_link_and_a_large_file_are_not_read(tmp_path: Path) -> None:
    task = task_of(tmp_path, TABLE, ".csv")
    work = tmp_path / "work"
    work.mkdir()
    (work / "output.csv").symlink_to(tmp_path / "gold.csv")
    reasons = [family(task).score(task, tmp_path, work, None).reason]
    (work / "output.csv").unlink()
    (work / "output.csv").write_bytes(b" " * 10_000_001)
    reasons.append(family(task).score(task, tmp_path, work, None).reason)
    assert "link" in reasons[0] and "10,000,001 bytes" in reasons[1]


def test_the_prompt_shows_the_first_lines_and_no_gold(tmp_path: Path) -> None:
    task = task_of(tmp_path, TABLE, ".csv")
    work = tmp_path / "work"
    work.mkdir()
    prompt = family(task).prepare(task, tmp_path, work)
    assert prompt.startswith("Clean it.\n\nInput: `table.csv`. Output: `output.csv`, with a header")
    assert "First lines of `table.csv`:\n\n```\nId;Weight\n7;1\n" in prompt
    assert prompt.count("7;1") == 11
    assert "007" not in prompt
    assert [path.name for path in work.iterdir()] == ["table.csv"]


@pytest.mark.parametrize("gold", [None, "missing.csv", "in.txt", 7, "broken.json"])
def test_a_gold_file_that_cannot_judge_is_refused(tmp_path: Path, gold: object) -> None:
    (tmp_path / "in.txt").write_text("a")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "work").mkdir()
    task = task_of(tmp_path, "", ".csv").model_copy(update={"answer": gold})
    with pytest.raises(BadInput, match=r"task 't': .*golden file"):
        family(task).prepare(task, tmp_path, tmp_path / "work")


def test_a_suite_may_not_name_gold_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / "suite"
    folder.mkdir()
    task = task_of(folder, TABLE, ".csv").model_copy(update={"answer": "../gold.csv"})
    (folder / "tasks.jsonl").write_text(task.model_dump_json() + "\n")
    with pytest.raises(BadInput, match="expected its files below"):
        load_suite(str(folder / "tasks.jsonl"))
