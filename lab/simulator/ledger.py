"""Programs for the kinds of task that the ledger corpus asks for, recognised by their wording.

Each is the plain reading of the instruction, written without sight of any golden workbook; kinds
that are not listed here are left to the generic program of :mod:`spreadsheet`.
"""

from __future__ import annotations

import re

from lab.simulator.profile import Defect

_PRELUDE = """\
import re
import openpyxl

def find(sheet, name):
    for row in sheet.iter_rows():
        for cell in row:
            if str(cell.value or "").strip().lower() == name.lower():
                return cell.row, cell.column

def number(value):
    if isinstance(value, (int, float)):
        return value
    text = str(value or "").strip()
    if text.startswith("="):
        return eval(re.sub(r"[^0-9.+*/()-]", "", text))
    digits = re.sub(r"[^0-9.()-]", "", text)
    return -float(digits.strip("()")) if digits.startswith("(") else float(digits or 0)

book = openpyxl.load_workbook({source!r})
{target}
sheet = target
"""
_NUMBERS = """\
head, column = find(sheet, {column!r})
for row in range(head + 1, sheet.max_row{end}):
    cell = sheet.cell(row, column)
    if cell.value is not None:
        cell.value = number(cell.value)
"""
_SPLIT = """\
head, column = find(sheet, {column!r})
first, last = find(sheet, "First name")[1], find(sheet, "Last name")[1]
for row in range(head + 1, sheet.max_row{end}):
    value = sheet.cell(row, column).value
    if value:
        family, _, given = str(value).partition(",")
        sheet.cell(row, first).value = given.strip()
        sheet.cell(row, last).value = family.strip()
"""
_UNMERGE = """\
head, column = find(sheet, {column!r})
for area in list(sheet.merged_cells.ranges):
    if area.min_col <= column <= area.max_col and area.min_row > head:
        sheet.unmerge_cells(str(area))
current = None
for row in range(head + 1, sheet.max_row{end}):
    cell = sheet.cell(row, column)
    current = cell.value or current
    if any(other.value is not None for other in sheet[row]):
        cell.value = current
"""
_LOOKUP = """\
prices = {{}}
other = book[{other!r}]
top, code = find(other, "Code") or find(other, "Product code")
price = find(other, {column!r}) or find(other, "Price")
for row in range(top + 1, other.max_row{end}):
    key = str(other.cell(row, code).value or "").strip().lower()
    prices[key] = other.cell(row, price[1]).value
head, column = find(sheet, {column!r})
asked = (find(sheet, "Code") or find(sheet, "Product code") or find(sheet, "Product"))[1]
for row in range(head + 1, sheet.max_row{end}):
    key = sheet.cell(row, asked).value
    if key is not None:
        sheet.cell(row, column).value = prices.get(str(key).strip().lower(), "unknown")
"""
_DEDUPLICATE = """\
head, column = find(sheet, "E-mail") or find(sheet, "Email")
left = min(cell.column for cell in sheet[head] if cell.value is not None)
right = max(cell.column for cell in sheet[head] if cell.value is not None)
result = book.create_sheet({new!r})
seen = set()
for row in range(head, sheet.max_row{end}):
    key = str(sheet.cell(row, column).value or "").strip().lower()
    if key and key not in seen:
        seen.add(key)
        result.append([sheet.cell(row, at).value for at in range(left, right + 1)])
"""
_AGGREGATE = """\
head, column = find(sheet, "Region")
amount = find(sheet, "Amount")[1]
totals = {{}}
for row in range(head + 1, sheet.max_row{end}):
    region = str(sheet.cell(row, column).value or "").strip()
    if region:
        totals[region] = totals.get(region, 0) + number(sheet.cell(row, amount).value)
result = book.create_sheet({new!r})
result.append(["Region", "Total"])
for region in sorted(totals):
    result.append([region, round(totals[region], 2)])
result.append(["Total", round(sum(totals.values()), 2)])
"""
_STALE = """\
result.cell(result.max_row, 2).value = "=SUM(B2:B%d)" % (result.max_row - 1)
"""
_KINDS = (
    (r"Every cell of the column must end up a number", _NUMBERS),
    (r"columns 'First name' and 'Last name'", _SPLIT),
    (r"\bUnmerge the column", _UNMERGE),
    (r"price that the sheet .* gives for", _LOOKUP),
    (r"first row of every e-mail address", _DEDUPLICATE),
    (r"one row for each region", _AGGREGATE),
)


def ledger_script(task: str, source: str, output: str, defects: set[Defect]) -> str | None:
    """The program for a task of the ledger corpus; None if its kind is not among those known."""
    body = next((body for wording, body in _KINDS if re.search(wording, task)), None)
    if body is None:
        return None
    fresh = _name(r"new sheet '([^']+)'", task)
    sheets: list[str] = [name for name in re.findall(r"sheet '([^']+)'", task) if name != fresh]
    if not sheets:
        return None
    active = "wrong_sheet" in defects
    target = "target = book.active" if active else f"target = book[{sheets[0]!r}]"
    if "stale_values" in defects and body is _AGGREGATE:
        body += _STALE
    return (_PRELUDE + body + "book.save({output!r})\nprint('saved')").format(
        source=source,
        output=output,
        target=target,
        column=_name(r"[Cc]olumn '([^']+)'", task),
        other=sheets[-1],
        new=fresh,
        end="" if "first_row" in defects else " + 1",
    )


def _name(pattern: str, task: str) -> str:
    found = re.search(pattern, task)
    return found[1] if found else ""
