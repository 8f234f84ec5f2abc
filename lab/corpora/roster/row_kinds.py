"""Tasks that join, drop, fill or reshape rows."""

from __future__ import annotations

from collections.abc import Sequence

from lab.corpora import world
from lab.corpora.drafts import Built, Draft, table_task

_MARKS = ("", "-", "n/a", "null", "none", "?", "unknown", ".", "tbc", "missing")
_ACCENTS = str.maketrans("aeou", "áéóú")
_WORDS = ("repair", "rent", "post", "paint", "cater", "print", "clean", "travel", "insure", "train")
_CATEGORIES = ("Office", "Building", "Staff", "Stock")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun")

Row = list[object]


def people(draft: Draft) -> Built:
    """Rows of one person under spelling variants become one."""
    rng = draft.rng
    persons: dict[tuple[str, str, int], int] = {}
    while len(persons) < draft.rows // 2:
        first, last = world.person(rng)
        # Two people of one name at first.
        for born in rng.sample(range(1960, 1970), 1 if persons else 2):
            persons[first, last, born] = 0
    order = [*persons, *rng.choices(list(persons), k=draft.rows - len(persons))]
    rng.shuffle(order)
    rows: list[Row] = []
    first_rows: dict[tuple[str, str, int], str] = {}
    for first, last, born in order:
        forename, family = first, last
        if draft.hard and rng.random() < 0.4:
            forename = f"{first} {rng.choice('ABCDEFG')}{rng.choice(('.', ''))}"
        if draft.hard and rng.random() < 0.4:
            family = last.translate(_ACCENTS)
        name = f"{forename} {family}"
        if draft.dirty and rng.random() < 0.4:
            name = f"{family}, {forename}"
        name = rng.choice((name, name.upper(), name.replace(" ", "  ")))
        visits = rng.randrange(1, 9)
        rows.append([name, born, visits])
        persons[first, last, born] += visits
        first_rows.setdefault((first, last, born), name)
    gold = [[name, person[2], persons[person]] for person, name in first_rows.items()]
    prompt = (
        "Some people stand in several rows under different spellings. Two rows are the same person "
        "if Born is equal and the names are equal once: 'Last, First' is turned into 'First Last'; "
        "accents are removed and capitals ignored; dots are removed; words of a single letter are "
        "left out; several spaces count as one. Write one row for each person, in the order of "
        "their first rows: Name and Born as they stand in the person's first row, and Visits, the "
        "sum over all rows of the person."
    )
    header = ("Name", "Born", "Visits")
    return table_task(prompt, [header, *rows], [header, *gold], ordered=True)


