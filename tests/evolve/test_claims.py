"""Claims about what code does are found in lessons and judged by running."""

from __future__ import annotations

import ast
import asyncio
import json
import string
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core import Edit, Patch
from harness.evolve import EvolveOptions, evolve
from harness.evolve.merge.claims import check, claims_of, sift
from harness.evolve.merge.lessons import Lesson
from harness.evolve.rules import ClaimCheck
from harness.evolve.types import Sifted
from harness.sandbox import Limits, Result, SandboxUnavailable, select
from tests.evolve.conftest import record_row, trajectory, write_rows, write_trajectories

READ_BACK = "After writing formulas, read back the .value property to confirm they evaluated."


def execute(
    command: Sequence[str], *, workdir: Path, files: Mapping[str, bytes] | None = None
) -> Result:
    return select().exec(command, workdir=workdir, files=files, limits=Limits(wall_s=60))


def lesson(text: str, code: str = "") -> Lesson:
    return Lesson(title="", text=text, code=code, sources=("a",))


def judged(*texts: str) -> list[set[str]]:
    """strs of the claims of each text."""
    checked = check([lesson(text) for text in texts], execute)
    assert checked.note == ""
    verdicts: list[set[str]] = [set() for _ in texts]
    for result in checked.results:
        verdicts[result.lesson].add(result.verdict)
    return verdicts


TRUE = [
    "Remember that openpyxl stores formulas as strings but does not compute them.",
    "Formulas that are set by openpyxl are stored as plain text until Excel opens the file.",
    "Openpyxl's `cell()` method uses `column=` not `col=`.",
    "Row dimensions are accessed via `ws.row_dimensions[row]`.",
    "Delete rows in descending order, because rows below shift up.",
    "Cells of a merged range restrict writing to the top-left cell only.",
    "Excel rows are 1-based.",
    "A missing sheet raises KeyError.",
    "Run `os.makedirs(folder, exist_ok=True)` before calling `wb.save()`.",
    "`iter_rows(min_row=2)` skips the header row.",
    "openpyxl cells do not have an `.address` attribute, which does not exist.",
    "Never assign None to the fill of a cell.",
    "openpyxl does not auto-adjust references when a formula is written elsewhere.",
    "Call `ws.cell(row=int, column=int)` where a formula has IF(source=1).",
    "Parse dates with `datetime.strptime()` and replace with `string.replace()`.",
    "Write tables with `pandas.to_excel()`.",
    "Do not rely on `ws.max_row`, which counts empty formatted rows.",
]
FALSE = [
    READ_BACK,
    "Array formulas written via openpyxl are stored as text strings only.",
    "Read the cell back to confirm the formula was stored (not evaluated prematurely).",
    "Verify that formula cells produce expected values after writing, not just their text.",
    "Verify that formula cells display computed values, not unevaluated formula strings.",
    "Use load_workbook with data_only=True to evaluate formulas after writing them.",
    "`iter_rows` skips the header row.",
    "ws.max_row returns the last row with data.",
    "Always determine data ranges programmatically using max_row and max_column.",
    "When copying a formula, references are adjusted automatically.",
    "Check `hasattr(cell, 'formula')` before a cell is overwritten.",
    "Call ws.cell(row=1, col=2) to reach a cell.",
    "Use openpyxl's array_formula attribute.",
    "A missing sheet raises ValueError.",
    "Writing formulas to new cells produces static text, not executable formulas.",
    'Avoid escapes that may be preserved in the formula (e.g., `\\"` will appear in Excel).',
    'Escaped quotes such as \\" will appear literally in Excel.',
    "Look whether a cell holds a formula by using the `.formula` attribute.",
    "Look for the sheet in wb.sheetnames before accessing it to prevent AttributeError.",
    "Load tables with `openpyxl.load_from_dataframe()`.",
    "Set the width with `ws.set_column_width(1, 20)`.",
]


@pytest.fixture(scope="module")
def verdicts() -> dict[str, set[str]]:
    texts = [*TRUE, *FALSE]
    return dict(zip(texts, judged(*texts), strict=True))


@pytest.mark.parametrize("text", TRUE)
def test_a_true_claim_holds(text: str, verdicts: dict[str, set[str]]) -> None:
    assert verdicts[text] == {"holds"}


