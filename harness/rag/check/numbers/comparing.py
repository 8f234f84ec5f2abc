"""Whether a claimed value is the one of a source: tolerance by the digits that were written.

Two values agree if they differ by at most half the last digit of the coarser one: 5.2 and 5.18
agree, 0.05 and 0.09 do not. There is no absolute tolerance.
"""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction

from harness.rag.check.numbers.reading import read_one
from harness.rag.check.numbers.types import Agreement, Bound, Mention, Period, Quantity

NEAR = Fraction(5, 100)
"""What "about" allows, as a share of the value."""
_CONVERTED = Fraction(1, 10**6)
"""Rounding of unit factors, as a share of the value."""
_SAME, _DIFFERENT = Agreement.SAME, Agreement.DIFFERENT
_TIME_FIELDS = (
    "year", "until", "month", "day", "quarter", "half", "decade", "century", "weekday", "hour",
    "minute",
)  # fmt: skip


def agreement(claim: Mention, source: Mention) -> Agreement:
    """How a claimed value stands to one of a source.

    A claim may be coarser than its source (2019 for 5 March 2019, over 500 for 512, 5-10 for 7),
    not finer, but for digits: what is written with more digits agrees if it rounds to the other.
    """
    best = Agreement.INCOMPARABLE
    for one in (claim, *claim.others):
        for other in (source, *source.others):
            found = _agreement(one, other)
            if found is _SAME:
                return found
            best = found if found is _DIFFERENT else best
    return best


def equal(one: str | Mention, other: str | Mention) -> bool:
    """Whether two values are the same: each agrees with the other.

    Texts without a value are never equal: two that "cannot answer" are no match.
    """
    first = read_one(one) if isinstance(one, str) else one
    second = read_one(other) if isinstance(other, str) else other
    if first is None or second is None:
        return False
    return agreement(first, second) is _SAME and agreement(second, first) is _SAME


def _agreement(claim: Mention, source: Mention) -> Agreement:
    if isinstance(claim, Period) and isinstance(source, Period):
        return _periods(claim, source)
    if isinstance(claim, Quantity) and isinstance(source, Quantity):
        return _quantities(claim, source)
    number, period = (claim, source) if isinstance(claim, Quantity) else (source, claim)
    if not isinstance(number, Quantity) or not isinstance(period, Period):
        return Agreement.INCOMPARABLE
    same = number.unit == "" and _only_year(period) and number.value == period.year
    return _SAME if same else Agreement.INCOMPARABLE


def _only_year(period: Period) -> bool:
    said = [name for name in _TIME_FIELDS if getattr(period, name, None) is not None]
    return said == ["year"]


def _periods(claim: Period, source: Period) -> Agreement:
    names = {field.name for field in fields(Period)} & set(_TIME_FIELDS)
    said = {name for name in names if getattr(claim, name) is not None}
    known = {name for name in names if getattr(source, name) is not None}
    if any(getattr(claim, name) != getattr(source, name) for name in said & known):
        return _DIFFERENT
    if {"year"} == said & known and ("until" in said) != ("until" in known):
        return _DIFFERENT  # 2018-19 is not 2018
    if said and said <= known:
        return _SAME
    return Agreement.INCOMPARABLE


def _quantities(claim: Quantity, source: Quantity) -> Agreement:
    scaled = _in_one_unit(claim, source)
    if scaled is None:
        return Agreement.INCOMPARABLE
    claim, source = scaled
    if claim.high is not None or source.high is not None:
        return _ranges(claim, source)
    if claim.bound == source.bound:
        same = abs(claim.value - source.value) <= _tolerance(claim, source)
    else:
        same = _within(claim, source)
    return _SAME if same else _DIFFERENT


def _in_one_unit(claim: Quantity, source: Quantity) -> tuple[Quantity, Quantity] | None:
    """Both in one unit; None where no number could be the same (kilograms and metres).

    A bare number takes any unit but a percentage, whose bare form is the fraction.
    """
    if claim.unit == source.unit:
        return claim, source
    if {claim.unit, source.unit} == {"", "%"}:
        return _as_fraction(claim), _as_fraction(source)
    if "" in (claim.unit, source.unit) and "pp" not in (claim.unit, source.unit):
        return claim, source
    return None


def _as_fraction(one: Quantity) -> Quantity:
    if one.unit != "%":
        return one
    high = one.high / 100 if one.high is not None else None
    return Quantity(one.value / 100, one.step / 100, "", high, one.bound, one.signed)


def _tolerance(claim: Quantity, source: Quantity) -> Fraction:
    rounding = max(claim.step, source.step) / 2
    if "about" in (claim.bound, source.bound):
        rounding = max(rounding, NEAR * abs(source.value))
    measured = len(claim.unit) > 3 and claim.unit != "times"
    return rounding + (_CONVERTED * abs(source.value) if measured else 0)


def _within(claim: Quantity, source: Quantity) -> bool:
    """Whether values with different bounds can be meant for the same."""
    pair: set[Bound] = {claim.bound, source.bound}
    if pair <= {"", "about"}:
        return abs(claim.value - source.value) <= _tolerance(claim, source)
    if pair in ({"over", "least"}, {"under", "most"}, {"over", "about"}, {"under", "about"}):
        return abs(claim.value - source.value) <= _tolerance(claim, source)
    if claim.bound == "" and source.bound != "":
        return _holds(claim, source)
    return source.bound in ("", "about") and _holds(source, claim)


def _holds(exact: Quantity, bounded: Quantity) -> bool:
    """Whether an exact value lies within a bound, and near enough to be what was rounded."""
    near = abs(exact.value - bounded.value) <= abs(bounded.value) * Fraction(1, 4)
    if bounded.bound in ("over", "least"):
        return exact.value >= bounded.value and near
    return exact.value <= bounded.value and near


def _ranges(claim: Quantity, source: Quantity) -> Agreement:
    tolerance = _tolerance(claim, source)
    if claim.high is not None and source.high is not None:
        low, high = abs(claim.value - source.value), abs(claim.high - source.high)
        return _SAME if max(low, high) <= tolerance else _DIFFERENT
    if claim.high is None:  # a source that gives a range does not state a value within it
        inside = source.value <= claim.value <= (source.high or source.value)
        return Agreement.INCOMPARABLE if inside else _DIFFERENT
    inside = claim.value - tolerance <= source.value <= claim.high + tolerance
    return _SAME if inside else _DIFFERENT
