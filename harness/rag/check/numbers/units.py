"""Units of measure by pint; currencies and the words for them, which no units library has."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple, cast

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
    r"[ -]?(?P<phrase>(?:kilo|mega|giga|tera)?watt[ -]hours?"
    r"|(?:square|sq\.?|cubic|cu\.?)[ -][A-Za-z]+|°[CF]|degrees? (?:celsius|fahrenheit)"
    r"|[A-Za-zµμ]+(?: per |/)[A-Za-zµμ]+[²³]?|[A-Za-zµμΩ]+[²³])(?![\w/])"
    r"|[ -]?(?P<word>[A-Za-zµμΩ]+)(?![\w/])",
    re.IGNORECASE,
)


class Unit(NamedTuple):
    """A unit in base units: `value * factor + offset`."""

    name: str
    factor: Fraction
    offset: Fraction


@cache
def _registry() -> Any:
    from pint import UnitRegistry

    return cast(Any, UnitRegistry(cache_folder=None))


def unit_after(text: str, start: int) -> tuple[Unit, int] | None:
    """The unit of measure that begins at `start`, behind at most one space or hyphen; its end."""
    match = _UNIT.match(text, start)
    if match is None:
        return None
    word = match["word"]
    if word and (word.lower() in _ORDINARY or not _is_unit_word(word)):
        return None
    unit = _unit(match["phrase"] or word)
    return (unit, match.end()) if unit else None


def _is_unit_word(word: str) -> bool:
    """A word of more than three letters must be a unit by itself, or pint's prefixes mislead."""
    if len(word) <= 3:
        return True
    names: dict[str, Any] = _registry()._units  # pyright: ignore[reportAttributeAccessIssue]  # Any
    parsed = str(_registry().parse_units(_lower(word))) if _unit(word) else ""
    if word.lower() in names or word.lower().rstrip("s") in names or parsed in ("foot", "inch"):
        return True
    return parsed.startswith(("kilo", "mega", "giga", "tera", "milli", "micro", "centi", "hecto"))


@cache
def _unit(written: str) -> Unit | None:
    """A unit as it is written; None where pint has none of that name."""
    registry = _registry()
    try:
        parsed = registry.parse_units(_in_pints_words(written))
        zero = registry.Quantity(0, parsed).to_base_units()
        unity = registry.Quantity(1, parsed).to_base_units()
    except Exception:  # noqa: BLE001  # pint raises many kinds on what is no unit
        return None
    if parsed.dimensionless and not re.search("bit|byte", str(parsed)):
        return None
    offset = Fraction(f"{float(zero.magnitude):.12g}")  # further digits are floating-point noise
    factor = Fraction(f"{float(unity.magnitude) - float(zero.magnitude):.12g}")
    return Unit(str(unity.units), factor, offset)


def _in_pints_words(unit: str) -> str:
    text = unit.strip().replace("²", " ** 2").replace("³", " ** 3").replace("°", "deg")
    text = re.sub(r"(?i)^degrees? (celsius|fahrenheit)$", lambda m: "deg" + m[1][0].upper(), text)
    words = re.split(r"[ -]+", text)
    first = words[0].lower().rstrip(".")
    if len(words) == 2 and first.endswith("watt"):
        return f"{first} * hour"
    if len(words) == 2 and first in ("sq", "square", "cu", "cubic"):
        return f"{_lower(words[1])} ** {2 if first.startswith('sq') else 3}"
    return _lower(_EXPANDED.get(text, text.replace(" per ", " / ")))


def _lower(unit: str) -> str:
    """Capitals off a word: Miles is miles, while MW and mW differ."""
    return unit.lower() if len(unit) > 4 and unit[1:].islower() else unit
