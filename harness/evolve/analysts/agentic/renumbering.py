"""Other numbers and other years in the place of those that a result copies."""

from __future__ import annotations

import datetime
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping

TOKEN = re.compile(
    r"(?P<before>[\s(+-]*(?:[A-Za-z]{3}|[$€£])?[\s(+-]*)"
    r"(?P<number>(?!0\d)\d[\d,]*(?:\.\d+)?)"
    r"(?P<after>\s*(?:[A-Za-z]{3}|[$€£])?[\s)]*)"
)
"""A text that is one number, perhaps with a sign, brackets or a currency, and no code."""
CYCLE_YEARS = 28
"""The calendar from 1901 to 2099 repeats after 28 years: dates, leap days and weekdays alike."""
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
SHORT_YEAR = re.compile(r"(?<!\d)(\d{1,2}\s*[./-]\s*\d{1,2}\s*[./-]\s*)(\d\d)(?!\d)")
_PIVOT = 68
"""Last two-digit year that is read as 20xx (POSIX `strptime`)."""
_DATED = re.compile(r"\d\s*[./-]\s*\d|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)")


def plain_number(value: object) -> float | None:
    """A number without its sign, of a cell that is a number or a text that writes one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return round(abs(float(value)), 2)
    if isinstance(value, str) and (found := TOKEN.fullmatch(value)):
        return round(float(found["number"].replace(",", "")), 2)
    return None


def renumbering(
    wanted: Iterable[float], known: Iterable[float], fixed: Iterable[float], share: float = 0.5
) -> dict[float, float]:
    """Old number -> new number; the order of all known numbers stays.

    Args:
        wanted: numbers to replace as far as possible, without sign.
        known: every number of the data.
        fixed: numbers that keep their meaning and stay.
        share: how far a number moves towards the next larger one, in (0, 1); a whole one moves by
            whole units. Where there is no room it stays.
    """
    kept = set(fixed)
    order = sorted(set(known) | kept)
    found: dict[float, float] = {}
    for number in sorted(set(wanted) - kept):
        place = bisect_left(order, number)
        above = order[place + 1] if place + 1 < len(order) else number * 1.5 + 9
        room = (above - number) * share
        step = float(int(room)) if number == int(number) else round(room, 2)
        new = round(number + step, 2)  # first, since 3.17 + 0.01 is less than 3.18 as a float
        if number < new < above:
            found[number] = order[place] = new
    return found


def renumbered(value: object, numbers: Mapping[float, float]) -> object:
    """A cell value with its number replaced; sign, type and way of writing stay."""
    plain = plain_number(value)
    new = None if plain is None else numbers.get(plain)
    if new is None:
        return value
    if isinstance(value, str):
        found = TOKEN.fullmatch(value)
        assert found is not None  # or it had no number
        old = found["number"]
        places = len(old.partition(".")[2])
        text = f"{new:,.{places}f}" if "," in old else f"{new:.{places}f}"
        return f"{found['before']}{text}{found['after']}"
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
    """Whether all dates can be moved by 28 years: none is named, or out of range."""
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
