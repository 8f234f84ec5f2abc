"""Values of the numeric engine, and how a claimed value stands to one of a source.

Two values agree if they differ by at most half the last digit of the coarser one: 5.2 and 5.18
agree, 0.05 and 0.09 do not. There is no absolute tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import product
from typing import Literal

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


@dataclass(frozen=True)
class Period:
    """A date, a time, or a stretch of calendar or fiscal time; fields that are not stated are None.

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
        fiscal: whether a fiscal year was named; never told apart from a calendar year.
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
    fiscal: bool = False
    start: int = 0
    end: int = 0
    text: str = ""
    alternatives: tuple[Period, ...] = ()


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
        if isinstance(claimed, Period) and isinstance(stated, Period):
            verdict = _compare_periods(claimed, stated)
        elif isinstance(claimed, Period):
            verdict = _compare_year(stated, claimed)
        elif isinstance(stated, Period):
            verdict = _compare_year(claimed, stated)
        else:
            verdict = _compare_quantities(claimed, stated)
        if verdict is Agreement.SAME:
            return verdict
        best = verdict if verdict is Agreement.DIFFERENT else best
    return best


def _stated(period: Period) -> dict[str, int]:
    return {name: value for name in _TIME_FIELDS if (value := getattr(period, name)) is not None}


def _compare_year(number: Mention, period: Period) -> Agreement:
    """A bare number may be a year."""
    same = (
        isinstance(number, Quantity)
        and number.unit == ""
        and _stated(period) == {"year": number.value}
    )
    return Agreement.SAME if same else Agreement.INCOMPARABLE


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
    return Quantity(
        quantity.value / 100, quantity.step / 100, "", high, quantity.bound, quantity.signed
    )


def _lies_within(exact: Quantity, bounded: Quantity) -> bool:
    """Whether an exact value lies within a bound, and near enough to be what was rounded."""
    above = exact.value >= bounded.value
    below = exact.value <= bounded.value
    near = abs(exact.value - bounded.value) <= abs(bounded.value) / 4
    return near and (above if bounded.bound in ("over", "least") else below)
