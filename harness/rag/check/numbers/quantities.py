"""Quantities with their units, and how a claimed value stands to one of a source.

Every value means an interval. A claim is the same as its source if what the source says lies in
what the claim says: a range contains, "more than" does not reach its end, "about" is as wide as
its digits are coarse. Two plain values agree if they differ by at most half the last digit of the
coarser one: 5.2 and 5.18 agree, 0.05 and 0.09 do not. There is no absolute tolerance.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, Literal, NamedTuple, cast

from harness.rag.check.numbers.periods import Agreement, Period, compare_periods, stated

Bound = Literal["", "about", "nearly", "over", "under", "least", "most"]
"""How a value was qualified: about 5, nearly 5, more than 5, less than 5, at least 5, at most 5."""


@dataclass(frozen=True)
class Quantity:
    """A number with all that was written around it.

    Attributes:
        value: exact, scale and sign applied, in the unit that is written; percent as the number in
            front of the sign.
        step: worth of the last digit written, in the same unit; 0 for an exact one (a fraction).
        unit: "" for a bare number, "%", "pp" (percentage points), "times", an ISO 4217 code,
            pint's name of a unit of measure, or "#" and the word that it numbers ("#section").
        high: upper end of a range whose lower end is `value`.
        error: the uncertainty behind it (12.3 ± 0.4).
        bound: how it was qualified.
        scale: what a scale word behind the digits stands for.
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
    error: Fraction | None = None
    bound: Bound = ""
    scale: int = 1
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
        """Identity of a size."""
        return self.value, self.high, self.unit

    def times(self, factor: Fraction, unit: str, offset: Fraction = Fraction(0)) -> Quantity:
        """In another unit: all its numbers times `factor`, its ends plus `offset`."""
        return replace(
            self,
            value=self.value * factor + offset,
            step=self.step * factor,
            unit=unit,
            high=self.high if self.high is None else self.high * factor + offset,
            error=self.error if self.error is None else self.error * factor,
        )


SYMBOLS = {
    "US$": "USD", "A$": "AUD", "AU$": "AUD", "C$": "CAD", "CA$": "CAD", "HK$": "HKD",
    "NZ$": "NZD", "S$": "SGD", "R$": "BRL", "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY",
    "₹": "INR", "₩": "KRW", "₽": "RUB", "₺": "TRY", "₪": "ILS", "฿": "THB", "₫": "VND",
    "₦": "NGN", "₴": "UAH", "RMB": "CNY", "Rs.": "INR", "Rs": "INR", "zł": "PLN",
}  # fmt: skip
_CODES = (
    "USD EUR GBP JPY CNY INR KRW RUB TRY ILS THB VND NGN UAH PLN AUD CAD HKD NZD SGD BRL CHF SEK "
    "NOK DKK CZK HUF MXN ZAR IDR MYR PHP TWD SAR AED ARS CLP COP EGP PKR"
)
CODES = frozenset(_CODES.split())
NAMES = {
    "dollar": "USD", "buck": "USD", "euro": "EUR", "pounds sterling": "GBP", "pound": "GBP",
    "sterling": "GBP", "yen": "JPY", "yuan": "CNY", "renminbi": "CNY", "rupee": "INR",
    "won": "KRW", "ruble": "RUB", "rouble": "RUB", "real": "BRL", "reais": "BRL", "franc": "CHF",
    "kronor": "SEK", "krona": "SEK", "kroner": "NOK", "krone": "NOK", "koruna": "CZK",
    "crown": "", "peso": "MXN", "rand": "ZAR", "zloty": "PLN", "lira": "TRY",
}  # fmt: skip
"""What a dollar is without a country is a convention: the US one, as for its sign."""
CROWNS = ("SEK", "NOK", "DKK", "CZK")
"""What crowns are without a country."""
COUNTRIES = {
    "US": "USD", "U.S.": "USD", "American": "USD", "Australian": "AUD", "Canadian": "CAD",
    "Hong Kong": "HKD", "New Zealand": "NZD", "Singapore": "SGD", "British": "GBP",
    "Swiss": "CHF", "Swedish": "SEK", "Norwegian": "NOK", "Danish": "DKK", "Czech": "CZK",
    "Indian": "INR", "Pakistani": "PKR", "Mexican": "MXN", "Chilean": "CLP", "Colombian": "COP",
    "Argentine": "ARS", "Brazilian": "BRL", "Egyptian": "EGP",
}  # fmt: skip
"""Whose dollar, franc or crown it is."""

