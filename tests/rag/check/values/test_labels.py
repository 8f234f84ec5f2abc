"""A label with a number names one row, whatever kind of file the table is in."""

from __future__ import annotations

import io
from importlib import import_module

import pytest

from harness.rag.check import check
from harness.rag.retrieve import parse_bytes

ROWS = [
    ["Item", "Fee 2021 (EUR)", "Fee 2022 (EUR)", "Rented"],
    *([f"Bracket {n}", str(n + 23), str(n + 26), str(90 - n)] for n in range(40)),
]
"""The fee of one row is that of another row in another year."""


def table(kind: str) -> bytes:
    """The rows as a file of that kind."""
    if kind in ("csv", "tsv"):
        return "\n".join((";" if kind == "csv" else "\t").join(row) for row in ROWS).encode()
    if kind == "md":
        lines = [" | ".join(row) for row in (ROWS[0], ["---"] * 4, *ROWS[1:])]
        return "\n".join(f"| {line} |" for line in lines).encode()
    if kind == "html":
        rows = "".join(f"<tr><td>{'<td>'.join(row)}</tr>" for row in ROWS)
        return f"<html><body><table>{rows}</table></body></html>".encode()
    buffer = io.BytesIO()
    if kind == "xlsx":
        book = import_module("openpyxl").Workbook()
        for row in ROWS:
            book.active.append([int(cell) if cell.isdigit() else cell for cell in row])
        book.save(buffer)
    else:
        file = import_module("docx").Document()
        cells = file.add_table(rows=41, cols=4)._cells
        for cell, text in zip(cells, [text for row in ROWS for text in row], strict=True):
            cell.text = text
        file.save(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["md", "csv", "tsv", "html", "xlsx", "docx"])
@pytest.mark.parametrize(("fee", "verdict"), [(44, "PASS"), (42, "FAIL"), (41, "FAIL")])
def test_a_value_of_another_row_is_no_support(kind: str, fee: int, verdict: str) -> None:
    documents = parse_bytes(f"fees.{kind}", table(kind))
    answer = f"The fee of Bracket 18 in 2022 is {fee} EUR."
    assert check(answer, documents, verifier="rules").verdict == verdict


@pytest.mark.parametrize(("who", "verdict"), [("Luca Ferrari", "PASS"), ("Ada Keller", "FAIL")])
def test_rows_of_one_place_are_told_apart_by_the_column_that_repeats_nothing(
    who: str, verdict: str
) -> None:
    table = (
        "| Site | Printer | Contact |\n|---|---|---|\n| Oerlikon | Canon C5860 | Luca Ferrari |\n"
        "| Oerlikon | Canon C3930 | Ada Keller |\n| Altstetten | Canon C1127 | Ada Keller |\n"
    )
    answer = f"The contact of the Canon C5860 in Oerlikon is {who}."
    assert check(answer, table, verifier="rules").verdict == verdict
