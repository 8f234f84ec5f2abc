"""Recorded analyst records: joined, repaired, counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.core import BadInput
from harness.evolve.analysts.records import to_patch
from harness.evolve.formats.records import read_recorded
from harness.evolve.types import AnalystRecord, MemoryItem
from tests.evolve.conftest import record_row, write_rows

LESSON = ("Check", "Reload the saved workbook and look at it.")
TASKS = {"a": ("a-run", "fail"), "b": ("b-run", "fail")}


def test_records_join_by_task_and_keep_the_trajectory_id(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "p.jsonl", [record_row("a", [LESSON]), record_row("z", [LESSON])])
    found = read_recorded(path, TASKS)
    assert [(r.trajectory_id, r.task_id) for r in found.records] == [("a-run", "a")]
    assert found.unmatched == (("z", "no trajectory with this task id"),)
    assert len(read_recorded(path, TASKS, keep_unmatched=True).records) == 2


def test_analyses_of_another_run_are_left_out_and_listed(tmp_path: Path) -> None:
    rows = [
        record_row("a", [LESSON]),
        record_row("b", [LESSON]),
        record_row("a", [LESSON], _run="r2"),
    ]
    found = read_recorded(write_rows(tmp_path / "p.jsonl", rows), TASKS)
    assert [r.task_id for r in found.records] == ["a", "b"]
    assert found.unmatched[0][0] == "a" and "'r2'" in found.unmatched[0][1]


def test_every_record_is_read_once_and_items_are_cut_at_three(tmp_path: Path) -> None:
    """Official defect 6: every success record was parsed twice."""
    lessons = [("T", f"Lesson number {n} of this record.") for n in range(5)]
    found = read_recorded(write_rows(tmp_path / "p.jsonl", [record_row("a", lessons)]), TASKS)
    assert (len(found.records), len(found.records[0].items), found.trimmed) == (1, 3, 1)


def test_an_unparsable_reply_is_repaired_or_listed(tmp_path: Path) -> None:
    reply = json.dumps({"analyst_type": "error", "memory_items": [
        {"title": "T", "lesson": "Look twice.", "generalization": ""}]})  # fmt: skip
    rows = [
        record_row("b", [LESSON]),
        {"id": "a", "_task_id": "a", "_run": "r1", "error": "x", "raw_response": reply + ",}"},
        {"id": "b", "_task_id": "b", "_run": "r1", "error": "x", "raw_response": "I refuse."},
    ]
    found = read_recorded(write_rows(tmp_path / "p.jsonl", rows), TASKS)
    assert [r.task_id for r in found.records] == ["b"]
    assert len(found.losses) == 2 and "unparsable" in found.losses[0].reason
    rows[1]["raw_response"] = reply.replace("twice.", "twice\\(.")
    found = read_recorded(write_rows(tmp_path / "p.jsonl", rows), TASKS)
    assert found.repaired == ("a",)
    assert [loss.trajectory_id for loss in found.losses] == ["b-run"]


def test_a_file_of_something_else_is_bad_input(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "p.jsonl", [{"x": 1}])
    with pytest.raises(BadInput, match="no row is an analyst record"):
        read_recorded(path, TASKS)


def test_a_record_becomes_one_patch_with_its_only_source() -> None:
    record = AnalystRecord(
        kind="success", trajectory_id="r", task_id="t", items=(MemoryItem(title="A", lesson="B."),)
    )
    patch = to_patch(record, 7)
    assert patch.batch_index == 7
    assert [(e.sources, e.support, e.content) for e in patch.edits] == [(("r",), 1, "- **A**: B.")]
