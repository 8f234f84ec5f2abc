"""Papers: receipts from a till, and pages with fields and a table."""

from __future__ import annotations

from decimal import Decimal
from random import Random

from pydantic import JsonValue

from lab.corpora.folio.canvas import Anchor
from lab.corpora.folio.scene import Asked, Scene
from lab.corpora.folio.style import Style
from lab.corpora.world import (
    CITIES,
    COMPANIES,
    PRODUCTS,
    STREETS,
    day,
    person,
    product_code,
)

_TITLES = ("Delivery note", "Repair order", "Stock report", "Purchase order", "Loan slip")
_DATES = ("%d/%m/%Y", "%Y-%m-%d", "%d %b %Y", "%d.%m.%Y")


def receipt(rng: Random, style: Style) -> Scene:
    """Draw a receipt, and ask about it."""
    goods = rng.sample(PRODUCTS, rng.randint(3, 6))
    lines = [(name, rng.randint(1, 4), Decimal(rng.randrange(120, 4900)) / 100) for name in goods]
    total = sum((count * price for _, count, price in lines), Decimal(0))
    paid = (total // 10 + 1) * 10
    shop, number = rng.choice(COMPANIES), rng.randrange(10_000, 99_999)
    date = day(rng).strftime(rng.choice(_DATES))
    width, step = rng.randrange(300, 380), style.size * 1.75
    canvas = style.canvas(width, int(step * (len(lines) + 12)))
    y = step
    canvas.text(width / 2, y, shop, style.size + 1, style.ink, "middle", bold=True)
    y += step
    canvas.text(width / 2, y, f"{rng.randint(1, 90)} {rng.choice(STREETS)}, {rng.choice(CITIES)}",
                style.size - 2, style.ink, "middle")  # fmt: skip
    rows: list[tuple[str, str, bool]] = [(f"No. {number}", date, False), ("", "", False)]
    rows += [(f"{count} x {name}", f"{count * price:.2f}", False) for name, count, price in lines]
    rows += [("", "", False), ("TOTAL", f"{total:.2f}", True), ("Cash", f"{paid:.2f}", False),
             ("Change", f"{paid - total:.2f}", False)]  # fmt: skip
    for label, amount, bold in rows:
        y += step
        if not label:
            canvas.line([(16, y), (width - 16, y)], style.ink)
            continue
        canvas.text(18, y, label, style.size, style.ink, bold=bold)
        canvas.text(width - 18, y, amount, style.size, style.ink, "right", bold=bold)
    name, count, price = rng.choice(lines)
    key = {"company": shop, "date": date, "total": f"{total:.2f}", "number": str(number)}
    questions = [
        Asked("read", "What is the total of this receipt?", f"{total:.2f}"),
        Asked("read", "Which date stands on this receipt? Copy it as printed.", date),
        Asked("read", f"What was paid for the line with {name}?", f"{count * price:.2f}"),
        Asked("count", "How many articles were bought in all, counting pieces?",
              str(sum(count for _, count, _ in lines))),
    ]  # fmt: skip
    facts = (f"The shop is {shop}", f"The date is {date}", f"The total is {total:.2f}",
             *(f"{name} cost {pieces * price:.2f}" for name, pieces, price in lines))  # fmt: skip
    return Scene(canvas, questions, facts, {"receipt": {**key}})


def page(rng: Random, style: Style) -> Scene:
    """Draw a page with fields and a table, and ask about it."""
    title, date = rng.choice(_TITLES), day(rng).strftime(rng.choice(_DATES))
    clerk, client = " ".join(person(rng)), rng.choice(COMPANIES)
    reference = product_code(rng)
    fields = {"Reference": reference, "Date": date, "Clerk": clerk, "Client": client,
              "Place": rng.choice(CITIES)}  # fmt: skip
    shuffled = list(fields.items())
    rng.shuffle(shuffled)
    goods = rng.sample(PRODUCTS, rng.randint(4, 7))
    table = [(product_code(rng), name, rng.randint(2, 90), rng.randint(3, 60)) for name in goods]
    width, step = rng.randrange(560, 680), style.size * 1.9
    canvas = style.canvas(width, int(step * (len(table) + 11)))
    y = 1.4 * step
    canvas.text(40, y, title, style.size + 7, style.ink, bold=True)
    y += 0.6 * step
    for label, value in shuffled:
        y += step
        canvas.text(40, y, f"{label}:", style.size, style.ink)
        canvas.text(150, y, value, style.size, style.ink)
    y += 1.6 * step
    columns = (48.0, 140.0, width - 130.0, width - 48.0)
    heads = ("Code", "Article", "Pieces", "Shelf")
    canvas.box(40, y - 0.5 * step, width - 40, y + 0.5 * step, style.faint)
    anchors: tuple[Anchor, ...] = ("left", "left", "right", "right")
    for x, head, anchor in zip(columns, heads, anchors, strict=True):
        canvas.text(x, y, head, style.size, style.ink, anchor, bold=True)
    for row in table:
        y += step
        for x, cell, anchor in zip(columns, row, anchors, strict=True):
            canvas.text(x, y, str(cell), style.size, style.ink, anchor)
        if style.grid:
            canvas.line([(40, y - 0.5 * step), (width - 40, y - 0.5 * step)], style.faint)
    truth: dict[str, JsonValue] = {"fields": {**fields}, "rows": [list(row) for row in table]}
    code, name, pieces, shelf = rng.choice(table)
    label = rng.choice(list(fields))
    most = max(table, key=lambda row: row[2])
    tied = sum(row[2] == most[2] for row in table) > 1
    last = (
        Asked("count", "How many rows has the table, without its head?", str(len(table)))
        if tied
        else Asked("compare", "Which article has the most pieces?", most[1])
    )
    questions = [
        Asked("read", f"What stands beside {label}?", fields[label]),
        Asked("read", f"How many pieces of the {name} are there?", str(pieces)),
        Asked("read", f"On which shelf is the article with the code {code}?", str(shelf)),
        last,
    ]
    facts = (
        *(f"The {label.lower()} is {value}" for label, value in fields.items()),
        *(f"There are {pieces} of the {name}" for _, name, pieces, _ in table),
    )
    return Scene(canvas, questions, facts, {"page": truth})
