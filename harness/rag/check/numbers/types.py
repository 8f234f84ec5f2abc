"""Values of the numeric engine: a quantity, a period, and how two of them stand to each other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
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
        others: further readings of the same characters (5m: metres or million).
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
    others: tuple[Quantity, ...] = ()


@dataclass(frozen=True)
class Period:
    """A date, a time, or a stretch of calendar or fiscal time; fields that are not said are None.

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
        others: further readings (05/03/2019).
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
    others: tuple[Period, ...] = ()


Mention = Quantity | Period
