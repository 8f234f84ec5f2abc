"""A simulated agent at an order desk: it reads a table and answers against the house's customs.

The customs (leave cancelled orders out, amounts with two decimals, ...) stand nowhere in a task.
Each is a planted failure that a line of the skill switches off if it entails the remedy. What the
agent does shows in its reasoning, as behaviour: there is no label of a failure in a transcript.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Literal

from pydantic import Field

from harness.core import Value
from lab.simulator.entailment import Remedy

Slip = Literal[
    "cancelled", "refund", "rounding", "kilograms", "order", "separator", "duplicates",
    "capitals", "isodate", "firstdate", "zero", "percent", "small",
]  # fmt: skip
HEADER = "| line | customer | item | grams | price | state | date |"
_ROW = re.compile(r"^\| (\d+) \| (\w+) \| (\w+) \| (\d+) \| ([\d.]+) \| (\w+) \| ([^|]+) \|$", re.M)
_QUESTIONS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("total", re.compile(r"total price of the orders of (\w+)\?")),
    ("weight", re.compile(r"total weight of (\w+) ordered\?")),
    ("customers", re.compile(r"Which customers ordered (\w+)\?")),
    ("first", re.compile(r"date of the first order of (\w+)\?")),
    ("count", re.compile(r"How many orders did (\w+) place\?")),
    ("share", re.compile(r"What share of the orders of (\w+) is paid\?")),
)
APPLIES: dict[str, tuple[Slip, ...]] = {
    "total": ("cancelled", "refund", "rounding", "small"),
    "weight": ("cancelled", "kilograms", "small"),
    "customers": ("order", "separator", "duplicates", "capitals"),
    "first": ("isodate", "firstdate"),
    "count": ("cancelled", "zero", "small"),
    "share": ("percent", "cancelled"),
}


class OrderMode(Value):
    """One planted failure of the order desk.

    Attributes:
        name: for reports.
        slip: what goes wrong.
        prevalence: share of the tasks it applies to that have it, drawn by a hash of the task.
        requires: names of modes that must be cured before this one shows.
        remedy: what a line of the skill must say to switch it off; None for one that cannot be.
        cause: what a line must say to switch it on; None for one that is there without a skill.
    """

    name: str
    slip: Slip
    prevalence: float = Field(ge=0, le=1)
    requires: tuple[str, ...] = ()
    remedy: Remedy | None = None
    cause: Remedy | None = None


@dataclass(frozen=True)
class Order:
    """One line of the table; weights in grams."""

    customer: str
    item: str
    grams: int
    price: float
    state: str
    day: date


@lru_cache(maxsize=4096)
def read_task(text: str) -> tuple[str, str, tuple[Order, ...]] | None:
    """(kind of question, what it asks about, orders) of a task; None if it is no order task."""
    for kind, pattern in _QUESTIONS:
        if HEADER in text and (match := pattern.search(text)):
            rows: list[tuple[str, ...]] = _ROW.findall(text)
            orders = tuple(
                Order(customer, item, int(grams), float(price), state,
                      datetime.strptime(day.strip(), "%d %B %Y").date())
                for _, customer, item, grams, price, state, day in rows
            )  # fmt: skip
            return kind, match[1], orders
    return None


def answer(kind: str, name: str, orders: Sequence[Order], slips: set[Slip]) -> tuple[str, str]:
    """(reasoning, answer) to a question, wrong in the ways of `slips`; right without any."""
    of_item = kind in ("weight", "customers")
    matching = [order for order in orders if name == (order.item if of_item else order.customer)]
    return ANSWERS[kind](matching, slips)


def _kept(orders: Sequence[Order], slips: set[Slip]) -> tuple[str, list[Order]]:
    reasoning = "I keep what was not called off. "
    rows = [order for order in orders if order.state != "cancelled"]
    if "cancelled" in slips:
        reasoning, rows = "I take each row whatever became of it. ", list(orders)
    if "small" in slips:
        reasoning += "I pass over the light rows. "
        rows = [order for order in rows if order.grams >= 500]
    return reasoning, rows


def total_price(orders: Sequence[Order], slips: set[Slip]) -> tuple[str, str]:
    reasoning, rows = _kept(orders, slips)
    back = 1 if "refund" in slips else -1
    reasoning += (
        "Money that went back is added like the rest. " if back == 1 else "Money back is minus. "
    )
    amount = sum(order.price * (back if order.state == "refunded" else 1) for order in rows)
    if "rounding" in slips:
        return reasoning + "I write the sum with all its digits.", f"{amount:.4f}"
    return reasoning + "Two digits are enough.", f"{amount:.2f}"


def total_weight(orders: Sequence[Order], slips: set[Slip]) -> tuple[str, str]:
    reasoning, rows = _kept(orders, slips)
    grams = sum(order.grams for order in rows)
    if "kilograms" in slips:
        return reasoning + "The column holds g, so I answer in g.", f"{grams} g"
    return reasoning + "I divide by a thousand.", f"{grams / 1000:.3f} kg"


def list_customers(orders: Sequence[Order], slips: set[Slip]) -> tuple[str, str]:
    names = [order.customer for order in orders]
    reasoning = ""
    if "duplicates" in slips:
        reasoning += "I write down a buyer at every row. "
    else:
        names = list(dict.fromkeys(names))
    if "order" in slips:
        reasoning += "I go through the table from the top. "
    else:
        names = sorted(names)
    if "capitals" in slips:
        reasoning += "I copy the spelling of the table. "
    else:
        names = [name.upper() for name in names]
    mark = ", " if "separator" in slips else "; "
    reasoning += "I put commas between them." if mark == ", " else ""
    return reasoning or "I list them as usual.", mark.join(names) or "NONE"


def first_date(orders: Sequence[Order], slips: set[Slip]) -> tuple[str, str]:
    if not orders:
        return "There is no row.", "none"
    reasoning, first = "I compare the days. ", min(orders, key=lambda order: order.day)
    if "firstdate" in slips:
        reasoning, first = "The topmost row counts for me. ", orders[0]
    if "isodate" in slips:
        return reasoning + "The day is written out in words.", f"{first.day.day} {first.day:%B %Y}"
    return reasoning + "Year comes first.", first.day.isoformat()


def count_orders(orders: Sequence[Order], slips: set[Slip]) -> tuple[str, str]:
    reasoning, rows = _kept(orders, slips)
    if not rows and "zero" in slips:
        return reasoning + "Nothing is left, so 0 it is.", "0"
    return reasoning + "I counted.", str(len(rows)) if rows else "none"


def paid_share(orders: Sequence[Order], slips: set[Slip]) -> tuple[str, str]:
    reasoning, rows = _kept(orders, slips)
    part = sum(order.state == "paid" for order in rows) / len(rows) if rows else 0.0
    if "percent" in slips:
        return reasoning + "I leave the quotient as it is.", f"{part:.2f}"
    return reasoning + "Times a hundred.", f"{100 * part:.0f}%"


ANSWERS: dict[str, Callable[[Sequence[Order], set[Slip]], tuple[str, str]]] = {
    "total": total_price, "weight": total_weight, "customers": list_customers,
    "first": first_date, "count": count_orders, "share": paid_share,
}  # fmt: skip
"""Kind of question -> (reasoning, answer) from the orders that it is about."""
