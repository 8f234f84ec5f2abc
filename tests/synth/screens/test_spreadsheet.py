"""A workbook in the sandbox: a task of the spreadsheet family solved by selecting and typing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openpyxl
import pytest

from examples.screens import plan_act_reflect
from examples.screens.environments import Action, Agent
from examples.screens.spreadsheet import Spreadsheet
from harness.core import BadInput, Task
from harness.sandbox import select
from harness.tasks import SpreadsheetFamily, find_soffice
from lab.worlds.models import FunctionModel
from tests.synth.cases import acts, run

ROWS = [("rope", 4.5, 10), ("tar", 2, 7), ("007", 12, 1)]
SCRIPT = [
    "Sheet (Old)",
    "Select (D2:D4)",
    "Type (=B2*C2)",
    "Type (=B2*C2)",
    "Select (D5)",
    "Type (=SUM(D2:D4))",
    "Stop",
]


def workbook(path: Path, cells: dict[str, object] | None = None) -> Path:
    """Two sheets of prices; `cells` go onto the first."""
    book = openpyxl.Workbook()
    page: Any = book.active
    page.title = "Stores"
    for row in (("item", "price", "count", "total"), *ROWS):
        page.append(row)
    book.create_sheet("Old")["A1"] = "out of date"
    for address, content in (cells or {}).items():
        page[address] = content
    book.save(path)
    return path


@pytest.fixture
def sheet(tmp_path: Path) -> Spreadsheet:
    workbook(tmp_path / "input.xlsx")
    return Spreadsheet(tmp_path, select())


def go(sheet: Spreadsheet, name: str, argument: str = "") -> str:
    sheet.act(Action(name=name, argument=argument))
    return sheet.observe()


def test_a_spreadsheet_task_is_solved(tmp_path: Path) -> None:
    workbook(tmp_path / "in.xlsx")
    workbook(tmp_path / "gold.xlsx", {"D2": 45, "D3": 14, "D4": 12, "D5": 71})
    task = Task(
        id="t", prompt="Write price times count into D2:D4, and their sum into D5.",
        files={"input.xlsx": "in.xlsx"}, answer="gold.xlsx", check="spreadsheet",
        meta={"answer_position": "'Stores'!D2:D5"},
    )  # fmt: skip
    workdir = tmp_path / "work"
    workdir.mkdir()
    family = SpreadsheetFamily(select())
    family.prepare(task, tmp_path, workdir)
    sees = FunctionModel(acts(SCRIPT, wrong="out of date", keep=("rope", "None")))
    planner = FunctionModel(lambda m, s: "done so far")  # pyright: ignore[reportUnknownLambdaType]  # a model of one line
    agent = Agent(Spreadsheet(workdir, select()), sees, planner)
    assert family.score(task, tmp_path, workdir, None).outcome == "fail"  # the untouched input
    given: Any = {"instruction": task.prompt}
    config: Any = {"recursion_limit": 100}
    end = run(plan_act_reflect.graph.ainvoke(given, config, context=agent))
    done = [SCRIPT[n] for n in (1, 2, 4, 5)]  # neither the wrong sheet nor the second typing
    assert (end["end"], end["history"]) == ("stopped", [f"do {step}" for step in done])
    decisions = [text for text in sees.prompts if "Reply with three lines" in text]
    assert "led to a wrong page, and was taken back" in decisions[1]
    assert "changed nothing" in decisions[4]
    assert family.score(task, tmp_path, workdir, None).outcome == "pass"
    if find_soffice() is not None:
        assert "D5: 71 (=SUM(D2:D4))" in end["screen"]
        assert "D3: 14 (=B3*C3)" in end["screen"]


def test_values_are_typed_as_values_and_taken_back(sheet: Spreadsheet, tmp_path: Path) -> None:
    go(sheet, "Select", "b2")
    assert "B2: 1200" in go(sheet, "Type", "1,200")
    assert "B2: 007" in go(sheet, "Type", "007")
    assert "B2:" not in go(sheet, "Type", "")
    output = tmp_path / "output.xlsx"
    assert openpyxl.load_workbook(output)["Stores"]["B2"].value is None
    assert ["B2: 007" in go(sheet, "Back"), "B2: 1200" in go(sheet, "Back")] == [True, True]
    assert openpyxl.load_workbook(output)["Stores"]["B2"].value == 1200
    assert openpyxl.load_workbook(tmp_path / "input.xlsx")["Stores"]["B2"].value == 4.5


def test_what_changes_nothing_is_no_step(sheet: Spreadsheet) -> None:
    before, state = sheet.observe(), sheet.save()
    for name, argument in (
        ("Sheet", "New"), ("Sheet", "Stores"), ("Select", "A0"), ("Select", "Old!A1"),
        ("Select", "A1"), ("Type", "item"), ("Type", "=SUM("), ("Back", ""),
    ):  # fmt: skip
        sheet.act(Action(name=name, argument=argument))
        assert sheet.save() == state, name
    assert sheet.observe() == before


def test_too_many_cells_and_merged_ones_are_left(tmp_path: Path) -> None:
    path = workbook(tmp_path / "input.xlsx")
    book = openpyxl.load_workbook(path)
    book["Stores"].merge_cells("F1:G1")
    book.save(path)
    sheet = Spreadsheet(tmp_path, select())
    sheet.act(Action(name="Select", argument="A1:ZZ999"))
    sheet.act(Action(name="Select", argument="G1"))
    sheet.act(Action(name="Type", argument="x"))
    assert sheet.save() == [["", "A1"], ["", "G1"]]


def test_only_a_window_is_shown(tmp_path: Path) -> None:
    workbook(tmp_path / "input.xlsx", {"AA500": "far away"})
    sheet = Spreadsheet(tmp_path, select())
    assert "far away" not in sheet.observe()
    screen = go(sheet, "Select", "AA500")
    assert "AA500: far away" in screen
    assert "rope" not in screen


def test_another_environment_goes_on_from_a_saved_state(tmp_path: Path, sheet: Spreadsheet) -> None:
    go(sheet, "Select", "B2")
    screen = go(sheet, "Type", "8")
    (tmp_path / "output.xlsx").unlink()
    other = Spreadsheet(tmp_path, select())
    other.restore(sheet.save())
    assert other.observe() == screen
    assert openpyxl.load_workbook(tmp_path / "output.xlsx")["Stores"]["B2"].value == 8


def test_what_is_no_workbook(tmp_path: Path) -> None:
    (tmp_path / "input.xlsx").write_bytes(b"PK nothing")
    with pytest.raises(BadInput, match=r"cannot open input\.xlsx"):
        Spreadsheet(tmp_path, select())
