"""The bare number within what is written: digits, fractions, powers of ten, words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from harness.rag.check.numbers.separators import DIGITS, DecimalMark, parse_digits
from harness.rag.check.numbers.words import spelled

_SUPER = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_VULGAR = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
CORE = re.compile(
    r"(?<![\w.,/])(?<![A-Za-z]-)(?:"
    rf"(?P<vulgar>\d*\s?[{_VULGAR}])"
    r"|(?:(?P<whole>\d+)[ -])?(?P<top>\d+)\s?/\s?(?P<bottom>[1-9]\d*)(?![\d/])"
    r"|(?P<power>10\^[-+]?\d+|10[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
    rf"|(?P<digits>{DIGITS})(?:\s?[x\u00d7*\u00b7]\s?10\s?\^?\s?(?P<ten>[-+]?\d+|[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)(?!\w)"
    r"|[eE](?P<exp>[-+]?\d+)(?!\w))?"
    r")"
)


class Core(NamedTuple):
    """A number without its surroundings; a step of 0 stands for an exact one."""

    start: int
    end: int
    value: Fraction
    step: Fraction
    spelled: bool = False
    ordinal: bool = False


def cores(text: str, mark: DecimalMark) -> Iterator[Core]:
    """Numbers of a normalised text: those in digits first, then those in words."""
    for match in CORE.finditer(text):
        core = _core(match, mark)
        if core is not None:
            yield core
    for word in spelled(text):
        yield Core(word.start, word.end, word.value, word.step, True, word.ordinal)


def _core(match: re.Match[str], mark: DecimalMark) -> Core | None:
    start, end = match.span()
    if match["vulgar"]:
        whole = match["vulgar"][:-1].strip()
        part = Fraction(unicodedata.numeric(match["vulgar"][-1])).limit_denominator(10)
        return Core(start, end, int(whole or 0) + part, Fraction(0))
    if match["bottom"]:
        value = int(match["whole"] or 0) + Fraction(int(match["top"]), int(match["bottom"]))
        return Core(start, end, value, Fraction(0))
    if match["power"]:
        exponent = int(match["power"][2:].lstrip("^").translate(_SUPER))
        return Core(start, end, Fraction(10) ** _bounded(exponent), Fraction(0))
    value, step = parse_digits(match["digits"], mark)
    exponent = match["ten"] or match["exp"]
    power = Fraction(10) ** _bounded(int(exponent.translate(_SUPER))) if exponent else Fraction(1)
    return Core(start, end, value * power, step * power)


def _bounded(exponent: int) -> int:
    """1e999999999 is no number that a text means; it would only cost memory."""
    return max(-400, min(400, exponent))