_NO_UNITS = (
    "a an as at am are be by do he if i in is it me my no of on or pm so to up us we ad all and "
    "any art bars can cat cats count counts for has her his how its may more new not now old "
    "one our out per point points see she dot dots rod rods stone the too two was who why yes "
    "you turn turns cycle cycles unit units part parts pole poles link links chain chains hand "
    "hands barn barns drop drops pica scaled peak mas fold mil mils mean pad pads pass pat pays "
    "pets past pen page pages team teams than that then this these they there their "
)
# Words that pint would take for units (in: inch) and that prose means otherwise.
_ORDINARY = frozenset(_NO_UNITS.split())
_EXPANDED = {"sq": "square", "cu": "cubic", "kph": "km/h", "kmh": "km/h", "sqm": "meter ** 2"}
_UNIT = re.compile(
    r"[ -]?(?P<phrase>nautical[ _]miles?|(?:kilo|mega|giga|tera)?watt[ -]hours?"
    r"|(?:square|sq\.?|cubic|cu\.?)[ -][A-Za-z]+|°[CF]|degrees? (?:celsius|fahrenheit)"
    r"|[A-Za-zµμ]+(?: per |/)[A-Za-zµμ]+[²³]?|[A-Za-zµμΩ]+[²³])(?![\w/])"
    r"|[ -]?(?P<word>[A-Za-zµμΩ]+)(?![\w/])",
    re.IGNORECASE,
)


class Base(NamedTuple):
    """Unit in base units: `value * factor + offset` of them."""

    name: str
    factor: Fraction
    offset: Fraction


@cache
def _registry() -> Any:
    from pint import UnitRegistry

    return cast(Any, UnitRegistry(cache_folder=None))


def unit_after(text: str, start: int) -> tuple[str, int] | None:
    """The unit of measure that begins at `start`, behind at most one space or hyphen; its end."""
    match = _UNIT.match(text, start)
    if match is None:
        return None
    word = match["word"]
    if word and (word.lower() in _ORDINARY or not _is_unit_word(word)):
        return None
    unit = _name(match["phrase"] or word)
    return (unit, match.end()) if unit else None


@cache
def _is_unit_word(word: str) -> bool:
    """A word of more than three letters must be a unit by itself, or pint's prefixes mislead."""
    if len(word) <= 3:
        return True
    names: dict[str, Any] = _registry()._units  # pyright: ignore[reportAttributeAccessIssue]  # Any
    if word.lower() in names or word.lower().rstrip("s") in names:
        return True
    prefixes = ("kilo", "mega", "giga", "tera", "milli", "micro", "centi", "hecto", "foot", "inch")
    return _name(word).startswith(prefixes)


@cache
def _name(written: str) -> str:
    """Pint's name of a unit as it is written; "" where pint has none."""
    try:
        parsed = _registry().parse_units(_in_pints_words(written))
    except Exception:  # noqa: BLE001  # pint raises many kinds on what is no unit
        return ""
    name = str(parsed)
    return "" if parsed.dimensionless and not re.search("bit|byte", name) else name


@cache
def base(unit: str) -> Base | None:
    """A unit of :func:`unit_after` in base units; None for what is none: currencies, percent."""
    if unit in CODES or unit in ("", "%", "pp", "times"):
        return None
    try:
        zero, unity = (_registry().Quantity(n, unit).to_base_units() for n in (0, 1))
    except Exception:  # noqa: BLE001  # as above
        return None
    offset = Fraction(f"{float(zero.magnitude):.12g}")  # further digits are floating-point noise
    factor = Fraction(f"{float(unity.magnitude) - float(zero.magnitude):.12g}")
    return Base(str(unity.units), factor, offset)


def _in_pints_words(unit: str) -> str:
    text = unit.strip().replace("²", " ** 2").replace("³", " ** 3").replace("°", "deg")
    text = re.sub(r"(?i)^degrees? (celsius|fahrenheit)$", lambda m: "deg" + m[1][0].upper(), text)
    words = re.split(r"[ _-]+", text)
    first = words[0].lower().rstrip(".")
    if len(words) == 2 and first.endswith("watt"):
        return f"{first} * hour"
    if first == "nautical":
        return "nautical_mile"
    if len(words) == 2 and first in ("sq", "square", "cu", "cubic"):
        return f"{_lower(words[1])} ** {2 if first.startswith('sq') else 3}"
    return _lower(_EXPANDED.get(text, text.replace(" per ", " / ")))


