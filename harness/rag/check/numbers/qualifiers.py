"""Qualifiers before and behind a number: currency, sign, bound, and words of rising and falling;
and those that the labels of a table's cell give it."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from harness.rag.check.numbers.quantities import (
    CODES,
    SYMBOLS,
    Bound,
    Quantity,
    currency_in,
    unit_after,
)

_CLOSED = re.compile(r"[\d.,]+\)")
_SYMBOL = "|".join(re.escape(symbol) for symbol in sorted(SYMBOLS, key=len, reverse=True))
_CURRENCY = re.compile(rf"(?P<currency>{_SYMBOL}|(?<![A-Za-z])(?:{'|'.join(sorted(CODES))}))[ ]?$")
_BOUND_WORDS: dict[Bound, str] = {
    "least": r"at least|no (?:less|fewer) than|not (?:less|fewer) than|a minimum of|minimum|>=|≥",
    "most": r"at most|no more than|not more than|up to|a maximum of|maximum of|<=|≤",
    "over": r"more than|over|above|greater than|exceeding|in excess of|upwards of|>",
    "nearly": r"nearly|almost|just (?:under|below|short of|shy of)",
    "under": r"less than|fewer than|under|below|<",
    "about": r"about|approximately|approx\.?|around|roughly|some|circa|ca\.|c\.|close to|"
    r"an estimated|estimated|~|≈|in the region of",
}
_BOUNDS: list[tuple[Bound, re.Pattern[str]]] = [
    (bound, re.compile(rf"(?<![\w'])(?:{pattern})\s*(?:a |an )?$", re.IGNORECASE))
    for bound, pattern in _BOUND_WORDS.items()
]
_BOUNDS_AFTER: tuple[tuple[Bound, re.Pattern[str]], ...] = (
    ("least", re.compile(r" or (?:more|over|above|older|longer|higher)\b|\+(?![\w/-])")),
    ("most", re.compile(r" or (?:less|fewer|under|below|younger|shorter)\b")),
    ("about", re.compile(r" or so\b")),
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
# Words before a number that give it a sign; a level that was reached ("fell to") has none.
_BEFORE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("", re.compile(r"(?:reduced|lowered|cut|down|fell|dropped|declined) to\s*$", re.IGNORECASE)),
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
    ("", re.compile("")),
)
_AFTER: tuple[tuple[str, re.Pattern[str]], ...] = (
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
    ("", re.compile("")),
)
_UNSCALED = re.compile(
    r"per (?:\w+ ){0,2}(?:share|unit)|%|percent|number of|\bratio\b|\bcents?\b|\bpence\b"
)
_TIME = re.compile(r"\b(?:in |\()(year|month|week|day)s\b", re.IGNORECASE)
_LABEL_UNIT = re.compile(r"\((?P<bracket>[^()]+)\)\W*$|[ _](?P<last>[A-Za-z²³µ/]{1,4}|[$€£])$")
_SCALE_LETTERS = {"k": 10**3, "K": 10**3, "M": 10**6, "bn": 10**9}
WINDOW = 70
"""Characters before a number that are looked at."""
_BEFORE_SIGN = ("", *"(|:=,[\"'<>~≈$€£¥")


class Before(NamedTuple):
    """Qualifiers before a number: where they begin, ISO code or "", sign, accounting's bracket,
    bound, and the sign that a word gives.
    """

    start: int
    currency: str
    sign: str
    bracket: bool
    bound: Bound
    word: str


def read_before(text: str, position: int) -> Before:
    """Read the qualifiers before the number at `position`."""
    start, currency, sign = position, "", ""
    bound: Bound = ""
    for _ in range(2):  # -$5 and $-5
        money = _CURRENCY.search(text, max(0, start - 5), start)
        if money and not currency:
            currency = SYMBOLS.get(money["currency"], money["currency"])
            start = money.start()
        # A sign stands behind a space, a bracket or nothing; in 5-10 and A-4 it joins.
        ahead, near = text[max(0, start - 2) : start - 1], text[start - 1 : start]
        if not sign and near in ("+", "-") and (ahead.isspace() or ahead in _BEFORE_SIGN):
            sign, start = near, start - 1
    bracket = text[start - 1 : start] == "("
    start -= bracket
    outside = _CURRENCY.search(text, max(0, start - 5), start) if bracket else None
    if outside and not currency and _CLOSED.match(text, position):  # $(3.2) million
        currency = SYMBOLS.get(outside["currency"], outside["currency"])
        start = outside.start()
    window = re.split(r"[.;!?\n|]\s|\n|\|", text[max(0, start - WINDOW) : start])[-1]
    for name, pattern in _BOUNDS:
        if words := pattern.search(window):
            bound, window = name, window[: words.start()] + " "
            break
    word = next(word for word, pattern in _BEFORE if pattern.search(window))
    return Before(start, currency, sign, bracket, bound, word)


def with_sign(text: str, number: Quantity, before: Before) -> Quantity:
    """The number with its sign and bound."""
    closed = before.bracket and text[number.end : number.end + 1] == ")"
    bounds = ((name, pattern.match(text, number.end)) for name, pattern in _BOUNDS_AFTER)
    bound, behind = next((pair for pair in bounds if pair[1]), (before.bound, None))
    word = next(word for word, pattern in _AFTER if pattern.match(text, number.end))
    word = "" if number.unit == "times" else before.word or word
    negative = before.sign == "-" or closed or word == "-"  # a loss of (5) is the loss once
    return replace(
        number,
        value=-number.value if negative else number.value,
        bound=bound,
        signed=negative or before.sign == "+" or word != "",
        start=before.start if closed or not before.bracket else before.start + 1,
        end=(behind.end() if behind else number.end) + closed,
    )


def scaled(
    value: Quantity, hint: tuple[int, str] | None, labels: str, head: str, corner: str
) -> Quantity:
    """The cell's value with what its labels say of unit and scale."""
    if value.unit == "" and (time := _TIME.search(labels)):
        return replace(value, unit=time[1])
    if value.unit == "" and ("%" in labels or "percent" in labels):
        return replace(value, unit="%")
    measured = _LABEL_UNIT.search(head)
    if value.unit == "" and hint is None and measured:
        written = measured["bracket"] or measured["last"]
        unit = unit_after(written, 0)
        if scale := _SCALE_LETTERS.get(written):
            return value.times(Fraction(scale), "")
        return replace(value, unit=currency_in(written) or (unit[0] if unit else ""))
    if hint is None or value.unit not in ("", *CODES) or _UNSCALED.search(labels):
        return value
    factor, currency = hint
    unit = value.unit or currency or currency_in(f"{head} {corner}")
    return replace(value, value=value.value * factor, step=value.step * factor, unit=unit)
