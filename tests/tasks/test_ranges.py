"""Answer positions as they occur in SpreadsheetBench, and any that is well formed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.utils import get_column_letter

from harness.core import BadInput
from harness.tasks import parse_answer_position
from harness.tasks.ranges import MAX_COLUMN, MAX_ROW, cell_name


def _read(text: str) -> list[tuple[str | None, int, int | None, int, int | None]]:
    return [
        (one.sheet, one.min_row, one.max_row, one.min_column, one.max_column)
        for one in parse_answer_position(text)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B2", [(None, 2, 2, 2, 2)]),
        ("'Sheet1'!A1:B2", [("Sheet1", 1, 2, 1, 2)]),
        ("Result'!G10:L10", [("Result", 10, 10, 7, 12)]),
        ("'Sheet1'!'A2:A85", [("Sheet1", 2, 85, 1, 1)]),
        ("\xa0'Sheet1'!C2:C3", [("Sheet1", 2, 3, 3, 3)]),
        ("G4:G6, G11:G13", [(None, 4, 6, 7, 7), (None, 11, 13, 7, 7)]),
        ("D1,D5", [(None, 1, 1, 4, 4), (None, 5, 5, 4, 4)]),
        ("Sheet3'!A:G,'Sheet4'!A:G", [("Sheet3", 1, None, 1, 7), ("Sheet4", 1, None, 1, 7)]),
        ("'Sheet1!'A1:A50,'Sheet2!'A1:E20'", [("Sheet1", 1, 50, 1, 1), ("Sheet2", 1, 20, 1, 5)]),
        ("'a, b'!C1,'A1,B2'!D4", [("a, b", 1, 1, 3, 3), ("A1,B2", 4, 4, 4, 4)]),
        ("a,b!C1", [("a,b", 1, 1, 3, 3)]),
        ("A1,b!C1", [(None, 1, 1, 1, 1), ("b", 1, 1, 3, 3)]),
        ("Sheet1!$B$2:$B$6", [("Sheet1", 2, 6, 2, 2)]),
        ("3:4", [(None, 3, 4, 1, None)]),
        ("B5:A1", [(None, 1, 5, 1, 2)]),
    ],
)
def test_what_occurs_is_read(
    text: str, expected: list[tuple[str | None, int, int | None, int, int | None]]
) -> None:
    assert _read(text) == expected


def test_second_corner_without_column_is_empty_as_officially() -> None:
    (area,) = parse_answer_position("'Sheet1'!BD2:308")
    assert area.size(1000, 1000) == 0
    assert not area.holds(2, 56)


@pytest.mark.parametrize(
    "text", ["", "  ", "Sheet1", "'Sheet1'!", "A0", "A1:B9999999", "XYZ1", "A1;B2"]
)
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="expected cell"):
        parse_answer_position(text)


def test_open_ends_stop_at_what_is_in_use() -> None:
    (columns,) = parse_answer_position("A:G")
    assert columns.size(10, 3) == 70
    (rows,) = parse_answer_position("3:4")
    assert rows.size(10, 3) == 6


_names = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters='[]:*?/\\"\xa0'),
    min_size=1,
    max_size=31,
).filter(lambda name: name == name.strip().strip("'") and name != "")
_rows = st.integers(1, MAX_ROW)
_columns = st.integers(1, MAX_COLUMN)


@given(st.lists(st.tuples(_names, _rows, _rows, _columns, _columns), min_size=1, max_size=4))
def test_quoted_positions_are_read_back(
    parts: list[tuple[str, int, int, int, int]],
) -> None:
    text = ",".join(
        f"'{name.replace(chr(39), chr(39) * 2)}'!{cell_name(top, left)}:{cell_name(bottom, right)}"
        for name, top, bottom, left, right in parts
    )
    assert _read(text) == [
        (name, min(top, bottom), max(top, bottom), min(left, right), max(left, right))
        for name, top, bottom, left, right in parts
    ]


@given(st.text(alphabet="A1B2:!', $9\xa0x", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        areas = parse_answer_position(text)
    except BadInput:
        return
    assert all(1 <= area.min_row <= MAX_ROW for area in areas)


@given(_rows, _columns)
def test_cell_names_are_those_of_openpyxl(row: int, column: int) -> None:
    assert cell_name(row, column) == f"{get_column_letter(column)}{row}"
