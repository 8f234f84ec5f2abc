"""Comparing workbooks, sound ones and hostile ones."""

from __future__ import annotations

import os
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from openpyxl import Workbook
from openpyxl.utils import get_column_letter

from harness.core import WORK_FILE_BYTES, BadInput
from harness.tasks import compare_workbooks
from tests.tasks.workbook_files import write_workbook

_ROWS: list[list[str | int | float | bool | None]] = [["n", "v"], ["a", 1], ["b", 2.5]]


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return write_workbook(tmp_path / "gold.xlsx", {"First": _ROWS, "Second": [[7]]})


def test_a_workbook_equals_itself(gold: Path) -> None:
    found = compare_workbooks(gold, gold, "A1:B3,'Second'!A1", None)
    assert found.equal
    assert found.compared_cells == 7
    assert found.message == ""


def test_differences_are_listed_with_both_values(gold: Path, tmp_path: Path) -> None:
    other = write_workbook(tmp_path / "o.xlsx", {"First": [["n", "v"], ["a", 1], ["b", "x", 9]]})
    found = compare_workbooks(gold, other, "'First'!A1:B3", "First")
    assert not found.equal
    assert [one.model_dump() for one in found.differences] == [
        {"cell": "'First'!B3", "expected": 2.5, "got": "x"}
    ]
    assert found.message == "1 of 6 cells differ, first 'First'!B3"


def test_only_twenty_differences_are_kept_and_all_are_counted(tmp_path: Path) -> None:
    left = write_workbook(tmp_path / "l.xlsx", {"S": [[n] for n in range(50)]})
    right = write_workbook(tmp_path / "r.xlsx", {"S": [[n + 1] for n in range(60)]})
    found = compare_workbooks(left, right, "A:A", None)
    assert (len(found.differences), found.different_cells, found.compared_cells) == (20, 60, 60)


def test_a_range_without_sheet_is_the_first_one_and_it_is_said(gold: Path, tmp_path: Path) -> None:
    other = write_workbook(tmp_path / "o.xlsx", {"First": _ROWS, "Second": [[8]]})
    found = compare_workbooks(gold, other, "A1:B3", "Second")
    assert found.equal
    assert "'First'" in found.message
    assert "'Second'" in found.message


def test_a_missing_sheet_is_a_fail_of_the_output_and_a_fault_of_the_gold(
    gold: Path, tmp_path: Path
) -> None:
    other = write_workbook(tmp_path / "o.xlsx", {"Other": _ROWS})
    assert "no sheet 'First'" in compare_workbooks(gold, other, "A1", None).message
    with pytest.raises(BadInput, match=r"'Nowhere'.*does not have"):
        compare_workbooks(gold, gold, "'Nowhere'!A1", None)


def test_cells_hidden_under_a_merge_do_not_count(tmp_path: Path) -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["title", "hidden"])
    path = tmp_path / "plain.xlsx"
    book.save(path)
    merged = tmp_path / "merged.xlsx"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(merged, "w") as target:
        for member in source.infolist():
            data = source.read(member)
            if member.filename.endswith("sheet1.xml"):
                mark = b'</sheetData><mergeCells count="1"><mergeCell ref="A1:B1"/></mergeCells>'
                assert b"</sheetData>" in data
                data = data.replace(b"</sheetData>", mark)
            target.writestr(member.filename, data)
    empty = write_workbook(tmp_path / "empty.xlsx", {"Sheet": [["title"]]})
    assert compare_workbooks(merged, empty, "A1:B1", None).equal
    assert not compare_workbooks(path, empty, "A1:B1", None).equal


def _text(path: Path) -> None:
    path.write_text("not a workbook")


def _encrypted(path: Path) -> None:
    path.write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600)


def _too_large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(WORK_FILE_BYTES + 1)


def _cut_short(path: Path) -> None:
    write_workbook(path, {"S": [[1]]})
    path.write_bytes(path.read_bytes()[:-200])


def _damaged_sheet(path: Path) -> None:
    _repacked(path, b"<worksheet><sheetData><row")


def _bomb(path: Path) -> None:
    _repacked(path, b" " * 300_000_000)


def _many_cells(path: Path) -> None:
    _repacked(path, b"<worksheet><sheetData><row>" + b"<c/>" * 15_000_000)


def _absent(path: Path) -> None:
    assert not path.exists()


def _repacked(path: Path, sheet: bytes) -> None:
    whole = write_workbook(path.with_suffix(".tmp"), {"S": [[1]]})
    with (
        zipfile.ZipFile(whole) as source,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target,
    ):
        for name in source.namelist():
            target.writestr(name, sheet if name.endswith("sheet1.xml") else source.read(name))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_text, "no readable .xlsx"),
        (_encrypted, "password"),
        (_too_large, "more than 50000000"),
        (_cut_short, "no readable .xlsx"),
        (_damaged_sheet, "no readable .xlsx"),
        (_bomb, "unpacks to"),
        (_many_cells, "cells"),
        (_absent, "there is no file"),
    ],
    ids=["text", "encrypted", "large", "cut", "damaged", "bomb", "cells", "missing"],
)
def test_unreadable_output_is_unequal_and_unreadable_gold_is_refused(
    gold: Path, tmp_path: Path, spoil: Callable[[Path], None], reason: str
) -> None:
    bad = tmp_path / "bad.xlsx"
    spoil(bad)
    tracemalloc.start()
    found = compare_workbooks(gold, bad, "A1", None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not found.equal
    assert reason in found.message
    assert peak < 50_000_000
    assert not _held_open(bad)
    with pytest.raises(BadInput, match="golden workbook"):
        compare_workbooks(bad, gold, "A1", None)


def _held_open(path: Path) -> bool:
    """Return True if this process holds a file open (Linux; elsewhere it is not seen)."""
    descriptors = Path("/proc/self/fd")
    if not descriptors.is_dir():
        return False
    return any(os.path.realpath(one) == str(path) for one in descriptors.iterdir())


def test_far_cells_cost_no_padding(tmp_path: Path) -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in range(1, 3000):
        sheet[f"{get_column_letter(16_384)}{row * 300}"] = row
    path = tmp_path / "far.xlsx"
    book.save(path)
    found = compare_workbooks(path, path, "A1:XFD1048576", None)
    assert found.equal
    assert found.compared_cells == 16_384 * 1_048_576
