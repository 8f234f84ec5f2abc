"""Tasks that fill or repair cells of a column."""

from __future__ import annotations

from datetime import datetime, timedelta

from lab.corpora import world
from lab.corpora.ledger.sheet import Built, Cell, Draft, Table, quoted

_CELL = "Cell-Level Manipulation"
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def _column(draft: Draft, table: Table, column: int, gold: list[Cell], prompt: str) -> Built:
    """A task whose answer is one column."""
    draft.overview(table)

    def solve() -> None:
        for row, value in enumerate(gold):
            table.write(row, column, value)

    name = table.sheet.title
    return Built(prompt, quoted(name, table.span(column, column)), name, _CELL, solve)


def lookup(draft: Draft) -> Built:
    """Fill prices from another sheet by product code."""
    rng = draft.rng
    codes = sorted({world.product_code(rng) for _ in range(12)})
    rng.shuffle(codes)
    prices = {code: world.money(rng, 200, 20_000) for code in codes}
    rows: list[list[Cell]] = []
    gold: list[Cell] = []
    for number in range(draft.rows):
        unknown = draft.dirty and number % 9 == 4
        code = f"QQ-{rng.randrange(100, 1000)}" if unknown else rng.choice(codes)
        written = world.spaced(rng, code) if draft.dirty else code
        if draft.hard and rng.random() < 0.4:
            written = written.lower()
        rows.append([f"O{1000 + number}", written, rng.randint(1, 40), None])
        gold.append("unknown" if unknown else prices[code])
    table = draft.table("Orders", ("Order", "Product code", "Quantity", "Unit price"), rows)
    catalogue = [(c, rng.choice(world.PRODUCTS), p) for c, p in prices.items()]
    draft.plain_sheet("Catalogue", [("Code", "Product", "Price"), *catalogue])
    prompt = (
        "Fill the column 'Unit price' of the sheet 'Orders' with the price that the sheet "
        "'Catalogue' gives for the product code. Ignore spaces around a code and whether its "
        "letters are capitals. Where the catalogue has no such code, write the word unknown."
    )
    return _column(draft, table, 3, gold, prompt)


def dates(draft: Draft) -> Built:
    """Turn dates written as text into real dates, in place."""
    rng = draft.rng
    rows: list[list[Cell]] = []
    gold: list[Cell] = []
    for number in range(draft.rows):
        date = world.day(rng)
        style = 1 if number == 0 else rng.randrange(5 if draft.hard else 4 if draft.dirty else 3)
        rows.append([f"R{200 + number}", _written(date, style), world.money(rng)])
        gold.append(date)
    table = draft.table("Receipts", ("Receipt", "Date", "Amount"), rows)
    prompt = (
        "The column 'Date' of the sheet 'Receipts' mixes real dates with dates typed as text in "
        "several styles. Replace every text by the real date, in place. Where a date is written "
        "in numbers with dots or slashes, the day comes first, then the month."
    )
    return _column(draft, table, 1, gold, prompt)


def _written(date: datetime, style: int) -> Cell:
    return (
        date,
        f"{date.day} {_MONTHS[date.month - 1]} {date.year}",
        f"{date.year}-{date.month:02}-{date.day:02}",
        f" {date.day:02}.{date.month:02}.{date.year}",
        f"{date.day}/{date.month}/{date.year % 100:02}",
    )[style]


def split(draft: Draft) -> Built:
    """Split `Last, First` into two columns."""
    rng = draft.rng
    rows: list[list[Cell]] = []
    gold: list[tuple[str, str]] = []
    for number in range(draft.rows):
        first, last = world.person(rng)
        if draft.hard and rng.random() < 0.3:
            first = f"{first} {rng.choice('ABCDEFG')}."
        comma = rng.choice((", ", ",", " ,  ")) if draft.dirty else ", "
        name = f"{last}{comma}{first}"
        rows.append([500 + number, world.spaced(rng, name) if draft.dirty else name, None, None])
        gold.append((first, last))
    table = draft.table("Staff", ("No.", "Name", "First name", "Last name"), rows)
    draft.overview(table)

    def solve() -> None:
        for row, (first, last) in enumerate(gold):
            table.write(row, 2, first)
            table.write(row, 3, last)

    prompt = (
        "The column 'Name' of the sheet 'Staff' holds the last name, a comma and the first "
        "name(s). Fill the columns 'First name' and 'Last name' from it, without spaces around "
        "them. Leave the column 'Name' as it is."
    )
    return Built(prompt, quoted("Staff", table.span(2, 3)), "Staff", _CELL, solve)