def _lower(unit: str) -> str:
    """Capitals off a word: Miles is miles, while MW and mW differ."""
    return unit.lower() if len(unit) > 4 and unit[1:].islower() else unit


_IN = re.compile(
    r"\b(?:in|of|\w+ in|expressed in|stated in)\s+(?P<money>[A-Z]{0,3}[$€£¥]|[A-Za-z]+\s)?\s*"
    r"(?P<scale>hundreds|thousands|millions|billions|trillions|thousand|million|billion)\b"
    rf"|(?P<sign>\b(?:RMB|{'|'.join(sorted(CODES))})|[$€£¥])\s?['\u2019]?\s?"
    r"(?P<letter>[mk]|bn|mil|mn|million|thousand|billion|['\u2019]?000s?)\b"
    r"|[(\s,](?P<zeros>['\u2019]?000s?)\b|^(?P<alone>[Tt]housands|[Mm]illions|\$?[Mm])$",
    re.IGNORECASE,
)
_POWER = {"h": 100, "t": 1000, "k": 1000, "0": 1000, "m": 10**6, "b": 10**9}
_SYMBOL = re.compile("|".join(map(re.escape, sorted(SYMBOLS, key=len, reverse=True))))


def scale_of(text: str) -> tuple[int, str] | None:
    """(factor, currency or "") that a label states."""
    match = _IN.search(text)
    if match is None:
        return None
    word = match["scale"] or match["letter"] or match["zeros"] or match["alone"]
    return _POWER[word.lstrip("'\u2019$").lower()[0]], currency_in(text)


def currency_in(text: str) -> str:
    symbol = _SYMBOL.search(text)
    if symbol:
        return SYMBOLS[symbol[0]]
    if re.search(r"\bdollars?\b", text, re.IGNORECASE):
        return "USD"
    return next((word for word in re.findall(r"\b[A-Z]{3}\b", text) if word in CODES), "")


Mention = Quantity | Period

_CONVERTED = Fraction(1, 10**6)
"""Rounding of unit factors, as a share of the value."""
_WEAKER = {
    ("about", ""), ("", "about"), ("about", "nearly"), ("nearly", "about"), ("least", "over"),
    ("most", "under"), ("most", "nearly"), ("under", "nearly"),
}  # fmt: skip
"""(claim, source): bounds of one value of which the first says no more than the second."""
_FARTHEST = Fraction(2)
"""Times the value that "more than" it may stand for, and the part that "less than" it may."""


def agreement(claim: Mention, source: Mention) -> Agreement:
    """Compare a claimed value with one of a source, by the best of their readings.

    A claim may be coarser than its source (2019 for 5 March 2019, over 500 for 512, 5-10 for 7),
    not finer, but for digits: what is written with more digits agrees if it rounds to the other.
    """
    best = Agreement.INCOMPARABLE
    for mine, source_value in product((claim, *claim.alternatives), (source, *source.alternatives)):
        if isinstance(mine, Quantity) and isinstance(source_value, Quantity):
            second = mine is not claim or source_value is not source
            if second and len(units := {mine.unit, source_value.unit}) == 2 and "" in units:
                continue  # that 10k may be kelvins makes it no bare 10
            verdict = _compare_quantities(mine, source_value)
        elif isinstance(mine, Period) and isinstance(source_value, Period):
            verdict = compare_periods(mine, source_value)
        else:
            verdict = _compare_bare(mine, source_value)
        if verdict is Agreement.SAME:
            return verdict
        best = verdict if verdict is Agreement.DIFFERENT else best
    return best


def fit(claimed: Sequence[Period], stated: Sequence[Period]) -> Agreement:
    """Compare the periods of a claim with those of a place; years decide where both name one."""
    claimed_years = [period for period in claimed if period.year]
    stated_years = [period for period in stated if period.year]
    if claimed_years and stated_years:
        claimed, stated = claimed_years, stated_years
    best = Agreement.INCOMPARABLE
    for claim in claimed:
        for period in stated:
            verdict = agreement(claim, period)
            if Agreement.SAME in (verdict, agreement(period, claim)):
                return Agreement.SAME
            best = Agreement.DIFFERENT if verdict is Agreement.DIFFERENT else best
    return best


