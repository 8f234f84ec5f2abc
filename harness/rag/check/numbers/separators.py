"""Digits with separators of both kinds: 1,234.5 and 1.234,5, 1 234,5, 1'234.5, 12,34,567."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal

DecimalMark = Literal[".", ","]

DIGITS = (
    r"(?:\d{1,3}(?:(?P<sep>[,.' ])\d{3})(?:(?P=sep)\d{3})*(?!\d)(?:[.,]\d+)?"
    r"|\d{1,2}(?:,\d{2})+,\d{3}(?!\d)(?:\.\d+)?|\d+(?:[.,]\d+)?|\.\d+)"
)
"""Digits in any of these forms. A space groups thousands only where every group has three."""

_COMMA_DECIMAL = re.compile(
    r"(?<![\d.,])(?:\d{1,3}(?:\.\d{3})+,\d+|\d+,\d{1,2}|\d{4,},\d+)(?![\d,.]\d)(?!\d)"
)
_POINT_DECIMAL = re.compile(
    r"(?<![\d.,])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d{1,2}|\d{4,}\.\d+)(?![\d,.]\d)(?!\d)"
)


def decimal_mark(text: str) -> DecimalMark:
    """The decimal mark of a text, by its numbers that can be read in one way only; "." in doubt."""
    commas = len(_COMMA_DECIMAL.findall(text))
    return "," if commas > len(_POINT_DECIMAL.findall(text)) else "."


def parse_digits(digits: str, mark: DecimalMark = ".") -> tuple[Fraction, Fraction]:
    """(value, worth of the last digit) of digits that :data:`DIGITS` matched.

    Two different separators, one of them repeated, or a group of other than three digits leave
    one reading; else `mark` is the decimal mark.
    """
    plain = digits.replace(" ", "").replace("'", "")
    decimal = _decimal_of(plain, mark)
    for separator in ",.":
        if separator != decimal:
            plain = plain.replace(separator, "")
    whole, _, fraction = plain.partition(decimal) if decimal else (plain, "", "")
    return Fraction(int(whole + fraction or "0"), 10 ** len(fraction)), Fraction(
        1, 10 ** len(fraction)
    )


def _decimal_of(digits: str, mark: DecimalMark) -> str:
    """The decimal mark of one number; "" where it has none."""
    comma, point = digits.rfind(","), digits.rfind(".")
    if comma >= 0 and point >= 0:
        return "," if comma > point else "."
    at = max(comma, point)
    if at < 0:
        return ""
    separator = digits[at]
    if digits.count(separator) > 1:
        return ""
    grouped = len(digits) - at - 1 == 3 and 1 <= at <= 3 and digits[:at] != "0"
    return "" if grouped and separator != mark else separator