@pytest.mark.parametrize("text", FALSE)
def test_a_false_claim_is_refuted(text: str, verdicts: dict[str, set[str]]) -> None:
    assert "refuted" in verdicts[text]


@pytest.mark.parametrize(
    "text",
    [
        "Avoid `ws.get_highest_row()`.",
        "Print `book.title` and `cell.charge` of the answer.",
        "With xlsxwriter, call `worksheet.write(0, 0, text)` and `sheet.autofit()`.",
        "Prefer workbooks over pandas.DataFrames here.",
        "Before names such as Cell.address are used, confirm they exist.",
        "Do not assume that iter_rows skips the header.",
        "Let Excel recalculate the formulas and check the computed values there.",
        "Sort the rows by date before the report is written.",
        "If the sheet does not exist, report the mismatch.",
    ],
)
def test_advice_and_doubt_are_no_claims(text: str) -> None:
    assert [claim for claim in claims_of(lesson(text)) if claim.kind != "code"] == []


@given(st.text(alphabet=string.printable, max_size=120), st.sampled_from([*TRUE, *FALSE]))
def test_any_text_has_claims_whose_programs_parse(text: str, sentence: str) -> None:
    for claim in claims_of(lesson(f"{sentence[: len(text)]}{text} openpyxl {sentence}")):
        if claim.kind != "code":
            ast.parse(claim.program)


def test_a_refutation_shows_what_the_program_printed_and_with_which_versions() -> None:
    checked = check([lesson("Look first."), lesson(READ_BACK)], execute)
    assert list(checked.refuted()) == [1]
    result = checked.refuted()[1]
    assert "=1+1" in result.printed and "None" in result.printed
    assert "load_workbook" in result.claim.program
    assert checked.packages["openpyxl"] and checked.packages["python"]


def test_fenced_code_of_a_rule_is_run() -> None:
    good = lesson("Name the sheet.", "```python\nws.title = 'Data'\nprint(ws.title)\n```")
    wrong = lesson("Name the sheet.", "```python\nws.rename('Data')\n```")
    broken = lesson("Name the sheet.", "```python\nws.title = = 'Data'\n```")
    needs_data = lesson("Name the sheet.", "```python\nother_sheet.title = 'Data'\n```")
    checked = check([good, wrong, broken, needs_data], execute)
    assert [(result.lesson, result.verdict) for result in checked.results] == [
        (0, "holds"), (1, "refuted"), (2, "refuted"),
    ]  # fmt: skip


def test_code_about_other_things_is_not_run() -> None:
    other = lesson("Call `book.title()` once.", "```python\ncell.divide(2)\n```")
    assert claims_of(other) == []


def test_the_program_of_an_analyst_judges_its_lesson() -> None:
    texts = ["Sorting is stable.", "Sorting is random.", "Sorting needs a library."]
    programs = {
        texts[0]: "assert sorted([(1, 'b'), (1, 'a')], key=lambda pair: pair[0])[0] == (1, 'b')",
        texts[1]: "first = sorted([2, 1])\nprint(first)\nassert first != sorted([2, 1])",
        texts[2]: "import no_such_library",
    }
    checked = check([lesson(text) for text in texts], execute, programs)
    assert [result.verdict for result in checked.results] == ["holds", "refuted", "not judged"]
    assert "[1, 2]" in checked.results[1].printed


def test_a_program_neither_ends_the_others_nor_runs_for_ever() -> None:
    programs = {"Wait.": "while True: pass", "Leave.": "import os; os._exit(3)", "Add.": "1 + 1"}
    checked = check([lesson(text) for text in programs], execute, programs)
    assert [result.verdict for result in checked.results] == ["not judged", "not judged", "holds"]


def test_without_a_sandbox_the_check_says_that_it_was_not_made() -> None:
    def unavailable(
        command: Sequence[str], *, workdir: Path, files: Mapping[str, bytes] | None = None
    ) -> Result:
        raise SandboxUnavailable("sandbox: none stops every attack.")

    for checked in (check([lesson(READ_BACK)], None), check([lesson(READ_BACK)], unavailable)):
        assert checked.results == () and "not run" in checked.note
    assert check([lesson("Look first.")], None) == ClaimCheck()


