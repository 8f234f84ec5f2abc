"""Functions of this skill, each proven on the tasks named below it by running it."""

import functools
import os

FILES = {}


def for_files(*names):
    def mark(function):
        @functools.wraps(function)
        def call(*values, **named):
            try:
                return function(*values, **named)
            except Exception as error:
                near = [name for name, files in FILES.items() if all(map(os.path.exists, files))]
                near = ", ".join(name for name in near if name != function.__name__) or "none"
                raise RuntimeError(
                    f"{function.__name__} is not for this task, or its values are wrong: {error!r}."
                    f" Functions of helpers for files like these: {near}."
                ) from None

        FILES[function.__name__] = names
        return call

    return mark


def __getattr__(name):
    words = set(name.split("_"))
    shared = {text: len(words & set(text.split("_"))) for text in FILES}
    best = [text for text in FILES if shared[text] == max(shared.values()) > 0]
    if len(best) == 1 and not name.startswith("__"):
        return globals()[best[0]]
    raise AttributeError(f"no function {name!r}; there are {', '.join(FILES)}")



@for_files('input.xlsx')
def replace_dates(*_, **__):
    """The column 'Date' of the sheet 'Receipts' mixes real dates with dates typed as text in several styles."""
    from datetime import datetime
    from openpyxl import load_workbook
    STYLES = ['%Y-%m-%d', '%d.%m.%Y', '%d.%m.%y', '%d/%m/%Y', '%d/%m/%y', '%d %B %Y', '%d %b %Y']

    def to_date(text):
        for style in STYLES:
            try:
                return datetime.strptime(text.strip(), style)
            except ValueError:
                pass
        raise ValueError(text)
    wb = load_workbook('input.xlsx')
    ws = wb['Receipts']
    head = next((c for row in ws.iter_rows() for c in row if c.value == 'Date'))
    for row in range(head.row + 1, ws.max_row + 1):
        cell = ws.cell(row, head.column)
        if isinstance(cell.value, str):
            cell.value = to_date(cell.value)
            cell.number_format = 'yyyy-mm-dd'
    wb.save('output.xlsx')
    return ''
# proven on: ledger-train-001, ledger-train-012, ledger-train-023, ledger-train-034, ledger-train-045, ledger-train-056, ledger-train-067, ledger-train-078, ledger-train-089, ledger-train-100, ledger-train-111, ledger-train-122


@for_files('input.xlsx')
def fill_names(*_, **__):
    """The column 'Name' of the sheet 'Staff' holds the last name, a comma and the first name(s)."""
    from openpyxl import load_workbook
    wb = load_workbook('input.xlsx')
    rows = wb['Staff'].iter_rows()
    head = next((names for names in ([c.value for c in r] for r in rows) if 'First name' in names))
    for row in rows:
        cells = dict(zip(head, row))
        if cells['Name'].value:
            last, first = cells['Name'].value.split(',', 1)
            cells['First name'].value = first.strip()
            cells['Last name'].value = last.strip()
    wb.save('output.xlsx')
    return ''
# proven on: ledger-train-002, ledger-train-013, ledger-train-024, ledger-train-035, ledger-train-046, ledger-train-057, ledger-train-068, ledger-train-079, ledger-train-090, ledger-train-101, ledger-train-112, ledger-train-123


@for_files('input.xlsx')
def fill_address(*_, **__):
    """Fill the column 'Address' of the sheet 'Addresses' with street, comma, space, postcode, space, city, as in 'Mill ..."""
    from openpyxl import load_workbook
    wb = load_workbook('input.xlsx')
    rows = wb['Addresses'].iter_rows()
    head = next((names for names in ([c.value for c in r] for r in rows) if 'Address' in names))
    columns = [head.index(name) for name in ('Street', 'Postcode', 'City')]
    for row in rows:
        street, postcode, city = (str(row[i].value or '').strip() for i in columns)
        if postcode or city:
            place = f'{postcode.zfill(5)} {city}'
            row[head.index('Address')].value = f'{street}, {place}' if street else place
    wb.save('output.xlsx')
    return ''
# proven on: ledger-train-003, ledger-train-014, ledger-train-025, ledger-train-036, ledger-train-047, ledger-train-058, ledger-train-069, ledger-train-080, ledger-train-091, ledger-train-102, ledger-train-113, ledger-train-124


@for_files('input.xlsx')
def late_or_open(*_, **__):
    """Fill the column 'Status' of the sheet 'Invoices': paid if the column 'Paid' says so (it starts with ..."""
    from openpyxl import load_workbook
    wb = load_workbook('input.xlsx')
    report = next((r[1] for r in wb['Settings'].iter_rows(values_only=True) if r[0] == 'Report date'))
    rows = wb['Invoices'].iter_rows()
    head = next((names for names in ([c.value for c in r] for r in rows) if 'Status' in names))
    due, paid, status = (head.index(name) for name in ('Due', 'Paid', 'Status'))
    for row in rows:
        if row[due].value is None:
            continue
        if str(row[paid].value).strip().lower().startswith('y'):
            row[status].value = 'paid'
        else:
            row[status].value = 'late' if row[due].value < report else 'open'
    wb.save('output.xlsx')
    return ''
