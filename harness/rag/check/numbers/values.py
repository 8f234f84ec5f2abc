"""Values of the numeric engine: numbers and periods, and how a claimed one stands to a source's.

Two values agree if they differ by at most half the last digit of the coarser one: 5.2 and 5.18
agree, 0.05 and 0.09 do not. There is no absolute tolerance.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from itertools import product
from typing import Literal

from harness.rag.check.numbers.digits import ORDINALS

Bound = Literal["", "about", "over", "under", "least", "most"]
"""How a value was qualified: about 5, more than 5, less than 5, at least 5, at most 5."""


class Agreement(StrEnum):
    """How a claimed value stands to one of a source."""

    SAME = "same"
    DIFFERENT = "different"
    INCOMPARABLE = "incomparable"


@dataclass(frozen=True)
class Quantity:
    """A number with all that was written around it.

    Attributes:
        value: exact, scale and sign applied, in base units where there is a unit of measure;
            percent as the number in front of the sign.
        step: worth of the last digit written, in the same unit; 0 for an exact one (a fraction).
        unit: "" for a bare number, "%", "pp" (percentage points), "times", an ISO 4217 code, or
            base units such as "meter".
        high: upper end of a range whose lower end is `value`.
        bound: how it was qualified.
        signed: whether a sign, or a word that stands for one, was written.
        start: first character, sign and currency included.
        end: character behind the last one, unit included.
        text: verbatim.
        alternatives: further readings of the same characters (5m: metres or million).
    """

    value: Fraction
    step: Fraction
    unit: str = ""
    high: Fraction | None = None
    bound: Bound = ""
    signed: bool = False
    start: int = 0
    end: int = 0
    text: str = ""
    alternatives: tuple[Quantity, ...] = ()

    @property
    def size(self) -> Quantity:
        """The value without sign and bound: "reduced to below 5" and "under 5" are one number."""
        ends = sorted(abs(end) for end in (self.value, self.high) if end is not None)
        return replace(
            self,
            value=ends[0],
            high=ends[1] if len(ends) > 1 else None,
            bound="",
            signed=False,
            alternatives=tuple(reading.size for reading in self.alternatives),
        )

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two sizes the same."""
        return self.value, self.high, self.unit


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
        hour: 0 to 23.
        minute: 0 to 59.
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
    hour: int | None = None
    minute: int | None = None
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
        """What makes two periods the same: the words."""
        return (self.text,)


Mention = Quantity | Period

# What "about" allows, as a share of the value.
_NEAR = Fraction(5, 100)
# Rounding of unit factors, as a share of the value.
_CONVERTED = Fraction(1, 10**6)
# Different bounds of claim and source under which the values must still be the same.
_BOUND_PAIRS: tuple[set[Bound], ...] = (
    {"", "about"}, {"over", "least"}, {"under", "most"}, {"over", "about"}, {"under", "about"},
)  # fmt: skip
_TIME_FIELDS = (
    "year", "until", "month", "day", "quarter", "half", "decade", "century", "weekday", "hour",
    "minute",
)  # fmt: skip


def agreement(claim: Mention, source: Mention) -> Agreement:
    """How a claimed value stands to one of a source, by the best of their readings.

    A claim may be coarser than its source (2019 for 5 March 2019, over 500 for 512, 5-10 for 7),
    not finer, but for digits: what is written with more digits agrees if it rounds to the other.
    """
    best = Agreement.INCOMPARABLE
    for claimed, stated in product((claim, *claim.alternatives), (source, *source.alternatives)):
        if isinstance(claimed, Quantity) and isinstance(stated, Quantity):
            verdict = _compare_quantities(claimed, stated)
        elif isinstance(claimed, Period) and isinstance(stated, Period):
            verdict = _compare_periods(claimed, stated)
        else:
            verdict = _compare_years(claimed, stated)
        if verdict is Agreement.SAME:
            return verdict
        best = verdict if verdict is Agreement.DIFFERENT else best
    return best


def _compare_years(claim: Mention, source: Mention) -> Agreement:
    """A period and a number, which may be a bare year."""
    stated = [
        {"year": mention.value} if isinstance(mention, Quantity) else _stated(mention)
        for mention in (claim, source)
        if isinstance(mention, Period) or mention.unit == ""
    ]
    same = len(stated) == 2 and stated[0] == stated[1]
    return Agreement.SAME if same else Agreement.INCOMPARABLE


def _stated(period: Period) -> dict[str, int]:
    return {name: value for name in _TIME_FIELDS if (value := getattr(period, name)) is not None}


def _compare_periods(claim: Period, source: Period) -> Agreement:
    claimed, stated = _stated(claim), _stated(source)
    shared = claimed.keys() & stated.keys()
    if any(claimed[name] != stated[name] for name in shared):
        return Agreement.DIFFERENT
    if shared == {"year"} and ("until" in claimed) != ("until" in stated):
        return Agreement.DIFFERENT  # 2018-19 is not 2018
    covered = claimed and claimed.keys() <= stated.keys()
    return Agreement.SAME if covered else Agreement.INCOMPARABLE


def _compare_quantities(claim: Quantity, source: Quantity) -> Agreement:
    units = {claim.unit, source.unit}
    if units == {"", "%"}:  # the bare form of a percentage is the fraction
        claim, source = _as_fraction(claim), _as_fraction(source)
    elif len(units) > 1 and ("" not in units or "pp" in units):
        return Agreement.INCOMPARABLE  # kilograms and metres
    tolerance = max(claim.step, source.step) / 2
    if "about" in (claim.bound, source.bound):
        tolerance = max(tolerance, _NEAR * abs(source.value))
    if len(claim.unit) > 3 and claim.unit != "times":
        tolerance += _CONVERTED * abs(source.value)
    difference = abs(claim.value - source.value)
    if claim.high is not None and source.high is not None:
        same = max(difference, abs(claim.high - source.high)) <= tolerance
    elif claim.high is not None:
        same = claim.value - tolerance <= source.value <= claim.high + tolerance
    elif source.high is not None:  # a source that gives a range states no value within it
        inside = source.value <= claim.value <= source.high
        return Agreement.INCOMPARABLE if inside else Agreement.DIFFERENT
    elif claim.bound == source.bound or {claim.bound, source.bound} in _BOUND_PAIRS:
        same = difference <= tolerance
    elif claim.bound == "":
        same = _lies_within(claim, source)
    else:
        same = source.bound in ("", "about") and _lies_within(source, claim)
    return Agreement.SAME if same else Agreement.DIFFERENT


def _as_fraction(quantity: Quantity) -> Quantity:
    if quantity.unit != "%":
        return quantity
    high = quantity.high / 100 if quantity.high is not None else None
    return replace(
        quantity, value=quantity.value / 100, step=quantity.step / 100, high=high, unit=""
    )


def _lies_within(exact: Quantity, bounded: Quantity) -> bool:
    """Whether an exact value lies within a bound, and near enough to be what was rounded."""
    above = exact.value >= bounded.value
    below = exact.value <= bounded.value
    near = abs(exact.value - bounded.value) <= abs(bounded.value) / 4
    return near and (above if bounded.bound in ("over", "least") else below)


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
    if "half" in text or re.match(r"\d?h", text):
        return Period(year=_year(match), half=min(number, 2))
    return Period(year=_year(match), quarter=number)


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
