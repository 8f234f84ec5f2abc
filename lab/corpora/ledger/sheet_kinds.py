"""Tasks that rearrange a whole table or make a new sheet."""

from __future__ import annotations

from collections.abc import Sequence

from lab.corpora import world
from lab.corpora.ledger.sheet import Built, Cell, Draft, quoted

_SHEET = "Sheet-Level Manipulation"


def _new_sheet(draft: Draft, name: str, rows: Sequence[Sequence[Cell]], prompt: str) -> Built:
    """A task whose answer is a new sheet that starts at A1."""

    def solve() -> None:
        draft.plain_sheet(name, rows)

    end = f"{'ABCDEFGH'[len(rows[0]) - 1]}{len(rows)}"
    return Built(prompt, quoted(name, f"A1:{end}"), name, _SHEET, solve)


def deduplicate(draft: Draft) -> Built:
    """Keep the first row of every e-mail address, in a new sheet."""
    rng = draft.rng
    people: list[tuple[str, str, str]] = []
    for number in range(draft.rows * 2 // 3):
        first, last = world.person(rng)
        mail = f"{first}.{last}{number}@example.com".lower()
        people.append((f"{first} {last}", mail, rng.choice(world.CITIES)))
    rows: list[list[Cell]] = [list(row) for row in people]
    seen = [row[1] for row in people]
    while len(rows) < draft.rows:
        name, mail, _ = rng.choice(people)
        position = rng.randint(seen.index(mail) + 1, len(rows))
        written = world.spaced(rng, mail) if draft.dirty else mail
        if draft.hard and rng.random() < 0.5:
            written = written.upper()
        rows.insert(position, [name, written, rng.choice(world.CITIES)])
        seen.insert(position, mail)
    header = ("Name", "E-mail", "City")
    table = draft.table("Contacts", header, rows)
    draft.overview(table)
    unique = [row for position, row in enumerate(rows) if seen[position] not in seen[:position]]
    prompt = (
        "Make a new sheet 'Unique' with the header of the table in the sheet 'Contacts' in row 1, "
        "starting at A1, and below it the first row of every e-mail address, in the order of the "
        "table. Two addresses are the same if they differ only in spaces around them or in "
        "capital letters. Copy the rows as they are."
    )
    return _new_sheet(draft, "Unique", [header, *unique], prompt)


def aggregate(draft: Draft) -> Built:
    """Totals by region in a new sheet."""
    rng = draft.rng
    rows: list[list[Cell]] = []
    cents: dict[str, int] = {}
    for number in range(draft.rows):
        region = rng.choice(world.REGIONS[: 3 if draft.difficulty == "easy" else 6])
        quantity, price = rng.randint(1, 30), rng.randrange(200, 9_000)
        amount = quantity * price
        cents[region] = cents.get(region, 0) + amount
        cell: Cell = amount / 100
        if draft.dirty and number % 4 == 1:
            cell = f"{amount / 100:,.2f}"
        if draft.hard and number % 5 == 2:
            cell = f"={quantity}*{price / 100}"
        written = world.spaced(rng, region) if draft.dirty else region
        rows.append([world.day(rng), written, rng.choice(world.PRODUCTS), cell])
    table = draft.table("Sales", ("Date", "Region", "Product", "Amount"), rows)
    draft.overview(table)
    totals = [(region, cents[region] / 100) for region in sorted(cents)]
    prompt = (
        "Make a new sheet 'Summary' with the headers Region and Total in A1 and B1. Below, write "
        "one row for each region of the sheet 'Sales', in alphabetical order, with the sum of its "
        "amounts, and a last row with the word Total and the sum of all. Ignore spaces around a "
        "region. An amount may be text with a comma between thousands, or a formula. Write "
        "values, not formulas."
    )
    last = ("Total", sum(cents.values()) / 100)
    return _new_sheet(draft, "Summary", [("Region", "Total"), *totals, last], prompt)


def sort(draft: Draft) -> Built:
    """Sort a table in place by two keys; a total row stays last."""
    rng = draft.rng
    salaries = rng.sample(range(20_000, 90_000), draft.rows)
    rows: list[list[Cell]] = []
    for salary in salaries:
        first, last = world.person(rng)
        rows.append([f"{first} {last}", rng.choice(world.DEPARTMENTS), salary])
    ordered = sorted(rows, key=lambda row: (str(row[1]), -int(str(row[2]))))
    if ordered == rows:
        rows.reverse()
    total: list[list[Cell]] = [["Total", None, sum(salaries)]] if draft.hard else []
    table = draft.table("Payroll", ("Employee", "Department", "Salary"), rows + total)
    draft.overview(table)

    def solve() -> None:
        for number, row in enumerate(ordered):
            for column, value in enumerate(row):
                table.write(number, column, value)

    prompt = (
        "Sort the table of the sheet 'Payroll' in place: by department from A to Z, and within a "
        "department by salary from high to low. The header stays on top; a row named Total, if "
        "there is one, stays at the end."
    )
    return Built(prompt, quoted("Payroll", table.span(0, 2)), "Payroll", _SHEET, solve)


def unmerge(draft: Draft) -> Built:
    """Undo merged group cells and repeat the group in every row."""
    rng = draft.rng
    groups: list[tuple[str, int]] = []
    remaining = draft.rows
    while remaining:
        size = min(remaining, 3 if not groups else rng.randint(1, 5))
        groups.append((rng.choice(world.DEPARTMENTS), size))
        remaining -= size
    rows: list[list[Cell]] = []
    gold: list[str] = []
    for name, size in groups:
        for offset in range(size):
            rows.append(
                [name if offset == 0 else None, rng.choice(world.PRODUCTS), world.money(rng)]
            )
            gold.append(name)
    table = draft.table("Stock", ("Department", "Item", "Cost"), rows)
    draft.overview(table)
    ranges: list[tuple[int, int]] = []
    offset = table.top + 1
    for _, size in groups:
        # Hard tables merge some groups and leave blanks below the name in others.
        if size > 1 and not (draft.hard and rng.random() < 0.4):
            ranges.append((offset, offset + size - 1))
        offset += size
    column = table.left
    for start, end in ranges:
        table.sheet.merge_cells(
            start_row=start, end_row=end, start_column=column, end_column=column
        )

    def solve() -> None:
        for start, end in ranges:
            table.sheet.unmerge_cells(
                start_row=start, end_row=end, start_column=column, end_column=column
            )
        for row, name in enumerate(gold):
            table.write(row, 0, name)

    prompt = (
        "In the sheet 'Stock' a department stands only in the first row of its group: the cells "
        "below are merged with it or empty. Unmerge the column 'Department' and write the "
        "department into every row of its group."
    )
    return Built(prompt, quoted("Stock", table.span(0, 0)), "Stock", _SHEET, solve)
