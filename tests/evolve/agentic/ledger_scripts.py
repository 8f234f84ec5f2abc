"""Correct fix scripts for every kind of ledger task.

Six kinds come from the simulated agent; the other five are written here from the instruction.
"""

from __future__ import annotations

from harness.core import Task
from lab.simulator.spreadsheet import ledger_script

_START = """\
import re
from datetime import datetime
import openpyxl

def find(sheet, name):
    for row in sheet.iter_rows():
        for cell in row:
            if str(cell.value or "").strip().lower() == name.lower():
                return cell.row, cell.column

def text(value):
    return "" if value is None else str(value).strip()

book = openpyxl.load_workbook("input.xlsx")
"""
_DATES = """\
sheet = book["Receipts"]
head, column = find(sheet, "Date")
for row in range(head + 1, sheet.max_row + 1):
    cell = sheet.cell(row, column)
    if not isinstance(cell.value, str):
        continue
    for form in ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%d %B %Y", "%d %b %Y", "%B %d, %Y",
                 "%b %d, %Y", "%d-%b-%Y", "%d.%m.%y", "%d/%m/%y"):
        try:
            cell.value = datetime.strptime(text(cell.value), form)
            break
        except ValueError:
            pass
"""
_MERGE = """\
sheet = book["Addresses"]
head, street = find(sheet, "Street")
code, city, out = (find(sheet, name)[1] for name in ("Postcode", "City", "Address"))
for row in range(head + 1, sheet.max_row + 1):
    parts = [text(sheet.cell(row, column).value) for column in (street, code, city)]
    if parts[1] or parts[2]:
        end = parts[1].zfill(5) + " " + parts[2]
        sheet.cell(row, out).value = parts[0] + ", " + end if parts[0] else end
"""
_FLAG = """\
sheet = book["Invoices"]
head, due = find(sheet, "Due")
paid, out = find(sheet, "Paid")[1], find(sheet, "Status")[1]
at = find(book["Settings"], "Report date")
report = book["Settings"].cell(at[0], at[1] + 1).value
for row in range(head + 1, sheet.max_row + 1):
    day = sheet.cell(row, due).value
    if day is None:
        continue
    if text(sheet.cell(row, paid).value).lower().startswith("y"):
        sheet.cell(row, out).value = "paid"
    else:
        sheet.cell(row, out).value = "late" if day < report else "open"
"""
_RUNNING = """\
opening = book["Opening"]
balance = {}
for row in opening.iter_rows(min_row=2, values_only=True):
    if text(row[0]):
        balance[text(row[0]).lower()] = row[1]
sheet = book["Journal"]
head, out = find(sheet, "Balance")
account = find(sheet, "Account")
plus, minus = find(sheet, "In")[1], find(sheet, "Out")[1]
for row in range(head + 1, sheet.max_row + 1):
    name = text(sheet.cell(row, account[1]).value).lower() if account else next(iter(balance))
    if name in balance:
        balance[name] += (sheet.cell(row, plus).value or 0) - (sheet.cell(row, minus).value or 0)
        sheet.cell(row, out).value = round(balance[name], 2)
"""
_SORT = """\
sheet = book["Payroll"]
head, group = find(sheet, "Department")
pay = find(sheet, "Salary")[1]
rows = [[cell.value for cell in sheet[row]] for row in range(head + 1, sheet.max_row + 1)]
last = [row for row in rows if any(text(value) == "Total" for value in row)]
body = [row for row in rows if row not in last and row[group - 1] is not None]
body.sort(key=lambda row: (text(row[group - 1]), -row[pay - 1]))
for number, row in enumerate(body + last, head + 1):
    for column, value in enumerate(row, 1):
        sheet.cell(number, column).value = value
"""
_OTHERS = {"dates": _DATES, "merge": _MERGE, "flag": _FLAG, "running": _RUNNING, "sort": _SORT}


def correct_script(task: Task) -> bytes:
    """A script that solves a ledger task by its instruction."""
    known = ledger_script(task.prompt, "input.xlsx", "output.xlsx", set())
    if known is not None:
        return known.encode()
    return (_START + _OTHERS[str(task.meta["kind"])] + 'book.save("output.xlsx")\n').encode()