def merge(draft: Draft) -> Built:
    """Join the parts of an address into one column."""
    rng = draft.rng
    rows: list[list[Cell]] = []
    gold: list[Cell] = []
    for number in range(draft.rows):
        street = f"{rng.choice(world.STREETS)} {rng.randint(1, 90)}"
        code, city = rng.randrange(1000, 99_999), rng.choice(world.CITIES)
        missing = draft.hard and number % 7 == 3
        postcode: Cell = code if draft.dirty else f"{code:05}"
        town = world.spaced(rng, city) if draft.dirty else city
        rows.append([None if missing else street, postcode, town, None])
        gold.append(f"{code:05} {city}" if missing else f"{street}, {code:05} {city}")
    table = draft.table("Addresses", ("Street", "Postcode", "City", "Address"), rows)
    prompt = (
        "Fill the column 'Address' of the sheet 'Addresses' with street, comma, space, postcode, "
        "space, city, as in 'Mill Lane 4, 01234 Alderby'. A postcode always has five digits: put "
        "zeros in front where they are missing. Remove spaces around the parts. Where there is no "
        "street, write postcode and city only."
    )
    return _column(draft, table, 3, gold, prompt)


def flag(draft: Draft) -> Built:
    """Write a status that follows from a due date, a payment and a date in another sheet."""
    rng = draft.rng
    today = world.day(rng, 200) + timedelta(days=150)
    rows: list[list[Cell]] = []
    gold: list[Cell] = []
    for number in range(draft.rows):
        due = today if number % 8 == 5 else world.day(rng)
        paid = rng.random() < 0.4
        entry = "yes" if paid else "no"
        if draft.dirty:
            entry = rng.choice((" Yes", "YES", "y", "yes ") if paid else ("No", " no", "n", ""))
        rows.append([f"I{300 + number}", due, world.money(rng), entry or None, None])
        gold.append("paid" if paid else "late" if due < today else "open")
    table = draft.table("Invoices", ("Invoice", "Due", "Amount", "Paid", "Status"), rows)
    draft.plain_sheet("Settings", [("Report date", today), ("Currency", "EUR")])
    prompt = (
        "Fill the column 'Status' of the sheet 'Invoices': paid if the column 'Paid' says so (it "
        "starts with y or Y, spaces aside); otherwise late if the due date lies before the report "
        "date in the sheet 'Settings'; otherwise open."
    )
    return _column(draft, table, 4, gold, prompt)


def running(draft: Draft) -> Built:
    """Running balances: from zero, from an opening balance, or per account."""
    rng = draft.rng
    accounts = ("till", "bank", "petty cash") if draft.hard else ("bank",)
    opening = {name: rng.randrange(0, 900_000) if draft.dirty else 0 for name in accounts}
    balance = dict(opening)
    rows: list[list[Cell]] = []
    gold: list[Cell] = []
    date = world.day(rng, 30)
    for number in range(draft.rows):
        date += timedelta(days=rng.randint(0, 3))
        account = accounts[0] if number == 0 else rng.choice(accounts)
        amount = rng.randrange(100, 90_000)
        incoming = rng.random() < 0.5
        balance[account] += amount if incoming else -amount
        paid: list[Cell] = [amount / 100, None] if incoming else [None, amount / 100]
        rows.append([date, account, *paid, None])
        gold.append(balance[account] / 100)
    table = draft.table("Journal", ("Date", "Account", "In", "Out", "Balance"), rows)
    opened = [(name, cents / 100) for name, cents in opening.items()]
    draft.plain_sheet("Opening", [("Account", "Opening balance"), *opened])
    prompt = (
        "Fill the column 'Balance' of the sheet 'Journal' with the balance of the row's account "
        "after the row: its opening balance from the sheet 'Opening', plus everything in, minus "
        "everything out, down to this row. Round to two decimals. Write values, not formulas."
    )
    return _column(draft, table, 4, gold, prompt)


def numbers(draft: Draft) -> Built:
    """Turn amounts written as text into numbers, in place."""
    rng = draft.rng
    rows: list[list[Cell]] = []
    gold: list[Cell] = []
    for row in range(draft.rows):
        amount = world.money(rng, 120_000, 900_000)
        # The first is never a plain numeral: a numeral as text already counts as its number.
        style = 1 if row == 0 else rng.randrange(5 if draft.hard else 4 if draft.dirty else 3)
        ways = (amount, f"{amount:,.2f}", f"EUR {amount:.2f}", f"  {amount:,.2f} EUR",
                f"({amount:,.2f})")  # fmt: skip
        rows.append([rng.choice(world.PRODUCTS), rng.choice(world.REGIONS), ways[style]])
        gold.append(-amount if style == 4 else amount)
    table = draft.table("Sales", ("Product", "Region", "Amount"), rows)
    prompt = (
        "In the column 'Amount' of the sheet 'Sales' many amounts are text: with a comma between "
        "thousands, stray spaces, the currency EUR, or brackets around a negative amount. Replace "
        "each by the number, in place. Every cell of the column must end up a number."
    )
    return _column(draft, table, 2, gold, prompt)
