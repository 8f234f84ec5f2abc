"""Denotation accuracy of WikiTableQuestions (Pasupat and Liang 2015), by its evaluator's rules.

An item is a number, a date or a text, as its canonical form says; gold items may bring one that a
date parser found, an answer's items are read as they stand. Two items match if their texts are
equal once normalised, or if they are numbers no more than 1e-6 apart, or the same date. Answer and
gold match if they have equally many different items and each of the gold's finds a match.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

MOST_CHARACTERS = 2000
"""Of an item; no gold item is nearly as long, and the expressions below take longer than that."""
_ALIKE = (
    ("\u2018\u2019\u00b4`", "'"),
    ("\u201c\u201d", '"'),
    ("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
)
"""Quotation marks and dashes that count as the plain one behind them."""
_PLAIN = str.maketrans({sign: plain for signs, plain in _ALIKE for sign in signs})
_MARKS = "\u2022\u2666\u2020\u2021*#+"
_DETAILS = re.compile(r"(?<!^)( \([^)]*\))*$")
_QUOTED = re.compile(r'^"([^"]*)"$')

Date = tuple[int | None, int | None, int | None]
"""Year, month and day; None is unknown."""


@dataclass(frozen=True)
class Item:
    """One item of an answer.

    Attributes:
        text: normalised.
        number: if it is one.
        date: if it is one.
    """

    text: str
    number: float | None = None
    date: Date | None = None

    @property
    def value(self) -> object:
        """What makes two items the same one."""
        return self.number if self.number is not None else self.date or self.text

    def matches(self, other: Item) -> bool:
        """Whether they are equal by text, number or date."""
        if self.text == other.text:
            return True
        if self.number is not None and other.number is not None:
            return abs(self.number - other.number) < 1e-6
        return self.date is not None and self.date == other.date


def normalised(text: str) -> str:
    """Without accents, citations, details in brackets, outer quotes, a full stop; lower case."""
    text = "".join(
        sign for sign in unicodedata.normalize("NFKD", text) if unicodedata.category(sign) != "Mn"
    ).translate(_PLAIN)
    before = None
    while text != before:
        before = text
        text = uncited(text.strip())
        text = _DETAILS.sub("", text.strip())
        text = _QUOTED.sub(r"\1", text.strip())
    return " ".join(text.removesuffix(".").split()).lower()


def uncited(text: str) -> str:
    """Without the citations at its end: `[1]`, `[note]`, and marks such as `*`.

    Its first sign begins a citation only as `[1]`: a text may be in brackets as a whole. By hand,
    because the evaluator's expression takes exponential time on `[1][1][1]…[1`.
    """
    while True:
        shorter = text.rstrip(_MARKS)
        if shorter.endswith("]"):
            begin = shorter.find("[", shorter.rfind("]", 0, len(shorter) - 1) + 1)
            if begin == 0 and not shorter[1:-1].isdecimal():
                begin = shorter.find("[", 1)
            shorter = shorter[:begin] if begin >= 0 else shorter
        if shorter == text:
            return text
        text = shorter


def item_of(text: str, canonical: str = "") -> Item:
    """An item from its text.

    Args:
        text: as it stands.
        canonical: a number, or a date as `yyyy-mm-dd` with `xx` for what is unknown; default
            what the text says itself.
    """
    text = text[:MOST_CHARACTERS]
    said = (canonical or text).strip()
    number, date = _number(said), _date(said)
    if number is None and date is not None and date[1] is None and date[2] is None:
        number, date = float(date[0] or 0), None  # a year alone is a number
    if number is not None:
        whole = round(number)
        number, date = float(whole) if abs(number - whole) < 1e-6 else number, None
    return Item(normalised(text), number, date)


def same_denotation(gold: Sequence[Item], answer: Sequence[Item]) -> bool:
    """Whether an answer denotes what the gold items denote."""
    wanted = {one.value: one for one in gold}.values()
    found = {one.value: one for one in answer}.values()
    return len(wanted) == len(found) and all(
        any(one.matches(other) for other in found) for one in wanted
    )


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _date(text: str) -> Date | None:
    parts = text.lower().split("-")
    if len(parts) != 3:
        return None
    try:
        year = None if parts[0] in ("xx", "xxxx") else int(parts[0])
        month, day = (None if part == "xx" else int(part) for part in parts[1:])
    except ValueError:
        return None
    sound = (month is None or 1 <= month <= 12) and (day is None or 1 <= day <= 31)
    return (year, month, day) if sound and (year, month, day) != (None, None, None) else None
