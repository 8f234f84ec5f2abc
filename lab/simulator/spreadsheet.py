"""Scripts that the simulated agent writes for spreadsheet tasks.

For the kinds of task that the ledger corpus asks for, recognised by their wording, it is the plain
reading of the instruction, written without sight of any golden workbook.

The script looks at the workbook when it runs: columns are those whose header the task mentions,
rows are kept whose text cells it mentions. Planted defects change the script, never the answer.
"""

from __future__ import annotations

import re

from lab.simulator.profile import Defect

_BOOK = re.compile(r"[\w./-]+\.xlsx\b")
_CELL = re.compile(
    r"(?:'(?P<quoted>[^'!]+)'!|(?P<plain>[\w-]+)!)?\b(?P<cell>[A-Z]{1,2}[1-9]\d{0,4})\b"
)
_OPERATIONS = (
    ("average", r"\b(average|mean)\b"),
    ("count", r"\b(count|how many|number of)\b"),
    ("max", r"\b(max|maximum|largest|highest)\b"),
    ("min", r"\b(min|minimum|smallest|lowest)\b"),
    ("sum", r""),
)

_VIEW = """\
import openpyxl
book = openpyxl.load_workbook({source!r})
for sheet in book:
    print(sheet.title, sheet.dimensions)
    for row in sheet.iter_rows(max_row=5, values_only=True):
        print(row)"""

_EDIT = """\
import openpyxl
task = {task!r}.lower()
book = openpyxl.load_workbook({source!r})
{target}
sheet = book[book.sheetnames[0]]
for candidate in book:
    if candidate.title.lower() in task and candidate.max_row > 2:
        sheet = candidate
        break
headers = [str(cell.value or "").strip().lower() for cell in sheet[1]]
rows = []
for number in range(2, sheet.max_row{end}):
    rows.append([cell.value for cell in sheet[number]])
wanted = {{}}
for row in rows:
    for column, value in enumerate(row):
        if isinstance(value, str) and len(value) > 1 and value.strip().lower() in task:
            wanted.setdefault(column, set()).add(value)
kept = [row for row in rows if all(row[column] in values for column, values in wanted.items())]
numeric = [column for column in range(len(headers))
           if any(isinstance(row[column], (int, float)) for row in rows)]
named = [column for column in numeric if headers[column] and headers[column] in task]
column = (named or numeric or [0])[0]
values = [row[column] for row in kept if isinstance(row[column], (int, float))]
operation = {operation!r}
if operation == "count":
    result = len(kept)
elif not values:
    result = 0
elif operation == "average":
    result = sum(values) / len(values)
else:
    result = {{"sum": sum, "max": max, "min": min}}[operation](values)
{write}
book.save({output!r})
print("saved", result)"""
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


def view_script(task: str) -> str:
    """A program that prints sheets, sizes and first rows."""
    return _VIEW.format(source=_books(task)[0])


def edit_script(task: str, defects: set[Defect], slip: bool) -> str:
    """A program that computes what the task asks for and writes it to the cell that it names."""
    source, output = _books(task)
    program = None if slip else ledger_script(task, source, output, defects)
    if program is not None:
        return program
    sheet, cell = _target(task)
    by_name = f"target = book[{sheet!r}] if {sheet!r} in book.sheetnames else book.active"
    active = not sheet or "wrong_sheet" in defects
    write = f"target[{cell!r}] = result{' + 1' if slip else ''}"
    if "stale_values" in defects:
        write = f'target[{cell!r}] = f"=SUM({{result}})"'
    return _EDIT.format(
        task=task,
        source=source,
        output=output,
        target="target = book.active" if active else by_name,
        end="" if "first_row" in defects else " + 1",
        operation=next(name for name, words in _OPERATIONS if re.search(words, task.lower())),
        write=write,
    )


def _books(task: str) -> tuple[str, str]:
    names = list(dict.fromkeys(_BOOK.findall(task)))
    output = next((name for name in names if "output" in name), "output.xlsx")
    source = next((name for name in names if name != output), "input.xlsx")
    return source, output


def _target(task: str) -> tuple[str, str]:
    """Sheet and cell that the task names; the last cell reference counts."""
    cells = [match for match in _CELL.finditer(task) if not match["cell"].startswith("Q")]
    if not cells:
        return "", "A1"
    last = cells[-1]
    sheet = last["quoted"] or last["plain"] or _named_sheet(task)
    return sheet.strip(), last["cell"]


def _named_sheet(task: str) -> str:
    match = re.search(
        r"(?:sheet|worksheet|tab)\s+(?:named |called )?['\"“]?([\w-]+)['\"”]?"
        r"|['\"“]([\w -]+)['\"”]\s+(?:sheet|worksheet|tab)",
        task,
        re.IGNORECASE,
    )
    return (match[1] or match[2] or "") if match else ""


def ledger_script(task: str, source: str, output: str, defects: set[Defect]) -> str | None:
    """The program for a task of the ledger corpus; None if its kind is not among those known."""
    body = next((body for wording, body in _KINDS if re.search(wording, task)), None)
    if body is None:
        return None

    def name(pattern: str) -> str:
        match = re.search(pattern, task)
        return match[1] if match else ""

    fresh = name(r"new sheet '([^']+)'")
    sheets: list[str] = [title for title in re.findall(r"sheet '([^']+)'", task) if title != fresh]
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
        column=name(r"[Cc]olumn '([^']+)'"),
        other=sheets[-1],
        new=fresh,
        end="" if "first_row" in defects else " + 1",
    )