def _compare_bare(claim: Mention, source: Mention) -> Agreement:
    """A period and a number, which may be a bare year or hour."""
    number, period = (claim, source) if isinstance(claim, Quantity) else (source, claim)
    if not isinstance(number, Quantity) or not isinstance(period, Period) or number.unit:
        return Agreement.INCOMPARABLE
    hours = {period.minutes / 60, period.minutes / 60 % 12} if period.minutes is not None else ()
    same = stated(period) == {"year": number.value} or number.value in hours
    return Agreement.SAME if same else Agreement.INCOMPARABLE


def in_one_unit(claim: Quantity, source: Quantity) -> tuple[Quantity, Quantity] | None:
    """Both in one unit, where they can be compared; a bare number takes any unit but percent."""
    units = {claim.unit, source.unit}
    if len(units) == 1:
        return claim, source
    if units == {"", "%"}:  # the bare form of a percentage is the fraction
        converted = [
            # a whole number is no rounded fraction: 93% is no 1
            q.times(Fraction(1, 100), "")
            if q.unit
            else replace(q, step=q.step if q.step < 1 else Fraction(0))
            for q in (claim, source)
        ]
    elif "" in units and not any(unit == "pp" or unit[:1] == "#" for unit in units):
        return replace(claim, unit=""), replace(source, unit="")
    else:
        bases = [base(unit) for unit in (claim.unit, source.unit)]
        if None in bases or len({unit.name for unit in bases if unit}) > 1:
            return None  # kilograms and metres
        pairs = zip((claim, source), bases, strict=True)
        converted = [q.times(unit.factor, unit.name, unit.offset) for q, unit in pairs if unit]
    return converted[0], converted[1]


def _compare_quantities(claim: Quantity, source: Quantity) -> Agreement:
    """By the table of meanings: `_interval`, `_WEAKER`, and half the last digit."""
    comparable = in_one_unit(claim, source)
    if comparable is None:
        return Agreement.INCOMPARABLE
    converted = claim.unit != source.unit
    claim, source = comparable
    near = max(claim.step, source.step) / 2
    if converted:  # 18 months are no two years
        near = near * Fraction(99, 100) + _CONVERTED * abs(source.value)
    apart = abs(claim.value - source.value)
    if claim.high is not None and source.high is not None:
        same = max(apart, abs(claim.high - source.high)) <= near
    elif source.high is not None:
        ends = {"least": source.value, "most": source.high}
        if claim.bound in ends:
            same = ends[claim.bound] == claim.value
        elif source.value <= claim.value <= source.high:
            return Agreement.INCOMPARABLE  # a source that gives a range states no value within it
        else:
            same = False
    elif claim.high is not None:
        same = claim.value - near <= source.value <= claim.high + near
    elif claim.bound == source.bound or (claim.bound, source.bound) in _WEAKER:
        rounded = claim if claim.bound == "about" else source
        same = apart <= (max(near, _slack(rounded)) if rounded.bound == "about" else near)
    elif claim.bound and source.bound:
        loose = apart <= near and "about" in (claim.bound, source.bound)
        return Agreement.INCOMPARABLE if loose else Agreement.DIFFERENT
    elif claim.bound:
        same = _within(source.value, claim, far=True)
    else:
        same = _within(claim.value, source, far=False)
        if not same and _within(claim.value, source, far=True):
            return Agreement.INCOMPARABLE
    if same and claim.error is not None and claim.error != source.error:
        return Agreement.INCOMPARABLE if source.error is None else Agreement.DIFFERENT
    return Agreement.SAME if same else Agreement.DIFFERENT


def _within(value: Fraction, bounded: Quantity, *, far: bool) -> bool:
    """Return True if a value lies within a bound: as far as it may reach, or as near to its end as
    rounding brings it.
    """
    end, slack = bounded.value, _slack(bounded)
    above = end + (abs(end) * (_FARTHEST - 1) if far else slack)
    below = end - (abs(end) / _FARTHEST if far else slack)
    return {
        "over": end < value <= above,
        "least": end <= value <= above,
        "under": below <= value < end,
        "most": below <= value <= end,
        "nearly": end - slack <= value < end or (value == end and not far),
        "about": end - slack <= value <= end + slack,
        "": value == end,
    }[bounded.bound]


def _slack(rounded: Quantity) -> Fraction:
    """Return how far from a rounded value its source may lie: half the last digit that is no zero,
    or half of five of them, and no more than a tenth.
    """
    digit = rounded.step or abs(rounded.value) / 10
    while rounded.value and not rounded.value % (10 * digit):
        digit *= 10
    if rounded.value and not rounded.value % (5 * digit):
        digit *= 5
    return max(rounded.step / 2, min(digit / 2, abs(rounded.value) / 10))