# proven on: ledger-train-004, ledger-train-015, ledger-train-026, ledger-train-037, ledger-train-048, ledger-train-059, ledger-train-070, ledger-train-081, ledger-train-092, ledger-train-103, ledger-train-114, ledger-train-125


@for_files('input.xlsx')
def balance_after_account(*_, **__):
    """Fill the column 'Balance' of the sheet 'Journal' with the balance of the row's account after the row: ..."""
    from openpyxl import load_workbook
    wb = load_workbook('input.xlsx')
    balance = {r[0]: r[1] for r in wb['Opening'].iter_rows(min_row=2, values_only=True)}
    rows = wb['Journal'].iter_rows()
    head = next((names for names in ([c.value for c in r] for r in rows) if 'Balance' in names))
    for row in rows:
        cells = dict(zip(head, row))
        account = cells['Account'].value
        if account is not None:
            balance[account] += (cells['In'].value or 0) - (cells['Out'].value or 0)
            cells['Balance'].value = round(balance[account], 2)
    wb.save('output.xlsx')
    return ''
# proven on: ledger-train-005, ledger-train-016, ledger-train-027, ledger-train-038, ledger-train-049, ledger-train-060, ledger-train-071, ledger-train-082, ledger-train-093, ledger-train-104, ledger-train-115, ledger-train-126


@for_files('input.xlsx')
def replace_commas_with_numbers(*_, **__):
    """In the column 'Amount' of the sheet 'Sales' many amounts are text: with a comma between thousands, stray ..."""
    import re
    from openpyxl import load_workbook
    wb = load_workbook('input.xlsx')
    ws = wb['Sales']
    head = next((c for row in ws.iter_rows() for c in row if c.value == 'Amount'))
    for row in range(head.row + 1, ws.max_row + 1):
        cell = ws.cell(row, head.column)
        if isinstance(cell.value, str):
            number = float(re.sub('[^\\d.-]', '', cell.value))
            cell.value = -number if '(' in cell.value else number
    wb.save('output.xlsx')
    return ''
# proven on: ledger-train-006, ledger-train-017, ledger-train-028, ledger-train-039, ledger-train-050, ledger-train-061, ledger-train-072, ledger-train-083, ledger-train-094, ledger-train-105, ledger-train-116, ledger-train-127


@for_files('input.xlsx')
def sum_by_region(*_, **__):
    """Make a new sheet 'Summary' with the headers Region and Total in A1 and B1."""
    from math import prod
    from openpyxl import load_workbook
    wb = load_workbook('input.xlsx')
    rows = wb['Sales'].iter_rows(values_only=True)
    head = next((r for r in rows if 'Region' in r and 'Amount' in r))
    region, amount = (head.index('Region'), head.index('Amount'))
    totals = {}
    for row in rows:
        if row[region] is None:
            continue
        text = str(row[amount]).replace(',', '').lstrip('= ')
        name = row[region].strip()
        totals[name] = totals.get(name, 0) + prod((float(x) for x in text.split('*')))
    out = wb.create_sheet('Summary')
    out.append(['Region', 'Total'])
    for name in sorted(totals):
        out.append([name, round(totals[name], 2)])
    out.append(['Total', round(sum(totals.values()), 2)])
    wb.save('output.xlsx')
    return ''
# proven on: ledger-train-008, ledger-train-019, ledger-train-030, ledger-train-041, ledger-train-052, ledger-train-063, ledger-train-074, ledger-train-085, ledger-train-096, ledger-train-107, ledger-train-118, ledger-train-129


@for_files('input.xlsx')
def sort_by_department_salary(*_, **__):
    """Sort the table of the sheet 'Payroll' in place: by department from A to Z, and within a ..."""
    from openpyxl import load_workbook
    wb = load_workbook('input.xlsx')
    rows = wb['Payroll'].iter_rows()
    head = next((names for names in ([c.value for c in r] for r in rows) if 'Department' in names))
    department, salary = (head.index('Department'), head.index('Salary'))
    cells = [row for row in rows if row[salary].value is not None]
    table = [[c.value for c in row] for row in cells]
    table.sort(key=lambda r: ('Total' in r, r[department] or '', -r[salary]))
    for row, values in zip(cells, table):
        for cell, value in zip(row, values):
            cell.value = value
    wb.save('output.xlsx')
    return ''
# proven on: ledger-train-009, ledger-train-020, ledger-train-031, ledger-train-042, ledger-train-053, ledger-train-064, ledger-train-075, ledger-train-086, ledger-train-097, ledger-train-108, ledger-train-119, ledger-train-130