def wrapped(draft: Draft) -> Built:
    """Values that run over several rows are joined."""
    rng = draft.rng
    rows: list[Row] = []
    gold: list[Row] = []
    for number in range(draft.rows // 2):
        words = [
            word
            for _ in range(3)
            for word in f"{rng.choice(world.PRODUCTS)} for {rng.choice(world.CITIES)}".split()
        ]
        customer, minutes, end = " ".join(world.person(rng)), rng.randrange(5, 90), 4
        more = rng.randrange(5, 90) if draft.hard else 0
        note = words[end:]
        rows.append([f"T{number + 1}", customer, " ".join(words[:end]), minutes])
        if draft.dirty and rng.random() < 0.6:
            half = len(note[0]) // 2 + 1
            rows[-1][2] = f"{rows[-1][2]} {note[0][:half]}-"
            note[0] = note[0][half:]
        lines = [note[:2], note[2:]] if number % 2 else [note]
        rows.extend(["", "", " ".join(line), more if line is lines[0] else ""] for line in lines)
        if not more:
            rows[-len(lines)][3] = ""
        gold.append([f"T{number + 1}", customer, " ".join(words), minutes + more])
    prompt = (
        "Some rows go on in the rows below them: a row whose Ticket is empty belongs to the last "
        "row above that has a ticket. Write one row for each ticket, in the order of the table. "
        "Note: join the parts with one space; where a part ends with a hyphen, remove the hyphen "
        "and add the next part without a space. Minutes: the sum over the rows of the ticket, an "
        "empty cell counts 0. Customer stays as it is."
    )
    header = ("Ticket", "Customer", "Note", "Minutes")
    return table_task(prompt, [header, *rows], [header, *gold], ordered=True)


def pages(draft: Draft) -> Built:
    """A printed list, with sections, repeated headers, page lines and totals, becomes a table."""
    rng = draft.rng
    header: Row = ["Product", "Units", "Amount"]
    breaks = 0
    rows: list[Sequence[object]] = []
    gold: list[Row] = []
    sections = rng.sample(world.DEPARTMENTS, 4 if draft.hard else 3)
    for section in sections:
        rows += [[section, "", ""], list(header)]
        part: list[Row] = []
        for _ in range(max(2, draft.rows // len(sections))):
            if draft.dirty and (len(part) == 2 or (part and rng.random() < 0.1)):
                breaks += 1
                rows.append([f"Page {breaks + 1} of {len(sections) * 3}", "", ""])
                rows += [[f"{section} (continued)", "", ""]] if draft.hard and breaks % 2 else []
                rows.append(list(header))
            product = rng.choice(world.PRODUCTS)
            if draft.hard and rng.random() < 0.15:
                product = rng.choice(("Totaliser", "Page holder"))
            row: Row = [product, rng.randrange(1, 60), world.money(rng)]
            part.append([section, *row])
            rows.append(row)
        rows.append([f"Total {section}", sum(int(str(row[2])) for row in part), ""])
        rows += [["", "", ""]] if draft.dirty else []
        gold += part
    rows.append(["Grand total", sum(int(str(row[2])) for row in gold), ""])
    prompt = (
        "`table.csv` is a printed list. Write a plain table with the columns Section, Product, "
        "Units and Amount, one row for each product line, in their order. Product lines are the "
        "rows with a value in all three columns that are no header; leave out repeated headers, "
        "page lines, totals and empty rows. Section lines have a value in the first column alone "
        "and are no page line ('Page 2 of 9'); they hold for the product lines below them, up to "
        "the next section line. Remove '(continued)' from the name of a section."
    )
    return table_task(prompt, [header, *rows], [("Section", *header), *gold], ordered=True)


def missing(draft: Draft) -> Built:
    """Missing values, written in many ways, are filled by stated rules."""
    rng = draft.rng
    marks = ["", *rng.sample(_MARKS[1:], 9 if draft.hard else 4)]
    departments = world.DEPARTMENTS[: 4 if draft.hard else 3]
    rows: list[Row] = []
    clean: list[list[str | None]] = []
    for number in range(draft.rows):
        name, department = " ".join(world.person(rng)), departments[number % len(departments)]
        hours = None if number % 5 in (1, 3) else str(rng.randrange(50))
        unknown = number % 5 == 4
        values = [name, None if unknown else department, hours]
        if draft.hard and number % 11 == 7:
            values = [name, None, None]
        clean.append(values)
        rows.append([value if value is not None else _mark(draft, marks) for value in values])
    gold: list[Row] = []
    for name, department, hours in clean:
        if department is None and hours is None:
            continue
        if hours is None:
            peers = [int(h) for _, d, h in clean if d == department and h is not None]
            # Not rounded, so that both ways to round a half lie within the tolerance.
            gold.append([name, department, sum(peers) / len(peers)])
        else:
            gold.append([name, department or "unknown", hours])
    listed = ", ".join(f"'{mark}'" for mark in marks[1:])
    prompt = (
        "A value is missing if its cell, without spaces around it and in any case of the letters, "
        f"is empty or one of: {listed}. 0 is a value. First leave out the rows in which both "
        "Department and Hours are missing. Then write unknown for a missing Department. Then "
        "write for missing Hours the mean of the Hours that are not missing in the rows of the "
        "same Department, rounded to 2 decimals. Keep the order of the columns."
    )
    header = ("Name", "Department", "Hours")
    return table_task(prompt, [header, *rows], [header, *gold])


def _mark(draft: Draft, marks: list[str]) -> str:
    mark = draft.rng.choice(marks)
    if draft.dirty:
        mark = world.spaced(draft.rng, draft.rng.choice((mark, mark.upper())))
    return mark


def unpivot(draft: Draft) -> Built:
    """A wide table becomes a long one."""
    rng = draft.rng
    year = rng.randrange(2019, 2026)
    months = _MONTHS[: rng.randint(4, 6)]
    kinds = ("sold", "returned") if draft.hard else ("sold",)
    products = rng.sample(world.PRODUCTS, min(draft.rows // 2, len(world.PRODUCTS)))
    rows: list[Row] = []
    gold: list[Row] = []
    for product in products:
        row: Row = [product]
        for number, month in enumerate(months, 1):
            counts = [None if rng.random() < 0.3 else rng.randrange(1, 99) for _ in kinds]
            row += counts
            if any(count is not None for count in counts):
                gold.append([product, f"{year}-{number:02}" if draft.dirty else month])
                gold[-1] += [count or 0 for count in counts]
        total = sum(int(str(count)) for count in row[1:] if count is not None)
        rows.append([*row, total] if draft.dirty else row)
    titles = [f"{month} {year}" if draft.dirty else month for month in months]
    header = [f"{title} {kind}" if draft.hard else title for title in titles for kind in kinds]
    names = [kind.capitalize() for kind in kinds]
    columns = f"Product, Month, {' and '.join(names)}"
    month = "YYYY-MM (Mar 2024 is 2024-03)" if draft.dirty else "the name of its column"
    both_empty = "whose two cells are empty; one empty cell counts 0"
    empty = both_empty if draft.hard else "without a value"
    prompt = (
        f"Turn the wide table into a long one with the columns {columns}: one row for each "
        f"product and month, first by product in the order of the table, then by month from left "
        f"to right. Month is {month}. Leave out the months {empty}."
        f"{' Ignore the column Total.' if draft.dirty else ''}"
    )
    header = ["Product", *header, *(["Total"] if draft.dirty else [])]
    golden = [["Product", "Month", *names], *gold]
    return table_task(prompt, [header, *rows], golden, ordered=True)


def categories(draft: Draft) -> Built:
    """Bookings get the category of the first word of a second table that their text holds."""
    rng = draft.rng
    words = rng.sample(_WORDS, 8 if draft.hard else 5)
    rules = [(f"{w}*" if draft.hard and n % 2 else w, n) for n, w in enumerate(words)]
    names = [rng.choice(_CATEGORIES) for _ in rules]
    rows: list[Row] = []
    gold: list[Row] = []
    for number in range(draft.rows):
        stem = rng.choice(words)
        word = rng.choice((stem, f"{stem}er") if draft.dirty else (stem,))
        if number % 6 == 5:
            stem = word = rng.choice([w for w in _WORDS if w not in words])
        texts = [rng.choice(world.CITIES), word, rng.choice(world.PRODUCTS)]
        matches = [n for rule, n in rules if word == rule or rule == f"{stem}*"]
        if draft.dirty and rng.random() < 0.4:
            second = rng.randrange(len(rules))
            texts.append(words[second])
            matches.append(second)
        rng.shuffle(texts)
        text = " ".join(texts)
        row: Row = [1000 + number, text.upper() if rng.random() < 0.3 else text, world.money(rng)]
        rows.append(row)
        gold.append([*row, names[min(matches)] if matches else "Other"])
    prompt = (
        "Add a last column Category to `table.csv`, by the rules in `rules.csv`: the category of "
        "the first rule, from top to bottom, whose Word is one of the words of Text; capitals do "
        "not count, and only whole words do ('print' is not in 'printer'). A Word with * at its "
        "end stands for every word that begins so ('print*' is in 'print' and in 'printer'). "
        "Where no rule fits, write Other. Keep the other columns as they are."
    )
    rule_rows = [(rule, name) for (rule, _), name in zip(rules, names, strict=True)]
    header, rules_table = ("Booking", "Text", "Amount"), [("Word", "Category"), *rule_rows]
    golden = [(*header, "Category"), *gold]
    return table_task(prompt, [header, *rows], golden, rules=rules_table)
