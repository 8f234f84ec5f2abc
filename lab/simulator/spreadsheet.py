"""Scripts that the simulated agent writes for spreadsheet tasks.

The script looks at the workbook when it runs: columns are those whose header the task mentions,
rows are kept whose text cells it mentions. Planted defects change the script, never the answer.
"""

from __future__ import annotations

import re

from lab.simulator.ledger import ledger_script
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


def view_script(task: str) -> str:
    """A program that prints sheets, sizes and first rows."""
    return _VIEW.format(source=_books(task)[0])


def edit_script(task: str, defects: set[Defect], slip: bool) -> str:
    """A program that computes what the task asks for and writes it to the cell that it names."""
    source, output = _books(task)
    known = None if slip else ledger_script(task, source, output, defects)
    if known is not None:
        return known
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
        operation=_operation(task),
        write=write,
    )


def _books(task: str) -> tuple[str, str]:
    names = list(dict.fromkeys(_BOOK.findall(task)))
    output = next((name for name in names if "output" in name), "output.xlsx")
    source = next((name for name in names if name != output), "input.xlsx")
    return source, output


def _target(task: str) -> tuple[str, str]:
    """Sheet and cell that the task names; the last cell reference counts."""
    found = [match for match in _CELL.finditer(task) if not match["cell"].startswith("Q")]
    if not found:
        return "", "A1"
    last = found[-1]
    sheet = last["quoted"] or last["plain"] or _named_sheet(task)
    return sheet.strip(), last["cell"]


def _named_sheet(task: str) -> str:
    found = re.search(
        r"(?:sheet|worksheet|tab)\s+(?:named |called )?['\"“]?([\w-]+)['\"”]?"
        r"|['\"“]([\w -]+)['\"”]\s+(?:sheet|worksheet|tab)",
        task,
        re.IGNORECASE,
    )
    return (found[1] or found[2] or "") if found else ""


def _operation(task: str) -> str:
    asked = task.lower()
    return next(name for name, pattern in _OPERATIONS if re.search(pattern, asked))
