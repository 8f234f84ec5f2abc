"""Dates, times, and calendar and fiscal periods, with their places in a text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from harness.rag.check.numbers.digits import ORDINALS
from harness.rag.check.numbers.values import Period

_MONTH_NAMES = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_YEAR = r"(?P<year>1[0-9]\d\d|20\d\d)(?![\d%]|[.,]\d)"
_DAY = r"(?P<day>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?![\d%]|[.,]\d)"
_FISCAL = r"(?:fiscal(?: years?)?|FYE?|financial year|year ended|years ended)"
_NTH = r"(?P<nth>first|second|third|fourth|1st|2nd|3rd|4th|final|last)"
_SHORT = r"(?P<short>\d\d)(?!\d)"
_CLOCK = r"(?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)"
_HALF_DAY = r"(?P<half>[ap]\.m\.|[ap]m\b)"
_UNTIL = r"(?:\s?[-/\u2013\u2014]\s?| to | through )"
_OF = r"(?:[ ,]+(?:of |in )?)"


def periods(text: str) -> list[Period]:
    """Periods of a normalised text in order; of overlapping ones the first rule's."""
    stated: list[Period] = []
    for pattern, build in _RULES:
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < period.end and period.start < end for period in stated):
                continue
            period = build(match)
            if period is not None:
                stated.append(replace(period, start=start, end=end, text=match[0]))
    return sorted(stated, key=lambda period: period.start)


def _int(match: re.Match[str], group: str) -> int | None:
    digits = match.groupdict().get(group)
    return int(digits) if digits else None


def _year(match: re.Match[str]) -> int | None:
    short = _int(match, "short")
    return _int(match, "year") if short is None else _in_century(short)


def _in_century(short: int) -> int:
    return short + (2000 if short < 70 else 1900)


def _until(match: re.Match[str]) -> int | None:
    """The last year of a span, whose century may be left out (2018-19)."""
    last, first = match["until"], _year(match)
    if not last or first is None:
        return None
    return int(last) if len(last) == 4 else first - first % 100 + int(last)


def _numeric(match: re.Match[str]) -> Period | None:
    """Year first; or month first as in the United States, day first as an alternative reading."""
    first, second, third = (int(number) for number in match.groups())
    if len(match[1]) == 4:
        orders = {(second, third): first}
    else:
        year = third if third > 99 else _in_century(third)
        orders = {(first, second): year, (second, first): year}
    valid = [
        Period(year=year, month=month, day=day)
        for (month, day), year in orders.items()
        if 1 <= month <= 12 and 1 <= day <= 31
    ]
    return replace(valid[0], alternatives=tuple(valid[1:])) if valid else None


def _named_month(match: re.Match[str]) -> Period | None:
    day, year = _int(match, "day"), _year(match)
    if day is None and year is None and match["month"] in ("may", "May", "mar", "Mar", "march"):
        return None  # the verb, the planet, the walk
    return Period(year=year, month=_MONTH_NAMES.index(match["month"][:3].lower()) + 1, day=day)


def _quarter(match: re.Match[str]) -> Period | None:
    text, number = match[0].lower(), _int(match, "q")
    if number is None:
        nth = match["nth"].lower()
        number = 4 if nth in ("final", "last") else ORDINALS.get(nth) or int(nth[0])
    fiscal = "f" in text.replace("of", "").replace("first", "").replace("half", "")
    if "half" in text or re.match(r"\d?h", text):
        return Period(year=_year(match), half=min(number, 2), fiscal=fiscal)
    return Period(year=_year(match), quarter=number, fiscal=fiscal)


def _clock(match: re.Match[str]) -> Period | None:
    hour, half = int(match["hour"]), (match["half"] or "").lower().replace(".", "")
    if hour > 24 or (half and hour > 12):
        return None
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return Period(hour=hour, minute=_int(match, "minute") or 0)


