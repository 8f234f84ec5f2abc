"""What stands around a number and changes it: currency, sign, sign words, approximation."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from harness.rag.check.numbers.types import Bound
from harness.rag.check.numbers.units import CODES, SYMBOLS

_SYMBOL = "|".join(re.escape(one) for one in sorted(SYMBOLS, key=len, reverse=True))
_CODE = "|".join(sorted(CODES))
_CURRENCY = re.compile(rf"(?P<currency>{_SYMBOL}|(?<![A-Za-z])(?:{_CODE}))[ ]?$")
_BOUNDS: tuple[tuple[Bound, str], ...] = (
    ("least", r"at least|no (?:less|fewer) than|not (?:less|fewer) than|a minimum of|minimum|>=|≥"),
    ("most", r"at most|no more than|not more than|up to|a maximum of|maximum of|<=|≤"),
    ("over", r"more than|over|above|greater than|exceeding|in excess of|upwards of|>"),
    ("under", r"less than|fewer than|under|below|nearly|almost|just shy of|<"),
    (
        "about",
        r"about|approximately|approx\.?|around|roughly|some|circa|ca\.|c\.|close to|an estimated|"
        r"estimated|~|≈|in the region of|or so|nearly|almost",
    ),
)
_BOUND: tuple[tuple[Bound, re.Pattern[str]], ...] = tuple(
    (name, re.compile(rf"(?<![\w'])(?:{pattern})\s*(?:a |an )?$", re.IGNORECASE))
    for name, pattern in _BOUNDS
)
_LINK = (
    r"(?:[ ]+(?:of|by|was|were|is|are|at|totaled|totalled|totaling|:|amounted to|equal to|about"
    r"|approximately|around|roughly|nearly|almost|over|more than|another|an estimated)){0,3}"
)
_MINUS_NOUN = (
    r"(?:net |operating |pre-?tax |comprehensive |gross )*"
    r"(?:loss(?:es)?|deficit|shortfall|decrease|decline|drop|reduction|fall|dip|slump|outflow|"
    r"contraction|cut)"
)
_MINUS_VERB = (
    r"(?:fell|fall(?:s|en|ing)?|dropp?(?:ed|s|ing)?|declin(?:e|ed|es|ing)|decreas(?:e|ed|es|ing)|"
    r"lower(?:ed)?|slipp?(?:ed|s)|shr[aiu]nk|contracted|lost|los(?:es|ing)|plunged|plummeted|"
    r"tumbled|slid|sank|reduced|down|cut|minus|negative|dipped|slumped)"
)
_PLUS = (
    r"(?:increas(?:e|es|ed|ing)|ris(?:e|es|en|ing)|rose|grew|grow(?:n|s|th|ing)|gain(?:s|ed)?|"
    r"profits?|surplus|up|plus|positive|higher|climb(?:ed|s)|jump(?:ed|s)?|surg(?:e|ed)|soared|"
    r"advanced|expanded|improved|inflow)"
)
_SHARE = r"(?: (?:per|on|in|for|from|attributable) [\w ]{1,30}?)?"
_BEFORE = (
    (
        "-",
        re.compile(
            rf"(?<![\w'])(?:{_MINUS_NOUN}{_SHARE}(?:[ ]+(?:of|was|were|totaled|totalled|:))"
            rf"{_LINK}|{_MINUS_VERB}(?:[ ]+by)?{_LINK.replace('of|', '')})\s*$",
            re.IGNORECASE,
        ),
    ),
    (
        "+",
        re.compile(
            rf"(?<![\w'])(?:{_PLUS}{_SHARE}(?:[ ]+(?:of|by|was|were))?{_LINK})\s*$", re.IGNORECASE
        ),
    ),
)
_AFTER = (
    (
        "-",
        re.compile(
            r"[ -]?(?:[a-z]+[ ]){0,2}?(?:decrease|decline|drop|reduction|loss|deficit|fall|lower|"
            r"less|fewer|down|cut|shortfall|below)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "+",
        re.compile(
            r"[ -]?(?:[a-z]+[ ])?(?:increase|rise|growth|gain|higher|more|up|jump|surplus|profit|"
            r"above)\b(?! than \d)",
            re.IGNORECASE,
        ),
    ),
)
_NOT_A_CHANGE = re.compile(r"(?:reduced|lowered|cut|down|fell|dropped|declined) to\s*$", re.I)
_WINDOW = 70


class Before(NamedTuple):
    """What stands before a number.

    Attributes:
        start: where it begins.
        currency: ISO code, or "".
        minus: whether a minus sign or opening bracket of accounting stands there.
        plus: whether a plus sign does.
        bracket: whether that bracket does.
        bound: how the value is qualified.
        word: the sign that a word gives.
    """

    start: int
    currency: str
    minus: bool
    plus: bool
    bracket: bool
    bound: Bound
    word: Literal["", "+", "-"]


def look_before(text: str, at: int) -> Before:
    """Read what stands before the number that begins at `at`."""
    start, currency, bracket, sign = at, "", False, ""
    for _ in range(2):  # -$5 and $-5
        found = _CURRENCY.search(text, max(0, start - 5), start)
        if found and not currency:
            currency = SYMBOLS.get(found["currency"], found["currency"])
            start = found.start()
        if not sign and _is_sign(text, start):
            sign, start = text[start - 1], start - 1
    if start and text[start - 1] == "(":
        bracket, start = True, start - 1
    window = text[max(0, start - _WINDOW) : start]
    window = re.split(r"[.;!?\n|]\s|\n|\|", window)[-1]
    bound, rest = _bound(window)
    return Before(start, currency, sign == "-", sign == "+", bracket, bound, _word(rest))


def _is_sign(text: str, start: int) -> bool:
    """A sign stands behind a space, a bracket or nothing; in 5-10 and A-4 it joins."""
    if not start or text[start - 1] not in "+-":
        return False
    before = text[start - 2] if start > 1 else " "
    return before in " \t\n(|:=,[\"'<>~≈$€£¥" or before.isspace()


def _bound(window: str) -> tuple[Bound, str]:
    for name, pattern in _BOUND:
        found = pattern.search(window)
        if found:
            return name, window[: found.start()] + " "
    return "", window


def _word(window: str) -> Literal["", "+", "-"]:
    if _NOT_A_CHANGE.search(window):
        return ""
    for sign, pattern in _BEFORE:
        if pattern.search(window):
            return "-" if sign == "-" else "+"
    return ""


def word_after(text: str, at: int) -> Literal["", "+", "-"]:
    """The sign that a word behind a change gives (a 5 % decline)."""
    for sign, pattern in _AFTER:
        if pattern.match(text, at):
            return "-" if sign == "-" else "+"
    return ""
