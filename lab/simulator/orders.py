"""A simulated agent at an order desk: it reads a table and answers against the house's customs.

The customs (leave cancelled orders out, amounts with two decimals, ...) stand nowhere in a task.
Each is a planted failure that a line of the skill switches off if it entails the remedy. What the
agent does shows in its reasoning, as behaviour: there is no label of a failure in a transcript.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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
        if HEADER in text and (found := pattern.search(text)):
            rows: list[tuple[str, ...]] = _ROW.findall(text)
            return kind, found[1], tuple(_order(row) for row in rows)
    return None


def _order(row: tuple[str, ...]) -> Order:
    day = datetime.strptime(row[6].strip(), "%d %B %Y").date()
    return Order(row[1], row[2], int(row[3]), float(row[4]), row[5], day)


def answer(kind: str, asked: str, orders: Sequence[Order], slips: set[Slip]) -> tuple[str, str]:
    """(reasoning, answer) to a question, wrong in the ways of `slips`; right without any."""
    by_customer = [one for one in orders if one.customer == asked]
    by_item = [one for one in orders if one.item == asked]
    if kind == "total":
        return _total(by_customer, slips)
    if kind == "weight":
        return _weight(by_item, slips)
    if kind == "customers":
        return _customers(by_item, slips)
    if kind == "first":
        return _first(by_customer, slips)
    if kind == "count":
        return _count(by_customer, slips)
    return _share(by_customer, slips)


def _kept(orders: Sequence[Order], slips: set[Slip]) -> tuple[str, list[Order]]:
    said = "I keep what was not called off. "
    kept = [one for one in orders if one.state != "cancelled"]
    if "cancelled" in slips:
        said, kept = "I take each row whatever became of it. ", list(orders)
    if "small" in slips:
        said += "I pass over the light rows. "
        kept = [one for one in kept if one.grams >= 500]
    return said, kept


def _total(orders: Sequence[Order], slips: set[Slip]) -> tuple[str, str]:
    said, kept = _kept(orders, slips)
    back = 1 if "refund" in slips else -1
    said += (
        "Money that went back is added like the rest. " if back == 1 else "Money back is minus. "
    )
    amount = sum(one.price * (back if one.state == "refunded" else 1) for one in kept)
    if "rounding" in slips:
        return said + "I write the sum with all its digits.", f"{amount:.4f}"
    return said + "Two digits are enough.", f"{amount:.2f}"


def _weight(orders: Sequence[Order], slips: set[Slip]) -> tuple[str, str]:
    said, kept = _kept(orders, slips)
    grams = sum(one.grams for one in kept)
    if "kilograms" in slips:
        return said + "The column holds g, so I answer in g.", f"{grams} g"
    return said + "I divide by a thousand.", f"{grams / 1000:.3f} kg"


def _customers(orders: Sequence[Order], slips: set[Slip]) -> tuple[str, str]:
    names = [one.customer for one in orders]
    said = ""
    if "duplicates" in slips:
        said += "I write down a buyer at every row. "
    else:
        names = list(dict.fromkeys(names))
    if "order" in slips:
        said += "I go through the table from the top. "
    else:
        names = sorted(names)
    if "capitals" in slips:
        said += "I copy the spelling of the table. "
    else:
        names = [name.upper() for name in names]
    mark = ", " if "separator" in slips else "; "
    said += "I put commas between them." if mark == ", " else ""
    return said or "I list them as usual.", mark.join(names) or "NONE"


def _first(orders: Sequence[Order], slips: set[Slip]) -> tuple[str, str]:
    if not orders:
        return "There is no row.", "none"
    said, one = "I compare the days. ", min(orders, key=lambda order: order.day)
    if "firstdate" in slips:
        said, one = "The topmost row counts for me. ", orders[0]
    if "isodate" in slips:
        return said + "The day is written out in words.", f"{one.day.day} {one.day:%B %Y}"
    return said + "Year comes first.", one.day.isoformat()


def _count(orders: Sequence[Order], slips: set[Slip]) -> tuple[str, str]:
    said, kept = _kept(orders, slips)
    if not kept and "zero" in slips:
        return said + "Nothing is left, so 0 it is.", "0"
    return said + "I counted.", str(len(kept)) if kept else "none"


def _share(orders: Sequence[Order], slips: set[Slip]) -> tuple[str, str]:
    said, kept = _kept(orders, slips)
    part = sum(one.state == "paid" for one in kept) / len(kept) if kept else 0.0
    if "percent" in slips:
        return said + "I leave the quotient as it is.", f"{part:.2f}"
    return said + "Times a hundred.", f"{100 * part:.0f}%"