def _bare_year(match: re.Match[str]) -> Period | None:
    """A year behind a sign is a number, unless the sign joins it to a word (mid-2019)."""
    before = match.string[max(0, match.start() - 2) : match.start()]
    signed = before[-1:] in ("-", "+") and not before[:1].isalpha()
    return None if signed else Period(year=int(match["year"]))


def _span(match: re.Match[str]) -> Period | None:
    first, last = int(match["year"]), _until(match)
    return Period(year=first, until=last) if last and first < last <= first + 300 else None


# How periods are written, the first rule first, and what a match means.
_WRITTEN: tuple[tuple[str, Callable[[re.Match[str]], Period | None]], ...] = (
    (r"(\d{4})[-/.](\d\d?)[-/.](\d\d?)(?![\d.])", _numeric),
    (r"(\d\d?)[/.](\d\d?)[/.](\d{4}|\d\d)(?![\d/.]\d)(?!\d)", _numeric),
    (rf"{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?", _named_month),
    (rf"{_MONTH} {_DAY}(?: ?,? {_YEAR})?", _named_month),
    (rf"{_MONTH}(?:,| of)? {_YEAR}", _named_month),
    (rf"[QH](?P<q>[1-4])(?:[ -/]?(?:{_FISCAL} ?)?(?:{_YEAR}|'?{_SHORT}))?(?!\w)", _quarter),
    (rf"(?P<q>[1-4])[QH] ?(?:FY ?)?(?:{_YEAR}|'?{_SHORT})?(?!\w)", _quarter),
    (
        rf"{_NTH}[ -](?:fiscal )?(?:quarter|half)\b(?:{_OF}(?:the )?(?:{_FISCAL} )?{_YEAR})?",
        _quarter,
    ),
    (
        rf"{_FISCAL} ?'?(?:{_YEAR}|{_SHORT})(?:[-/\u2013](?P<until>\d{{4}}|\d\d)(?!\d))?",
        lambda match: Period(year=_year(match), until=_until(match), fiscal=True),
    ),
    (r"(1[0-9]\d0|20\d0)'?s\b", lambda match: Period(decade=int(match[1]))),
    (r"(?:the )?'?([2-9]0)'?s\b", lambda match: Period(decade=1900 + int(match[1]))),
    (
        rf"(?:(?P<nth>\d\d?)(?:st|nd|rd|th)|(?P<tens>twenty-)?(?P<word>{'|'.join(ORDINALS)}))"
        r"[ -]centur(?:y|ies)\b",
        lambda match: Period(
            century=int(match["nth"] or ORDINALS[match["word"].lower()] + 20 * bool(match["tens"]))
        ),
    ),
    (rf"{_CLOCK}(?::[0-5]\d)?(?: ?{_HALF_DAY})?", _clock),
    (rf"(?P<hour>1[0-2]|[1-9]) ?{_HALF_DAY}(?!\w)", _clock),
    (r"noon\b", lambda _: Period(hour=12, minute=0)),
    (r"midnight\b", lambda _: Period(hour=0, minute=0)),
    (rf"{_YEAR}{_UNTIL}(?P<until>\d{{4}}|\d\d)(?![\d%]|[.,]\d)", _span),
    (
        rf"({'|'.join(_WEEKDAYS)})\b",
        lambda match: Period(weekday=_WEEKDAYS.index(match[1].lower()) + 1),
    ),
    (rf"{_MONTH}(?= |[,.;)]|$)", _named_month),
    (
        rf"{_YEAR}(?! ?(?:km|kg|m|mi|miles|met(?:er|re)s|people|tons|tonnes|million|billion"
        r"|thousand|percent|dollars|employees|points|votes|feet|years)\b)(?![-\w])",
        _bare_year,
    ),
)
_RULES = [
    (re.compile(rf"(?<![\w$€£.,]){pattern}", re.IGNORECASE), build) for pattern, build in _WRITTEN
]
