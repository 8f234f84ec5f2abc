"""Dates, times, and calendar and fiscal periods, with their places in a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from harness.rag.check.numbers.types import Period
from harness.rag.check.numbers.words import ORDINALS

_MONTH_NAMES = (
    "january february march april may june july august september october november december"
)
_MONTHS = _MONTH_NAMES.split()
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
_WEEKDAYS: list[str] = list(_DAY_NAMES.split())
_YEAR = r"(?P<year>1[0-9]\d\d|20\d\d)(?![\d%]|[.,]\d)"
_DAY = r"(?P<day>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?![\d%]|[.,]\d)"
_FISCAL = r"(?:fiscal(?: years?)?|FYE?|financial year|year ended|years ended)"
_NTH = r"(?P<nth>first|second|third|fourth|1st|2nd|3rd|4th|final|last)"
_SHORT = r"(?P<short>\d\d)(?!\d)"
_CLOCK = r"(?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)"
_HALF_DAY = r"(?P<half>[ap]\.m\.|[ap]m\b)"
_UNTIL = r"(?:\s?[-/\u2013\u2014]\s?| to | through )"
_OF = r"(?:[ ,]+(?:of |in )?)"

Build = Callable[[re.Match[str]], Period | None]


def periods(text: str) -> Iterator[Period]:
    """Periods of a normalised text in order; of overlapping ones the first rule's."""
    taken: list[tuple[int, int]] = []
    found: list[Period] = []
    for pattern, build in _RULES:
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < right and left < end for left, right in taken):
                continue
            period = build(match)
            if period is not None:
                taken.append((start, end))
                found.append(replace(period, start=start, end=end, text=match[0]))
    yield from sorted(found, key=lambda one: one.start)


def _int(match: re.Match[str], name: str) -> int | None:
    found = match.groupdict().get(name)
    return int(found) if found else None


def _year(match: re.Match[str]) -> int | None:
    short = match.groupdict().get("short")
    if short:
        return (2000 if int(short) < 70 else 1900) + int(short)
    return _int(match, "year")


def _month_number(name: str) -> int:
    return next(at for at, one in enumerate(_MONTHS, 1) if one.startswith(name[:3].lower()))


def _named_month(match: re.Match[str]) -> Period | None:
    day, year = _int(match, "day"), _year(match)
    if day is None and year is None and match["month"] in ("may", "May", "mar", "Mar", "march"):
        return None  # the verb, the planet, the walk
    return Period(year=year, month=_month_number(match["month"]), day=day)


def _iso(match: re.Match[str]) -> Period | None:
    month, day = int(match["m"]), int(match["d"])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    return Period(year=int(match["year"]), month=month, day=day)


def _slashed(match: re.Match[str]) -> Period | None:
    """Month first as in the United States; the other order is a further reading."""
    first, second, year = int(match["a"]), int(match["b"]), int(match["c"])
    year += 0 if year > 99 else 2000 if year < 70 else 1900
    orders = [(first, second), (second, first)]
    valid = [Period(year=year, month=m, day=d) for m, d in orders if m <= 12 and 1 <= d <= 31 and m]
    if not valid:
        return None
    return replace(valid[0], others=tuple(valid[1:]) if first != second else ())


def _quarter(match: re.Match[str]) -> Period | None:
    word = (match.groupdict().get("nth") or "").lower()
    number = _int(match, "q")
    if number is None:
        number = 4 if word in ("final", "last") else ORDINALS.get(word) or int(word[0])
    fiscal = "f" in match[0].lower().replace("of", "").replace("first", "").replace("half", "")
    if "half" in match[0].lower() or match[0][0] in "Hh":
        return Period(year=_year(match), half=min(number, 2), fiscal=fiscal)
    return Period(year=_year(match), quarter=number, fiscal=fiscal)


def _fiscal(match: re.Match[str]) -> Period | None:
    return Period(year=_year(match), until=_until(match), fiscal=True)


def _until(match: re.Match[str]) -> int | None:
    last, first = match.groupdict().get("until"), _year(match)
    if not last or first is None:
        return None
    return int(last) if len(last) == 4 else first - first % 100 + int(last)


def _span(match: re.Match[str]) -> Period | None:
    first, last = _year(match), _until(match)
    if first is None or last is None or not first < last <= first + 300:
        return None
    return Period(year=first, until=last)


