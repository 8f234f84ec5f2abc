"""Every number, date and period of a text, as values with their places.

What stands around a number changes it: currency, sign, scale, unit, a word of rising or falling,
an approximation, the other end of a range.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from harness.rag.check.numbers.digits import (
    CORE,
    SCALES,
    Core,
    DecimalMark,
    cores,
    decimal_mark,
    normalise,
    parse_digits,
    spelled,
)
from harness.rag.check.numbers.units import CODES, NAMES, SYMBOLS, Unit, unit_after
from harness.rag.check.numbers.values import (
    Agreement,
    Bound,
    Mention,
    Quantity,
    agreement,
    periods,
)

_CODE = "|".join(sorted(CODES))
_SYMBOL = "|".join(re.escape(symbol) for symbol in sorted(SYMBOLS, key=len, reverse=True))
_CURRENCY = re.compile(rf"(?P<currency>{_SYMBOL}|(?<![A-Za-z])(?:{_CODE}))[ ]?$")
_MONEY = re.compile(
    rf"[ ]?(?:(?P<symbol>[€£¥₹₽₩]|zł)|(?P<code>{_CODE})\b"
    r"|(?:(?:US|U\.S\.|American|Canadian|Australian)[ ])?"
    rf"(?P<name>{'|'.join(sorted(NAMES, key=len, reverse=True))})s?\b)"
)
_SCALE = re.compile(
    r"[ -]?(?P<word>hundred|thousand|million|billion|trillion|lakh|crore|dozen)s?\b"
    r"|[ ]?(?P<short>mn|mln|mio|mm|bn|bln|tn|trn)\b\.?|(?P<near>[ ]?)(?P<letter>[kKmMbBtT])\b",
    re.IGNORECASE,
)
_POWERS = SCALES | {
    "k": 10**3,
    **dict.fromkeys(("m", "mn", "mln", "mio", "mm"), 10**6),
    **dict.fromkeys(("b", "bn", "bln"), 10**9),
    **dict.fromkeys(("t", "tn", "trn"), 10**12),
}
# Unit, factor and how it is written behind a number.
_SIGNS: tuple[tuple[str, Fraction, re.Pattern[str]], ...] = tuple(
    (unit, factor, re.compile(pattern, re.IGNORECASE))
    for unit, factor, pattern in (
        ("pp", Fraction(1, 100), r"[ -]?(?:bps?|basis[ -]points?)\b"),
        (
            "pp",  # points alone are scored in games as well
            Fraction(1),
            r"(?:[ -]?(?:%|percent(?:age)?|per cent)[ -]?points?\b"
            r"|[ ]?(?:pp|ppts?|p\.p\.|%pts?)(?!\w))",
        ),
        ("%", Fraction(1), r"[ -]?(?:%|percent(?!age)\b|per ?cent\b|pct\b\.?)"),
        ("times", Fraction(1), r"[ ]?(?:x|\u00d7)(?![\w])|[ -]?(?:times|-?fold)\b"),
        ("USD", Fraction(1, 100), r"[ ]?(?:cents?|¢)(?!\w)"),
    )
)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b", re.IGNORECASE)
_OUT_OF = re.compile(r"[ ](?:out of|in|of every|in every)[ ](?:every[ ])?", re.IGNORECASE)
_JOIN = re.compile(r"\s?(?:-|\u2013|\u2014|to|and|through)\s?$", re.IGNORECASE)
_FROM = re.compile(r"\s+from\s*$", re.IGNORECASE)
_BETWEEN = re.compile(r"(?:between|from|range of|ranging from)\s+$", re.IGNORECASE)

_BOUND_WORDS: dict[Bound, str] = {
    "least": r"at least|no (?:less|fewer) than|not (?:less|fewer) than|a minimum of|minimum|>=|≥",
    "most": r"at most|no more than|not more than|up to|a maximum of|maximum of|<=|≤",
    "over": r"more than|over|above|greater than|exceeding|in excess of|upwards of|>",
    "under": r"less than|fewer than|under|below|nearly|almost|just shy of|<",
    "about": r"about|approximately|approx\.?|around|roughly|some|circa|ca\.|c\.|close to|"
    r"an estimated|estimated|~|≈|in the region of|or so|nearly|almost",
}
_BOUNDS: list[tuple[Bound, re.Pattern[str]]] = [
    (bound, re.compile(rf"(?<![\w'])(?:{pattern})\s*(?:a |an )?$", re.IGNORECASE))
    for bound, pattern in _BOUND_WORDS.items()
]
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
_WINDOW = 70
_BEFORE_SIGN = ("", *"(|:=,[\"'<>~≈$€£¥")


def read(text: str, mark: DecimalMark | None = None) -> list[Mention]:
    """Numbers and periods of `text` in order; ranges as one quantity.

    Args:
        text: any text; offsets of the result count its characters.
        mark: the decimal mark; default as the text's own numbers show it, else ".".
    """
    plain = normalise(text)
    mentions: list[Mention] = list(periods(plain))
    occupied = [(period.start, period.end) for period in mentions]
    numbers: list[Quantity] = []
    for core in cores(plain, mark or decimal_mark(plain)):
        if not any(core.start < end and start < core.end for start, end in occupied):
            numbers.append(_quantity(plain, core))
            occupied.append((core.start, numbers[-1].end))
    numbers.sort(key=lambda number: number.start)
    mentions += [
        replace(number, text=text[number.start : number.end]) for number in _joined(plain, numbers)
    ]
    return sorted(mentions, key=lambda mention: mention.start)


def equal(value: str | Mention, rival: str | Mention) -> bool:
    """Whether two values are the same: each agrees with the other.

    Of several values in a text, the first that is no date counts, unless all are. Texts without a
    value are never equal: two that "cannot answer" are no match.
    """
    single: list[Mention] = []
    for side in (value, rival):
        mentions = read(side) if isinstance(side, str) else [side]
        numbers = [mention for mention in mentions if isinstance(mention, Quantity)]
        single += (numbers or mentions)[:1]
    if len(single) < 2:
        return False
    first, second = single
    return agreement(first, second) == agreement(second, first) == Agreement.SAME


class _Before(NamedTuple):
    """What stands before a number: where it begins, ISO code or "", sign, accounting's bracket,
    bound, and the sign that a word gives."""

    start: int
    currency: str
    sign: str
    bracket: bool
    bound: Bound
    word: str


def _read_before(text: str, position: int) -> _Before:
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
    window = re.split(r"[.;!?\n|]\s|\n|\|", text[max(0, start - _WINDOW) : start])[-1]
    for name, pattern in _BOUNDS:
        if words := pattern.search(window):
            bound, window = name, window[: words.start()] + " "
            break
    word = next(word for word, pattern in _BEFORE if pattern.search(window))
    return _Before(start, currency, sign, bracket, bound, word)


def _quantity(text: str, core: Core) -> Quantity:
    before = _read_before(text, core.start)
    closed = text[core.end : core.end + 1] == ")"
    if before.bracket and closed:  # (5)% and $(3.2) million
        core, before = core._replace(end=core.end + 1), before._replace(bracket=False, sign="-")
    number, measured = _with_scale(text, core, before)
    number = _with_sign(text, _with_unit(text, number, before), before)
    if measured is not None:
        number = replace(number, alternatives=(_with_sign(text, measured, before),))
    return number


def _with_scale(text: str, core: Core, before: _Before) -> tuple[Quantity, Quantity | None]:
    """The number with the scale behind it, and the measure that its letter may mean (5m, 3t)."""
    number = Quantity(core.value, core.step, start=core.start, end=core.end)
    if core.ordinal:
        return number, None
    if not core.spelled and (ordinal := _ORDINAL.match(text, core.end)):
        return replace(number, end=ordinal.end()), None
    measured: Quantity | None = None
    while match := _SCALE.match(text, number.end):
        if match["short"] == "mm" and not before.currency:
            break  # millimetres
        if match["letter"] and not before.currency and (measure := unit_after(text, number.end)):
            if match["near"]:
                break  # "5 m" with a space is metres, unless money
            measured = _in_unit(replace(number, end=match.end()), measure[0])
        power = _POWERS[(match["word"] or match["short"] or match["letter"]).lower()]
        number = replace(
            number, value=number.value * power, step=number.step * power, end=match.end()
        )
        if not match["word"]:
            break
    return number, measured


def _in_unit(number: Quantity, unit: Unit) -> Quantity:
    value = number.value * unit.factor + unit.offset
    return replace(number, value=value, step=number.step * unit.factor, unit=unit.name)


def _with_unit(text: str, number: Quantity, before: _Before) -> Quantity:
    """The number with its unit, currency or percent sign, or as a share (3 out of 10)."""
    money = _MONEY.match(text, number.end)
    if before.currency:
        return replace(number, unit=before.currency, end=money.end() if money else number.end)
    for unit, factor, pattern in _SIGNS:
        if sign := pattern.match(text, number.end):
            value, step = number.value * factor, number.step * factor
            return replace(number, value=value, step=step, unit=unit, end=sign.end())
    if money:
        code = money["code"] or SYMBOLS.get(money["symbol"] or "") or NAMES[money["name"]]
        return replace(number, unit=code, end=money.end())
    if measure := unit_after(text, number.end):
        return replace(_in_unit(number, measure[0]), end=measure[1])
    share = _OUT_OF.match(text, number.end)
    total = share and _number_at(text, share.end())
    if not share or not total or not total.value or number.value > total.value:
        return number
    if " in " in share[0] and total.value > 1000:
        return number
    return replace(number, value=number.value / total.value, step=Fraction(0), end=total.end)


def _number_at(text: str, start: int) -> Core | None:
    """The plain number, in digits or words, that begins exactly at `start`."""
    if digits := CORE.match(text, start):
        plain = digits["digits"]
        return Core(start, digits.end(), *parse_digits(plain)) if plain else None
    word = next(spelled(text[start : start + 20]), None)
    return word._replace(end=start + word.end) if word and word.start == 0 else None


def _with_sign(text: str, number: Quantity, before: _Before) -> Quantity:
    closed = before.bracket and text[number.end : number.end + 1] == ")"
    word = next(word for word, pattern in _AFTER if pattern.match(text, number.end))
    word = "" if number.unit == "times" else before.word or word
    negative = before.sign == "-" or closed or word == "-"  # a loss of (5) is the loss once
    return replace(
        number,
        value=-number.value if negative else number.value,
        bound=before.bound,
        signed=negative or before.sign == "+" or word != "",
        start=before.start if closed or not before.bracket else before.start + 1,
        end=number.end + closed,
    )


def _joined(text: str, numbers: list[Quantity]) -> list[Quantity]:
    """Two numbers that state one range become one."""
    joined: list[Quantity] = []
    for number in numbers:
        low = joined[-1] if joined else None
        if low is None or low.high is not None or not _is_range(text, low, number):
            joined.append(number)
            continue
        factor = Fraction(1)  # the lower end takes scale and unit of the upper: $5-10 million
        if low.unit != number.unit or 0 < abs(low.value) * 1000 <= abs(number.value):
            factor = number.step if low.step == 1 and number.step > 1 else factor
        joined[-1] = replace(
            low,
            value=low.value * factor,
            step=max(low.step * factor, number.step),
            high=number.value,
            unit=number.unit or low.unit,
            end=number.end,
        )
    return joined


def _is_range(text: str, low: Quantity, high: Quantity) -> bool:
    between = text[low.end : high.start]
    if not _JOIN.fullmatch(between) or high.value < 0:
        return False
    if low.unit not in ("", high.unit) and high.unit != "":
        return False
    if re.search("[-\u2013\u2014]", between):
        return True
    if between.strip().lower() == "and":
        lead = _BETWEEN.search(text, max(0, low.start - 14), low.start)
        return lead is not None and lead[0].lower().startswith("between")
    ahead = _FROM.sub("", text[: low.start])  # "rose from 5 to 8" states two values, no range
    return _read_before(text, len(ahead)).word == ""
