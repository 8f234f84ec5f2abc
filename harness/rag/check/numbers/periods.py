"""Dates, times and stretches of time: how they are written, and which are the same."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

from harness.rag.check.numbers.digits import ORDINALS


class Agreement(StrEnum):
    """Relation of a claimed value to one of a source."""

    SAME = "same"
    DIFFERENT = "different"
    INCOMPARABLE = "incomparable"


@dataclass(frozen=True)
class Period:
    """A date, a time, or a stretch of time; fields that are not stated are None.

    A fiscal year is not told apart from a calendar year.

    Attributes:
        year: four digits; the first one of a span of years.
        until: last year of such a span.
        month: 1 to 12.
        day: 1 to 31.
        quarter: 1 to 4.
        half: 1 or 2.
        decade: first year of it.
        century: as people count (19th: 19).
        weekday: 1 for Monday.
        minutes: of the day, 0 to 1439.
        zone: minutes that its clocks are ahead of UTC.
        start: first character.
        end: character behind the last one.
        text: verbatim.
        alternatives: further readings (05/03/2019).
    """

    year: int | None = None
    until: int | None = None
    month: int | None = None
    day: int | None = None
    quarter: int | None = None
    half: int | None = None
    decade: int | None = None
    century: int | None = None
    weekday: int | None = None
    minutes: int | None = None
    zone: int | None = None
    start: int = 0
    end: int = 0
    text: str = ""
    alternatives: tuple[Period, ...] = ()

    @property
    def size(self) -> Period:
        """A period has neither sign nor bound."""
        return self

    @property
    def key(self) -> tuple[object, ...]:
        """Identity of a period: its words."""
        return (self.text,)


def stated(period: Period) -> dict[str, int]:
    """Its fields that are stated."""
    fields = {name: getattr(period, name) for name in list(Period.__annotations__)[:11]}
    return {name: value for name, value in fields.items() if value is not None}


def _implied(stated: dict[str, int]) -> dict[str, int]:
    """Add to the stated parts those that a calendar implies: a quarter of a month, a decade of a
    year.
    """
    implied: dict[str, int] = {}
    year, month, day = (stated.get(name) for name in ("year", "month", "day"))
    if month:
        implied |= {"quarter": (month + 2) // 3, "half": (month + 5) // 6}
    elif "quarter" in stated:
        implied["half"] = (stated["quarter"] + 1) // 2
    if year and "until" not in stated:
        implied |= {"decade": year - year % 10, "century": (year + 99) // 100}
    elif "decade" in stated:
        implied["century"] = stated["decade"] // 100 + 1
    if year and month and day:
        with suppress(ValueError):  # 31 February
            implied["weekday"] = datetime.date(year, month, day).isoweekday()
    return implied | stated


def compare_periods(claim: Period, source: Period) -> Agreement:
    """Compare a claimed period with one of a source, which may be finer."""
    claimed, cited = stated(claim), stated(source)
    if "zone" in claimed and "zone" in cited:
        for fields in (claimed, cited):
            fields["minutes"] = (fields["minutes"] - fields.pop("zone")) % 1440
    else:
        claimed.pop("zone", 0)
    if {"year"} == claimed.keys() & cited.keys() and ("until" in claimed) != ("until" in cited):
        return Agreement.DIFFERENT  # 2018-19 is not 2018
    implied, cited = _implied(claimed), _implied(cited)
    if any(implied[name] != cited[name] for name in implied.keys() & cited.keys()):
        return Agreement.DIFFERENT
    covered = claimed and claimed.keys() <= cited.keys()
    return Agreement.SAME if covered else Agreement.INCOMPARABLE


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
_CLOCK = r"(?P<hour>[01]?\d|2[0-4])[:.](?P<minute>[0-5]\d)"
_HALF_DAY = r"(?P<half>[ap]\.m\.|[ap]m\b|in the (?:morning|afternoon|evening)\b)"
_ZONES = {
    "UTC": 0, "GMT": 0, "Z": 0, "WET": 0, "WEST": 60, "BST": 60, "CET": 60, "CEST": 120,
    "EET": 120, "EEST": 180, "MSK": 180, "IST": 330, "JST": 540, "AEST": 600, "EDT": -240,
    "EST": -300, "CDT": -300, "CST": -360, "MDT": -360, "MST": -420, "PDT": -420, "PST": -480,
}  # fmt: skip
_ZONE = rf"(?: ?(?P<zone>{'|'.join(sorted(_ZONES, reverse=True))})(?!\w))?"
_IN = re.compile(r"\b(?:in|since|until|till|from|to|by|of|early|late|mid|during) $", re.IGNORECASE)
_UNTIL = r"(?:\s?[-/\u2013\u2014]\s?| to | through )"
_OF = r"(?:[ ,]+(?:of |in )?)"


_DECADES = (
    "twenties",
    "thirties",
    "forties",
    "fifties",
    "sixties",
    "seventies",
    "eighties",
    "nineties",
)
_HOURS = {
    word: hour
    for hour, word in enumerate(
        [
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
        ],
        start=1,
    )
} | {"noon": 12, "midnight": 24}
_HOUR = rf"1[0-2]|[1-9]|{'|'.join(list(_HOURS)[:12])}"


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
    lone = day is None and year is None and match["month"] in ("may", "May", "mar", "Mar", "march")
    ahead = match.string[max(0, match.start() - 8) : match.start()]
    if lone and not (match["month"] == "May" and _IN.search(ahead)):
        return None  # the verb, the planet, the walk
    return Period(year=year, month=_MONTH_NAMES.index(match["month"][:3].lower()) + 1, day=day)


def _quarter(match: re.Match[str]) -> Period | None:
    text, number = match[0].lower(), _int(match, "q")
    if number is None:
        nth = match["nth"].lower()
        number = 4 if nth in ("final", "last") else ORDINALS.get(nth) or int(nth[0])
    if "half" in text or re.match(r"\d?h", text):
        return Period(year=_year(match), half=min(number, 2))
    return Period(year=_year(match), quarter=number)


def _clock(match: re.Match[str]) -> Period | None:
    groups = match.groupdict()
    written, half = groups["hour"], (groups.get("half") or "").lower().replace(".", "")
    hour = _HOURS.get(written.lower()) or int(written)
    if hour > 24 or (half and hour > 12):
        return None
    late = half in ("pm", "in the afternoon", "in the evening")
    hour = hour % 12 + 12 * late if half else hour % 24
    minutes = 60 * hour + (_int(match, "minute") or 0)
    if part := groups.get("part"):
        minutes += {"half past": 30, "quarter past": 15, "quarter to": -15}[part.lower()]
    zone = groups.get("zone")
    period = Period(minutes=minutes, zone=_ZONES[zone.upper()] if zone else None)
    either = not half and 0 < hour <= 12 and written[0] != "0"  # 2:30 may be in the afternoon
    later = replace(period, minutes=(minutes + 720) % 1440)
    return replace(period, alternatives=(later,)) if either else period


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
    (r"(\d{4})[-/.](\d\d?)[-/.](\d\d?)(?!\d|\.\d)", _numeric),
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
        lambda match: Period(year=_year(match), until=_until(match)),
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
    (
        rf"the (?:mid-|early |late )?(?P<tens>{'|'.join(_DECADES)})\b",
        lambda match: Period(decade=1920 + 10 * _DECADES.index(match["tens"].lower())),
    ),
    (rf"{_CLOCK} ?{_HALF_DAY}{_ZONE}", _clock),
    (rf"{_CLOCK.replace('[:.]', ':')}(?::[0-5]\d)?{_ZONE}", _clock),
    (rf"(?P<hour>1[0-2]|0?[1-9]) ?{_HALF_DAY}{_ZONE}(?!\w)", _clock),
    (rf"(?P<part>(?:half|quarter) past|quarter to) (?P<hour>{_HOUR})(?: {_HALF_DAY})?", _clock),
    (rf"(?P<hour>noon|midnight)\b{_ZONE}", _clock),
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