def _decade(match: re.Match[str]) -> Period | None:
    digits = match["decade"]
    return Period(decade=int(digits) if len(digits) == 4 else 1900 + int(digits))


def _century(match: re.Match[str]) -> Period | None:
    word = match["century"].lower()
    return Period(century=ORDINALS.get(word) or int(re.sub(r"\D", "", word) or 0) or None)


def _clock(match: re.Match[str]) -> Period | None:
    hour, minute = int(match["hour"]), _int(match, "minute") or 0
    half = (match.groupdict().get("half") or "").lower().replace(".", "")
    if hour > 24 or (half and hour > 12):
        return None
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return Period(hour=hour, minute=minute)


def _noon(match: re.Match[str]) -> Period | None:
    return Period(hour=12 if match[0].lower() == "noon" else 0, minute=0)


def _weekday(match: re.Match[str]) -> Period | None:
    return Period(weekday=_WEEKDAYS.index(match[1].lower()) + 1)


def _bare_year(match: re.Match[str]) -> Period | None:
    """A year behind a sign is a number, unless the sign joins it to a word (mid-2019)."""
    before = match.string[max(0, match.start() - 2) : match.start()]
    return (
        None
        if before[-1:] in ("-", "+") and not before[:1].isalpha()
        else Period(year=_year(match))
    )


def _rule(pattern: str, build: Build, flags: int = re.IGNORECASE) -> tuple[re.Pattern[str], Build]:
    return re.compile(rf"(?<![\w$€£.,]){pattern}", flags), build


_RULES: tuple[tuple[re.Pattern[str], Build], ...] = (
    _rule(r"(?P<year>\d{4})[-/.](?P<m>\d\d?)[-/.](?P<d>\d\d?)(?![\d.])", _iso),
    _rule(r"(?P<a>\d\d?)[/.](?P<b>\d\d?)[/.](?P<c>\d{4}|\d\d)(?![\d/.]\d)(?!\d)", _slashed),
    _rule(rf"{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?", _named_month),
    _rule(rf"{_MONTH} {_DAY}(?: ?,? {_YEAR})?", _named_month),
    _rule(rf"{_MONTH}(?:,| of)? {_YEAR}", _named_month),
    _rule(rf"[QH](?P<q>[1-4])(?:[ -/]?(?:{_FISCAL} ?)?(?:{_YEAR}|'?{_SHORT}))?(?!\w)", _quarter),
    _rule(rf"(?P<q>[1-4])[QH] ?(?:FY ?)?(?:{_YEAR}|'?{_SHORT})?(?!\w)", _quarter),
    _rule(
        rf"{_NTH}[ -](?:fiscal )?(?:quarter|half)\b(?:{_OF}(?:the )?(?:{_FISCAL} )?{_YEAR})?",
        _quarter,
    ),
    _rule(
        rf"{_FISCAL} ?'?(?:{_YEAR}|{_SHORT})(?:[-/\u2013](?P<until>\d{{4}}|\d\d)(?!\d))?", _fiscal
    ),
    _rule(r"(?P<decade>1[0-9]\d0|20\d0)'?s\b", _decade),
    _rule(r"(?:the )?'?(?P<decade>[2-9]0)'?s\b", _decade),
    _rule(
        r"(?P<century>\d\d?(?:st|nd|rd|th)|[a-z]+(?:th|st|nd|rd))[ -]centur(?:y|ies)\b", _century
    ),
    _rule(rf"{_CLOCK}(?::[0-5]\d)?(?: ?{_HALF_DAY})?", _clock),
    _rule(r"(?P<hour>1[0-2]|[1-9]) ?(?P<half>[ap]\.m\.|[ap]m\b)(?!\w)", _clock),
    _rule(r"(?:noon|midnight)\b", _noon),
    _rule(rf"{_YEAR}{_UNTIL}(?P<until>\d{{4}}|\d\d)(?![\d%]|[.,]\d)", _span),
    _rule(rf"({'|'.join(_WEEKDAYS)})\b", _weekday),
    _rule(rf"{_MONTH}(?= |[,.;)]|$)", _named_month),
    _rule(
        rf"{_YEAR}(?! ?(?:km|kg|m|mi|miles|met(?:er|re)s|people|tons|tonnes|million|billion"
        r"|thousand|percent|dollars|employees|points|votes|feet|years)\b)(?![-\w])",
        _bare_year,
    ),
)
