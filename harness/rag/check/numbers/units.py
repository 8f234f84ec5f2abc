"""Units of measure by pint; currencies and the words for them, which no units library has."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple, cast

from harness.core import BadInput

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
    "dollar": "USD", "buck": "USD", "euro": "EUR", "pound sterling": "GBP", "yen": "JPY",
    "yuan": "CNY", "renminbi": "CNY", "rupee": "INR", "won": "KRW", "ruble": "RUB",
    "rouble": "RUB", "real": "BRL", "reais": "BRL", "franc": "CHF", "krona": "SEK",
    "krone": "NOK", "peso": "MXN", "rand": "ZAR", "zloty": "PLN", "lira": "TRY",
}  # fmt: skip
"""What a dollar is without a country is a convention: the US one, as for its sign."""

_NO_UNITS = (
    "a an as at am are be by do he if i in is it me my no of on or pm so to up us we ad all and "
    "any art bit bits bar bars can cat cats count counts cup cups day for has her his how its "
    "may more new not now old one our out per point points see she dot dots rod rods stone ton "
    "the too two was who why yes you turn turns cycle cycles unit units part parts pole poles "
    "link links chain chains hand hands barn barns drop drops pica scaled peak mas fold mil "
    "mils mean pad pads pass pat pays pets past pen page pages team teams than that then this "
    "these they there their "
)
_ORDINARY = frozenset(_NO_UNITS.split())
"""Words that pint would take for units (in: inch) and that prose means otherwise."""
_ALLOWED = frozenset(("ton", "tons", "bar", "bits", "bit", "cup", "cups", "day"))
_EXPANDED = {"sq": "square", "cu": "cubic", "kph": "km/h", "kmh": "km/h", "sqm": "meter ** 2"}
_UNIT = re.compile(
    r"[ -]?(?P<unit>(?:kilo|mega|giga|tera)?watt[ -]hours?"
    r"|(?:square|sq\.?|cubic|cu\.?)[ -][A-Za-z]+|°[CF]|degrees? (?:celsius|fahrenheit)"
    r"|[A-Za-zµμ]+(?: per |/)[A-Za-zµμ]+[²³]?|[A-Za-zµμΩ]+[²³])(?![\w/])"
    r"|[ -]?(?P<one>[A-Za-zµμΩ]+)(?![\w/])",
    re.IGNORECASE,
)


class Measure(NamedTuple):
    """A unit in base units: `value * factor + offset`."""

    name: str
    factor: Fraction
    offset: Fraction
    length: int


@cache
def _registry() -> Any:
    try:
        from pint import UnitRegistry
    except ImportError as error:
        raise BadInput(f"reading units needs pint ({error}): pip install pint") from error
    return cast(Any, UnitRegistry(cache_folder=None))


@cache
def base(unit: str) -> tuple[str, Fraction, Fraction] | None:
    """(base units, factor, offset) of a unit as it is written; None where pint knows none."""
    registry = _registry()
    try:
        parsed = registry.parse_units(_spelled_out(unit))
        zero = registry.Quantity(0, parsed).to_base_units()
        one = registry.Quantity(1, parsed).to_base_units()
    except Exception:  # noqa: BLE001  # pint raises many kinds on what is no unit
        return None
    if parsed.dimensionless and not re.search("bit|byte", str(parsed)):
        return None
    offset = Fraction(f"{float(zero.magnitude):.12g}")  # the rest is floating-point noise
    factor = Fraction(f"{float(one.magnitude) - float(zero.magnitude):.12g}")
    return str(one.units), factor, offset


def _spelled_out(unit: str) -> str:
    text = unit.strip().replace("²", " ** 2").replace("³", " ** 3").replace("°", "deg")
    text = re.sub(r"(?i)^degrees? (celsius|fahrenheit)$", lambda m: "deg" + m[1][0].upper(), text)
    words = re.split(r"[ -]+", text)
    if len(words) == 2 and words[0].lower().endswith("watt"):
        return f"{words[0].lower()} * hour"
    if words[0].lower().rstrip(".") in ("sq", "square", "cu", "cubic") and len(words) == 2:
        power = 2 if words[0].lower().startswith("sq") else 3
        return f"{_name(words[1])} ** {power}"
    return _name(_EXPANDED.get(text, text.replace(" per ", " / ")))


def _name(unit: str) -> str:
    """Capitals off a word: Miles is miles, while MW and mW differ."""
    return unit.lower() if len(unit) > 4 and unit[1:].islower() else unit


def measure_after(text: str, at: int) -> Measure | None:
    """The unit of measure that begins at `at` (behind at most one space or hyphen)."""
    match = _UNIT.match(text, at)
    if match is None:
        return None
    written = match["unit"] or match["one"]
    lowered = written.lower()
    if match["one"] and lowered in _ORDINARY and lowered not in _ALLOWED:
        return None
    if match["one"] and not _is_name(written):
        return None
    found = base(written)
    return Measure(*found, match.end() - at) if found else None


def _is_name(word: str) -> bool:
    """A word of more than three letters must be a unit by itself, or pint's prefixes mislead."""
    if len(word) <= 3:
        return True
    known: dict[str, Any] = _registry()._units  # pyright: ignore[reportAttributeAccessIssue]  # Any
    parsed = str(_registry().parse_units(_name(word))) if base(word) else ""
    if word.lower() in known or word.lower().rstrip("s") in known or parsed in ("foot", "inch"):
        return True
    return parsed.startswith(("kilo", "mega", "giga", "tera", "milli", "micro", "centi", "hecto"))
