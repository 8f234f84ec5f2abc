"""Other words, numbers and years in the place of those that a result copies.

A replacement is a relation that a correct script must respect: what is copied, joined, grouped or
sorted by a word or a number comes out the same with the new one in its place. New words have the
shape of the old ones, and words and numbers sort where the old ones did.
"""

from __future__ import annotations

import datetime
import random
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping

WORD = re.compile(r"[^\W\d_]{3,}")
_VOWELS, _CONSONANTS = "aeiou", "bcdfghklmnprstvw"
_TRIES = 60
# Words that programs give a meaning to, so that they are no names.
FIXED = frozenset(
    re.findall(
        r"\w+",
        "total totals subtotal sum average mean count yes true false none null not nan unknown and "
        "the for from with january february march april may june july august september october "
        "november december jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday "
        "wednesday thursday friday saturday sunday mon tue wed thu fri sat sun eur usd gbp com org "
        "net www http",
    )
)


def words(texts: Iterable[str]) -> set[str]:
    """The words of texts, without case."""
    return {word.casefold() for text in texts for word in WORD.findall(text)}


def renaming(
    renamable: Iterable[str], data: Iterable[str], fixed: Iterable[str], seed: int
) -> dict[str, str]:
    """Old word -> new word, both without case; the order of all words of the data stays.

    Args:
        renamable: words to rename as far as possible, out of the data's.
        data: every word of the data: new ones differ from them and keep the order among them.
        fixed: words that keep their meaning and stay.
        seed: of the choice.
    """
    rng = random.Random(seed)
    meaningful = {word.casefold() for word in fixed} | FIXED
    order = sorted({word.casefold() for word in data})
    names: dict[str, str] = {}
    for word in sorted({word.casefold() for word in renamable} & set(order) - meaningful):
        if not word.isascii():
            continue
        index = bisect_left(order, word)
        below = order[index - 1] if index else ""
        above = order[index + 1] if index + 1 < len(order) else "\U0010ffff"
        # A word of the same length and rhythm strictly between its neighbours.
        for attempt in range(_TRIES):
            head = min(2 + attempt * (len(word) - 2) // _TRIES, len(word) - 1)
            new = word[:head] + "".join(
                rng.choice(_VOWELS if letter in _VOWELS else _CONSONANTS) for letter in word[head:]
            )
            if new != word and below < new < above:
                if new not in meaningful:
                    names[word] = order[index] = new
                break
    return names


def renamed(text: str, names: Mapping[str, str]) -> str:
    """A text with its words renamed; each keeps its capitals."""

    def new(match: re.Match[str]) -> str:
        old = match[0]
        name = names.get(old.casefold())
        if name is None or len(name) != len(old):
            return old
        return "".join(b.upper() if a.isupper() else b for a, b in zip(old, name, strict=True))

    return WORD.sub(new, text)


# A text that is one number, perhaps with a sign, brackets or a currency, and no code.
TOKEN = re.compile(
    r"(?P<before>[\s(+-]*(?:[A-Za-z]{3}|[$€£])?[\s(+-]*)"
    r"(?P<number>(?!0\d)\d[\d,]*(?:\.\d+)?)"
    r"(?P<after>\s*(?:[A-Za-z]{3}|[$€£])?[\s)]*)"
)
# The calendar from 1901 to 2099 repeats after 28 years: dates, leap days and weekdays alike.
CYCLE_YEARS = 28
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
SHORT_YEAR = re.compile(r"(?<!\d)(\d{1,2}\s*[./-]\s*\d{1,2}\s*[./-]\s*)(\d\d)(?!\d)")
# Last two-digit year that is read as 20xx (POSIX `strptime`).
_PIVOT = 68
_DATED = re.compile(r"\d\s*[./-]\s*\d|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)")


def plain_number(value: object) -> float | None:
    """A number without its sign, of a cell that is a number or a text that writes one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return round(abs(float(value)), 2)
    if isinstance(value, str) and (token := TOKEN.fullmatch(value)):
        return round(float(token["number"].replace(",", "")), 2)
    return None


def renumbering(
    replaceable: Iterable[float], data: Iterable[float], fixed: Iterable[float], share: float = 0.5
) -> dict[float, float]:
    """Old number -> new number; the order of all numbers of the data stays.

    Args:
        replaceable: numbers to replace as far as possible, without sign.
        data: every number of the data.
        fixed: numbers that keep their meaning and stay.
        share: how far a number moves towards the next larger one, in (0, 1); a whole one moves by
            whole units. Where there is no room it stays.
    """
    meaningful = set(fixed)
    order = sorted(set(data) | meaningful)
    numbers: dict[float, float] = {}
    for number in sorted(set(replaceable) - meaningful):
        index = bisect_left(order, number)
        above = order[index + 1] if index + 1 < len(order) else number * 1.5 + 9
        room = (above - number) * share
        step = float(int(room)) if number == int(number) else round(room, 2)
        new = round(number + step, 2)  # first, since 3.17 + 0.01 is less than 3.18 as a float
        if number < new < above:
            numbers[number] = order[index] = new
    return numbers


def renumbered(value: object, numbers: Mapping[float, float]) -> object:
    """A cell value with its number replaced; sign, type and way of writing stay."""
    plain = plain_number(value)
    new = None if plain is None else numbers.get(plain)
    if new is None:
        return value
    if isinstance(value, str):
        token = TOKEN.fullmatch(value)
        assert token is not None  # or it had no number
        old = token["number"]
        decimals = len(old.partition(".")[2])
        text = f"{new:,.{decimals}f}" if "," in old else f"{new:.{decimals}f}"
        return f"{token['before']}{text}{token['after']}"
    assert isinstance(value, (int, float))  # or it had no number
    signed = -new if value < 0 else new
    return int(signed) if isinstance(value, int) and signed == int(signed) else signed


def later(value: object) -> object:
    """A date, or a text that writes one with its year, 28 years on."""
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.replace(year=value.year + CYCLE_YEARS)
    if isinstance(value, str) and _DATED.search(value):
        text = SHORT_YEAR.sub(lambda day: f"{day[1]}{int(day[2]) + CYCLE_YEARS:02d}", value)
        return text if text != value else YEAR.sub(lambda y: str(int(y[0]) + CYCLE_YEARS), value)
    return value


def can_move(values: Iterable[object], instruction: str) -> bool:
    """Return True if all dates can be moved by 28 years: none is named, or out of range."""
    if YEAR.search(instruction):
        return False
    for value in values:
        years = [value.year] if isinstance(value, (datetime.datetime, datetime.date)) else []
        if isinstance(value, str):
            if any(int(day[2]) + CYCLE_YEARS > _PIVOT for day in SHORT_YEAR.finditer(value)):
                return False
            years = [int(year) for year in YEAR.findall(value)] if _DATED.search(value) else []
        if any(not 1901 <= year <= 2099 - CYCLE_YEARS for year in years):
            return False
    return True