def test_claims_that_could_not_be_judged_are_not_told_of_as_if_they_held() -> None:
    def ended(
        command: Sequence[str], *, workdir: Path, files: Mapping[str, bytes] | None = None
    ) -> Result:
        return Result(exit_code=None, stdout="", stderr="", seconds=9, backend="test")

    checked = check([lesson(READ_BACK)], ended)
    assert checked.note == "1 of 1 claims were not judged: a limit ended it"
    assert str(Sifted(checked=checked)) == (
        "1 claims run, 0 lessons left out (discarded.json); "
        "1 of 1 claims were not judged: a limit ended it"
    )
    assert str(Sifted(checked=check([lesson(READ_BACK)], None))).startswith("1 claims were not run")
    assert str(Sifted()) == "0 claims run, 0 lessons left out (discarded.json)"


def test_a_refuted_lesson_teaches_nothing_and_is_listed_with_its_program(tmp_path: Path) -> None:
    """It neither words a rule nor supports one that says what is true."""
    true = "Remember that openpyxl stores formulas as strings but does not compute them."
    runs = write_trajectories(tmp_path / "runs", [trajectory(name, "fail", "x") for name in "abc"])
    rows = [
        record_row("a", [("Read back", READ_BACK)]),
        record_row("b", [("Read back", READ_BACK)]),
    ]
    rows.append(record_row("c", [("Formulas", true)]))
    patches = write_rows(tmp_path / "records.jsonl", rows)
    options = EvolveOptions(
        out=tmp_path / "out", create="sheets", trajectories=runs, patches=patches, min_support=1
    )
    result = asyncio.run(evolve(options, execute=execute))
    skill = Path(result.skill, "SKILL.md").read_text("utf-8")
    assert "does not compute them" in skill and "to confirm they evaluated" not in skill
    discarded = json.loads((options.out / "discarded.json").read_text("utf-8"))
    assert [row["sources"] for row in discarded] == [["a"], ["b"]]
    assert "load_workbook" in discarded[0]["claim"]["claim"]["program"]
    assert (
        "=1+1" in discarded[0]["claim"]["printed"] and "running refutes" in discarded[0]["reason"]
    )
    claims = json.loads((options.out / "claims.json").read_text("utf-8"))
    assert {row["verdict"] for row in claims["results"]} == {"refuted", "holds"}
    assert claims["packages"]["openpyxl"]


def test_an_evolution_without_a_sandbox_says_that_no_claim_was_run(tmp_path: Path) -> None:
    runs = write_trajectories(tmp_path / "runs", [trajectory("a", "fail", "x")])
    patches = write_rows(tmp_path / "records.jsonl", [record_row("a", [("Read", READ_BACK)])])
    options = EvolveOptions(
        out=tmp_path / "out", create="sheets", trajectories=runs, patches=patches, min_support=1
    )
    result = asyncio.run(evolve(options))
    assert any("claims were not run" in problem for problem in result.problems)
    assert "to confirm they evaluated" in Path(result.skill, "SKILL.md").read_text("utf-8")


def test_an_edit_keeps_the_lessons_that_hold() -> None:
    content = f"- {READ_BACK}\n- Name every sheet before it is filled."
    edit = Edit(file="SKILL.md", op="append_to_section", content=content, sources=("a",))
    (patch,), sifted = sift([Patch(reasoning="", edits=(edit,))], execute)
    assert [each.content for each in patch.edits] == ["- Name every sheet before it is filled."]
    assert [row.content for row in sifted.discarded] == [READ_BACK]


def test_what_running_shows_of_behaviour_confirms_a_lesson_and_a_name_does_not() -> None:
    true = "Remember that openpyxl stores formulas as strings but does not compute them."
    names = "Read `ws.max_row` before you loop."
    edit = Edit(
        file="SKILL.md",
        op="append_to_section",
        content=f"- {true}\n- {names}\n- {READ_BACK}",
        sources=("a",),
    )
    _, sifted = sift([Patch(reasoning="", edits=(edit,))], execute)
    assert len(sifted.discarded) == 1
    assert sifted.confirmed == {true}
