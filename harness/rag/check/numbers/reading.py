"""Every number, date and period of a text, as values with their places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from harness.rag.check.numbers.cores import CORE, Core, cores
from harness.rag.check.numbers.dates import periods
from harness.rag.check.numbers.normalise import normalise
from harness.rag.check.numbers.separators import DecimalMark, decimal_mark, parse_digits
from harness.rag.check.numbers.surroundings import Before, look_before, word_after
from harness.rag.check.numbers.types import Mention, Quantity
from harness.rag.check.numbers.units import CODES, NAMES, SYMBOLS, measure_after
from harness.rag.check.numbers.words import SCALES, spelled

_SCALE = re.compile(
    r"[ -]?(?P<word>hundred|thousand|million|billion|trillion|lakh|crore|dozen)s?\b"
    r"|[ ]?(?P<short>mn|mln|mio|mm|bn|bln|tn|trn)\b\.?|(?P<near>[ ]?)(?P<letter>[kKmMbBtT])\b",
    re.IGNORECASE,
)
_SHORT = {"mn": 6, "mln": 6, "mio": 6, "mm": 6, "bn": 9, "bln": 9, "tn": 12, "trn": 12}
_LETTER = {"k": 3, "m": 6, "b": 9, "t": 12}
_PERCENT = re.compile(r"[ -]?(?:%|percent(?!age)\b|per ?cent\b|pct\b\.?)", re.IGNORECASE)
_POINTS = re.compile(
    r"[ -]?(?:%|percent(?:age)?|per cent)?[ -]?(?:points?\b)|[ ]?(?:pp|ppts?|p\.p\.|%pts?)(?!\w)",
    re.IGNORECASE,
)
_BASIS = re.compile(r"[ -]?(?:bps?|basis[ -]points?)\b", re.IGNORECASE)
_TIMES = re.compile(r"[ ]?(?:x|\u00d7)(?![\w])|[ -]?(?:times|-?fold)\b", re.IGNORECASE)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b", re.IGNORECASE)
_MONEY = re.compile(
    rf"[ ]?(?:(?P<symbol>[€£¥₹₽₩]|zł)|(?P<code>{'|'.join(sorted(CODES))})\b"
    r"|(?:(?:US|U\.S\.|American|Canadian|Australian)[ ])?"
    rf"(?P<name>{'|'.join(sorted(NAMES, key=len, reverse=True))})s?\b)"
)
_CENTS = re.compile(r"[ ]?(?:cents?|¢)(?!\w)", re.IGNORECASE)
_OUT_OF = re.compile(r"[ ](?:out of|in|of every|in every)[ ](?:every[ ])?", re.IGNORECASE)
_JOIN = re.compile(r"\s?(?:-|\u2013|\u2014|to|and|through)\s?$", re.IGNORECASE)
_FROM = re.compile(r"\s+from\s*$", re.IGNORECASE)
_BETWEEN = re.compile(r"(?:between|from|range of|ranging from)\s+$", re.IGNORECASE)


def read(text: str, mark: DecimalMark | None = None) -> list[Mention]:
    """Numbers and periods of `text` in order; ranges as one quantity.

    Args:
        text: any text; offsets of the result count its characters.
        mark: the decimal mark; default as the text's own numbers show it, else ".".
    """
    plain = normalise(text)
    found: list[Mention] = list(periods(plain))
    taken = [(one.start, one.end) for one in found]
    numbers: list[Quantity] = []
    for core in cores(plain, mark or decimal_mark(plain)):
        if not _overlaps(core.start, core.end, taken):
            one = _quantity(plain, core)
            numbers.append(replace(one, text=text[one.start : one.end]))
            taken.append((core.start, one.end))
    numbers.sort(key=lambda one: one.start)
    found += [replace(one, text=text[one.start : one.end]) for one in _joined(plain, numbers)]
    return sorted(found, key=lambda one: one.start)


def read_one(text: str, mark: DecimalMark | None = None) -> Mention | None:
    """The one value that `text` states; None where it states none.

    Of several, the first that is no date, unless all are.
    """
    found = read(text, mark)
    numbers = [one for one in found if isinstance(one, Quantity)]
    return numbers[0] if numbers else found[0] if found else None


def _overlaps(start: int, end: int, taken: list[tuple[int, int]]) -> bool:
    return any(start < right and left < end for left, right in taken)


def _quantity(text: str, core: Core) -> Quantity:
    before = look_before(text, core.start)
    if before.bracket and _closes(text, core.end):  # (5)% and $(3.2) million
        core, before = core._replace(end=core.end + 1), before._replace(bracket=False, minus=True)
    scaled, end, other = _scaled(text, core, before)
    plain = replace(scaled, end=end, start=core.start)
    unit = _unit(text, plain, before)
    one = _signed(text, unit, before)
    if other is not None:
        one = replace(one, others=(_signed(text, other, before),))
    return one


def _scaled(text: str, core: Core, before: Before) -> tuple[Quantity, int, Quantity | None]:
    """The number with the scale behind it, and what else its letter may mean (5m, 3K, 2t)."""
    value, step, end = core.value, core.step, core.end
    if core.ordinal:
        return Quantity(value, step), end, None
    if not core.spelled and (ordinal := _ORDINAL.match(text, end)):
        return Quantity(value, step), ordinal.end(), None
    other: Quantity | None = None
    while match := _SCALE.match(text, end):
        if match["short"] == "mm" and not before.currency:
            break  # millimetres
        power = _power(match)
        if match["letter"]:
            measure = None if before.currency else measure_after(text, end)
            if measure and match["near"]:
                break  # "5 m" with a space is metres, unless money
            if measure:
                other = _measured(value, step, measure.name, measure.factor, measure.offset)
                other = replace(other, start=core.start, end=match.end())
        value, end = value * power, match.end()
        step = step * power if step else Fraction(0)
        if not match["word"]:
            break
    return Quantity(value, step), end, other


def _power(match: re.Match[str]) -> int:
    if match["word"]:
        return SCALES[match["word"].lower()]
    if match["short"]:
        return 10 ** _SHORT[match["short"].lower()]
    return 10 ** _LETTER[match["letter"].lower()]


def _unit(text: str, one: Quantity, before: Before) -> Quantity:
    """The number with its unit, currency or percent sign."""
    end = one.end
    if before.currency:
        return replace(one, unit=before.currency, end=_after_money(text, end))
    for pattern, unit, factor in (
        (_BASIS, "pp", Fraction(1, 100)),
        (_POINTS, "pp", Fraction(1)),
        (_PERCENT, "%", Fraction(1)),
        (_TIMES, "times", Fraction(1)),
        (_CENTS, "USD", Fraction(1, 100)),
    ):
        match = pattern.match(text, end)
        if match and not (pattern is _POINTS and not _is_percent_point(match[0])):
            return replace(
                one, value=one.value * factor, step=one.step * factor, unit=unit, end=match.end()
            )
    if money := _MONEY.match(text, end):
        code = money["code"] or SYMBOLS.get(money["symbol"] or "") or NAMES[money["name"]]
        return replace(one, unit=code, end=money.end())
    return _whole(text, one) or one


def _is_percent_point(written: str) -> bool:
    """Points alone are scored in games as well."""
    return written.strip(" -").lower() not in ("point", "points")


def _after_money(text: str, end: int) -> int:
    money = _MONEY.match(text, end)
    return money.end() if money else end


def _whole(text: str, one: Quantity) -> Quantity | None:
    """A measure, or a share (3 out of 10)."""
    measure = measure_after(text, one.end)
    if measure is not None:
        found = _measured(one.value, one.step, measure.name, measure.factor, measure.offset)
        return replace(found, start=one.start, end=one.end + measure.length)
    share = _OUT_OF.match(text, one.end)
    if share is None:
        return None
    rest = CORE.match(text, share.end()) or next(
        (word for word in spelled(text[share.end() : share.end() + 20]) if word.start == 0), None
    )
    below = rest.value if rest and not isinstance(rest, re.Match) else _digits_of(rest)
    if not below or one.value > below or (" in " in share[0] and below > 1000):
        return None
    length = rest.end if rest and not isinstance(rest, re.Match) else 0
    end = share.end() + length if length else rest.end() if isinstance(rest, re.Match) else one.end
    return replace(one, value=one.value / below, step=Fraction(0), end=end)


def _digits_of(match: re.Match[str] | None) -> Fraction | None:
    if match is None or not match["digits"]:
        return None
    return parse_digits(match["digits"])[0]


def _measured(
    value: Fraction, step: Fraction, name: str, factor: Fraction, offset: Fraction
) -> Quantity:
    return Quantity(value * factor + offset, step * factor, name)


def _signed(text: str, one: Quantity, before: Before) -> Quantity:
    closed = before.bracket and _closes(text, one.end)
    word = "" if one.unit == "times" else before.word or word_after(text, one.end)
    negative = (before.minus or closed) != (word == "-" and not (before.minus or closed))
    if word == "-" and (before.minus or closed):
        negative = True  # a loss of (5) is the loss once
    start = before.start if closed or not before.bracket else before.start + 1
    return replace(
        one,
        value=-one.value if negative else one.value,
        bound=before.bound,
        signed=negative or before.plus or word != "",
        start=start,
        end=one.end + 1 if closed and text[one.end : one.end + 1] == ")" else one.end,
    )


def _closes(text: str, end: int) -> bool:
    """A closing bracket right behind the number: (1,234), (5%) and (5)%."""
    return text[end : end + 1] == ")"


def _joined(text: str, numbers: list[Quantity]) -> Iterator[Quantity]:
    """Two numbers that state one range become one."""
    at = 0
    while at < len(numbers):
        one = numbers[at]
        other = numbers[at + 1] if at + 1 < len(numbers) else None
        if other is not None and _is_range(text, one, other):
            yield _range(one, other)
            at += 2
        else:
            yield one
            at += 1


def _is_range(text: str, one: Quantity, other: Quantity) -> bool:
    between = text[one.end : other.start]
    if not _JOIN.fullmatch(between) or other.value < 0 or one.high is not None:
        return False
    if "-" in between or "\u2013" in between or "\u2014" in between:
        return _same_kind(one, other)
    led = _BETWEEN.search(text, max(0, one.start - 14), one.start)
    if between.strip().lower() == "and":
        return bool(led and led[0].lower().startswith("between")) and _same_kind(one, other)
    return _same_kind(one, other) and not _is_change(text, one)


def _is_change(text: str, one: Quantity) -> bool:
    """Rose from 5 to 8 states two values, no range."""
    return look_before(text, len(_FROM.sub("", text[: one.start]))).word != ""


def _same_kind(one: Quantity, other: Quantity) -> bool:
    return one.unit in ("", other.unit) or other.unit == ""


def _range(low: Quantity, high: Quantity) -> Quantity:
    """The range; the lower end takes scale and unit of the upper one where it has none."""
    unit, first, top = high.unit or low.unit, low.value, high.value
    factor = Fraction(1)
    if low.unit != high.unit or (abs(first) * 1000 <= abs(top) and first):
        factor = _shared_factor(low, high)
    return replace(
        low, value=first * factor, step=max(low.step * factor, high.step), high=top, unit=unit,
        end=high.end,
    )  # fmt: skip


def _shared_factor(low: Quantity, high: Quantity) -> Fraction:
    """Scale of the upper end, where the lower one was written without: $5-10 million."""
    return high.step / low.step if low.step == 1 and high.step > 1 else Fraction(1)
