"""The loader, on folders of every shape; and the shared rows, gold and input against gold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.core import BadInput, Task
from harness.tasks import KNOWN_BAD, compare_workbooks, load_spreadsheetbench
from tests.tasks.workbook_files import write_workbook

_ROWS = "data/dev/spreadsheetbench_tasks.jsonl"


def _dataset(folder: Path, names: dict[str, list[str]]) -> Path:
    rows = [
        {"id": name, "instruction": "do", "answer_position": "A1", "instruction_type": "Cell-Level"}
        for name in names
    ]
    folder.mkdir()
    (folder / "dataset.json").write_text(json.dumps(rows))
    for name, files in names.items():
        for file in files:
            write_workbook(folder / "spreadsheet" / name / file, {"S": [[1]]})
    return folder


def test_every_naming_scheme_is_found(tmp_path: Path) -> None:
    three = [f"{n}_59-1_{kind}.xlsx" for n in (1, 2, 3) for kind in ("input", "answer")]
    folder = _dataset(
        tmp_path / "set",
        {
            "10-2": ["1_10-2_init.xlsx", "1_10-2_golden.xlsx"],
            "13-1": ["initial.xlsx", "golden.xlsx"],
            "42930": ["1_42930_init.xlsx", "1_43930_golden.xlsx"],
            "59-1": three,
        },
    )
    tasks = {task.id: task for task in load_spreadsheetbench(folder)}
    assert list(tasks) == ["10-2", "13-1", "42930", "59-1"]
    assert all(Path(path).is_file() for task in tasks.values() for path in task.files.values())
    assert isinstance(tasks["42930"].answer, str)
    assert tasks["42930"].answer.endswith("1_43930_golden.xlsx")
    assert tasks["13-1"].meta["known_bad"] == KNOWN_BAD["13-1"]
    assert "known_bad" not in tasks["10-2"].meta
    assert list(tasks["59-1"].files) == ["input.xlsx", "input_2.xlsx", "input_3.xlsx"]
    cases, answers = tasks["59-1"].meta["cases"], tasks["59-1"].answer
    assert isinstance(cases, list)
    assert isinstance(answers, list)
    assert len(cases) == len(answers) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ('{"id": 1}', "expected a list"),
        ('[{"id": 1}]', "expected an object with id"),
        ('[{"id": 1, "instruction": "x", "answer_position": "A1"}]', "found no pair"),
    ],
)
def test_a_data_set_that_cannot_be_used_is_refused(
    tmp_path: Path, content: str, message: str
) -> None:
    (tmp_path / "dataset.json").write_text(content)
    with pytest.raises(BadInput, match=message):
        load_spreadsheetbench(tmp_path)
    with pytest.raises(BadInput, match="nothing at"):
        load_spreadsheetbench(tmp_path / "absent")


def test_shared_rows_are_tasks(shared: Path) -> None:
    tasks = load_spreadsheetbench(shared / _ROWS)
    assert len(tasks) == 214
    known = {task.id for task in tasks if "known_bad" in task.meta}
    assert known == {"283-32", "42930", "13-1", "73-45", "49300", "45944"}


def _small(tasks: list[Task], limit: int) -> list[Task]:
    return [task for task in tasks if _bytes(task) < limit]


def _bytes(task: Task) -> int:
    assert isinstance(task.answer, str)
    return Path(task.answer).stat().st_size


def _surprises(tasks: list[Task]) -> list[str]:
    found: list[str] = []
    for task in tasks:
        assert isinstance(task.answer, str)
        golden, start = Path(task.answer), Path(task.files["input.xlsx"])
        position = str(task.meta["answer_position"])
        if not compare_workbooks(golden, golden, position).equal:
            found.append(f"{task.id}: gold is not gold")
        if compare_workbooks(golden, start, position).equal:
            found.append(f"{task.id}: untouched input passes")
    return found


def test_gold_passes_and_input_fails_on_small_shared_rows(shared: Path) -> None:
    tasks = _small(load_spreadsheetbench(shared / _ROWS), 12_000)[::3]
    assert len(tasks) > 13
    assert set(_surprises(tasks)) <= {
        "13-1: untouched input passes",
        "73-45: untouched input passes",
    }


@pytest.mark.full
def test_gold_passes_and_input_fails_on_all_shared_rows(shared: Path) -> None:
    assert sorted(_surprises(load_spreadsheetbench(shared / _ROWS))) == [
        "13-1: untouched input passes",
        "73-45: untouched input passes",
    ]


def test_verdicts_are_those_of_the_official_scorer(shared: Path) -> None:
    folder = shared / "fixtures" / "trace2skill_official"
    verdicts: dict[str, bool] = {}
    for task in load_spreadsheetbench(folder / "ds"):
        assert isinstance(task.answer, str)
        output = folder / "outputs" / "spreadsheet" / task.id / f"1_{task.id}_output.xlsx"
        position = str(task.meta["answer_position"])
        verdicts[task.id] = compare_workbooks(Path(task.answer), output, position).equal
    assert verdicts == {"90-1": True, "90-2": False, "90-3": True, "90004": False}
