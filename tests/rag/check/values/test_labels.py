"""A label with a number names one row, whatever kind of file the table is in."""

from __future__ import annotations

import io
from importlib import import_module

import pytest

from harness.rag.check import check
from harness.rag.retrieve import parse_bytes

ROWS = [["Item", "Price in EUR"], ["Bracket 17", "64"], ["Bracket 18", "71"], ["Bracket 19", "58"]]


def table(kind: str) -> bytes:
    """The rows as a file of that kind."""
    if kind in ("csv", "tsv"):
        return "\n".join((";" if kind == "csv" else "\t").join(row) for row in ROWS).encode()
    if kind == "md":
        lines = [" | ".join(row) for row in (ROWS[0], ["---", "---"], *ROWS[1:])]
        return "\n".join(f"| {line} |" for line in lines).encode()
    if kind == "html":
        rows = "".join(f"<tr><td>{'<td>'.join(row)}</tr>" for row in ROWS)
        return f"<html><body><table>{rows}</table></body></html>".encode()
    buffer = io.BytesIO()
    if kind == "xlsx":
        book = import_module("openpyxl").Workbook()
        for name, price in ROWS:
            book.active.append([name, int(price) if price.isdigit() else price])
        book.save(buffer)
    else:
        file = import_module("docx").Document()
        cells = file.add_table(rows=4, cols=2)._cells
        for cell, text in zip(cells, [text for row in ROWS for text in row], strict=True):
            cell.text = text
        file.save(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["md", "csv", "tsv", "html", "xlsx", "docx"])
@pytest.mark.parametrize(("price", "verdict"), [(71, "PASS"), (64, "FAIL"), (58, "FAIL")])
def test_a_value_of_a_neighbour_is_no_support(kind: str, price: int, verdict: str) -> None:
    documents = parse_bytes(f"prices.{kind}", table(kind))
    assert check(f"Bracket 18 costs {price} EUR.", documents, verifier="rules").verdict == verdict
