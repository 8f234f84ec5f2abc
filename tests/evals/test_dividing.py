"""Dividing task files: by rows as the paper did, by stratum, by given rows."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core import BadInput, Task
from harness.evals import Split, load_suite
from harness.evals.suite import divided

SPLITS: tuple[Split, ...] = get_args(Split)


def tasks_of(count: int, strata: int = 2) -> list[Task]:
    kinds = [f"kind {number}" for number in range(strata)]
    return [
        Task(id=f"t{n}", prompt="p", answer="a", meta={"stratum": kinds[n % strata]})
        for n in range(count)
    ]


def test_the_paper_takes_rows() -> None:
    tasks = tasks_of(400)
    assert [task.id for task in divided(tasks, "paper", "train")] == [f"t{n}" for n in range(200)]
    assert divided(tasks, "paper", "test") == tuple(tasks[200:])
    with pytest.raises(BadInput, match="no split 'selection'"):
        divided(tasks, "paper", "selection")
    with pytest.raises(BadInput, match="there are 399 tasks"):
        divided(tasks[:-1], "paper", "test")


@given(st.integers(60, 300), st.integers(1, 5))
def test_strata_have_the_same_share_in_every_part(count: int, strata: int) -> None:
    tasks = tasks_of(count, strata)
    parts = {split: divided(tasks, "stratified", split) for split in SPLITS}
    ids = [task.id for part in parts.values() for task in part]
    assert sorted(ids) == sorted(task.id for task in tasks), "each task once"
    for kind, total in Counter(task.meta["stratum"] for task in tasks).items():
        for split, share in (("train", 0.4), ("selection", 0.1), ("test", 0.5)):
            own = sum(task.meta["stratum"] == kind for task in parts[split])
            assert abs(own - share * total) <= 1


def test_the_order_of_the_file_and_other_strata_move_nothing() -> None:
    tasks = tasks_of(90, 3)
    test = {task.id for task in divided(tasks, "stratified", "test")}
    assert {task.id for task in divided(tasks[::-1], "stratified", "test")} == test
    others = [task for task in tasks if task.meta["stratum"] != "kind 0"]
    kept = {task.id for task in divided(others, "stratified", "test")}
    assert kept == {name for name in test if int(name[1:]) % 3}


def test_rows_may_be_given() -> None:
    tasks = tasks_of(10)
    rows: Any = {"train": (0, 5), "test": (5, 9)}
    assert len(divided(tasks, rows, "test")) == 4
    with pytest.raises(BadInput, match="share no row"):
        divided(tasks, {"train": (0, 6), "test": (5, 9)}, "test")
    with pytest.raises(BadInput, match="empty"):
        divided(tasks, {"train": (0, 0)}, "train")


@pytest.mark.parametrize(("split_by", "sizes"), [("paper", (200, 200)), ("stratified", (160, 200))])
def test_suites_say_how_they_are_divided(
    split_by: str, sizes: tuple[int, int], tmp_path: Path
) -> None:
    rows = [task.model_dump_json() + "\n" for task in tasks_of(400)]
    (tmp_path / "tasks.jsonl").write_text("".join(rows))
    suite = tmp_path / "suite.yaml"
    suite.write_text(f"name: s\ntasks: tasks.jsonl\nsplit_by: {split_by}\n")
    train, test = load_suite(str(suite), "train"), load_suite(str(suite))
    assert (len(train.tasks), len(test.tasks)) == sizes
    assert test.split == "test" and train.digest != test.digest
    suite.write_text("name: s\ntasks: {test: tasks.jsonl}\nsplit_by: paper\n")
    with pytest.raises(BadInput, match="split_by"):
        load_suite(str(suite))


def test_a_folder_of_spreadsheetbench_is_divided(shared: Path, tmp_path: Path) -> None:
    rows = shared / "data" / "dev" / "spreadsheetbench_tasks.jsonl"
    suite = tmp_path / "suite.yaml"
    suite.write_text(json.dumps({"name": "sb", "tasks": str(rows), "split_by": "stratified"}))
    parts = [load_suite(str(suite), split, trusted=True).tasks for split in SPLITS]
    assert sum(map(len, parts)) == len(rows.read_text("utf-8").splitlines())
    kinds = {str(task.meta["stratum"]) for task in parts[2]}
    assert len(kinds) > 1
