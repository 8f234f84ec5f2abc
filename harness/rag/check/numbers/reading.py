"""Every number, date and period of a text, as values with their places.

What stands around a number changes it: currency, sign, scale, unit, a word of rising or falling,
an approximation, an uncertainty, the other end of a range, the whole that it is a part of. Text
that was taken apart into tokens ("16 - year - old", "2 , 500") is read as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

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
from harness.rag.check.numbers.periods import Agreement, periods
from harness.rag.check.numbers.qualifiers import WINDOW, Before, read_before, with_sign
from harness.rag.check.numbers.quantities import (
    CODES,
    COUNTRIES,
    CROWNS,
    NAMES,
    SYMBOLS,
    Mention,
    Quantity,
    agreement,
    base,
    unit_after,
)
from harness.rag.retrieve import sentence_spans

_TOKENS = re.compile(
    r"(?<=\d)\. (?=\d+ ?(?:%|per ?cent|[mb]illion))|(?<=\d) , (?=\d{3}(?!\d))"
    r"|(?<=\d) [.:] (?=\d)|(?<=[ap]) \. (?=m\b)|(?<=[a-z]) - (?=old\b)"
    r"|(?<=\d) - (?=(?:year|month|week|day|hour|minute|second|foot|inch|mile|met(?:er|re)|member"
    r"|point|time|storey|seat|bed|page|goal|game|match|strong)s?\b)"
)
_CODE = "|".join(sorted(CODES))
_MONEY = re.compile(
    rf"[ -]?(?:(?P<symbol>[€£¥₹₽₩]|zł)|(?P<code>{_CODE})\b"
    rf"|(?:(?P<country>{'|'.join(map(re.escape, COUNTRIES))})[ ])?"
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
_CENT = Fraction(1, 100)
# Units, factor and how it is written behind a number; several units are several readings.
_SIGNS: tuple[tuple[tuple[str, ...], Fraction, re.Pattern[str]], ...] = tuple(
    (units, factor, re.compile(pattern, re.IGNORECASE))
    for units, factor, pattern in (
        (("pp",), _CENT, r"[ -]?(?:bps?|basis[ -]points?)\b"),
        (
            ("pp",),  # points alone are scored in games as well
            Fraction(1),
            r"(?:[ -]?(?:%|percent(?:age)?|per cent)[ -]?points?\b"
            r"|[ ]?(?:pp|ppts?|p\.p\.|%pts?)(?!\w))",
        ),
        (("%",), Fraction(1), r"[ -]?(?:%|percent(?!age)\b|per ?cent\b|pct\b\.?)"),
        (("times",), Fraction(1), r"[ ]?(?:x|\u00d7)(?![\w])|[ -]?(?:times|-?fold)\b"),
        (("USD", "EUR", "AUD", "CAD"), _CENT, r"[ ]?(?:cents?|¢)(?!\w)"),
        (("GBP",), _CENT, r"[ ]?pence\b"),
    )
)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b", re.IGNORECASE)
_OUT_OF = re.compile(r"[ ](?:out of|in|of every|in every)[ ](?:every[ ])?", re.IGNORECASE)
_JOIN = re.compile(r"\s?(?:-|\u2013|\u2014|to|and|through)\s?$", re.IGNORECASE)
_FROM = re.compile(r"\s+from\s*$", re.IGNORECASE)
_OVER = re.compile(r"\bover\s+$", re.IGNORECASE)
_TIMES = ("year", "month", "week", "day", "hour", "minute", "decade")
_BETWEEN = re.compile(r"between\s+$", re.IGNORECASE)
_MOVED = re.compile(
    r"\b(?:ris|rose|f[ae]ll|gr[eo]w|climb|dropp?|declin|increas|decreas|cut|mov|went|chang|reduc"
    r"|rais|lower|improv|up|down|jump|gain|slipp?|shr[aiu]nk|expand|widen|narrow)(?:n|s|es|ed|ing)?\b",
    re.IGNORECASE,
)
_PLUS_MINUS = re.compile(r"\s?(?:±|\+/-|\+-|plus or minus)\s?", re.IGNORECASE)
_OF_WHOLE = re.compile(r" of (?P<whole>(?:the|its|their|all|these|those|our) )?", re.IGNORECASE)
_AND_SMALLER = re.compile(r",? (?:and )?", re.IGNORECASE)
_MULTIPLES = {
    Fraction(1): r"once(?= (?:an?|every|per|each|daily|weekly)\b)",
    Fraction(2): r"twice|doubl(?:ed|es|ing)|double(?= (?:the|that|its|what|as)\b)",
    Fraction(3): r"thrice|tripl(?:ed|es|ing)|trebled|triple(?= (?:the|that|its|what|as)\b)",
    Fraction(4): r"quadrupl(?:ed|es|ing)",
    Fraction(1, 2): r"halved|halving",
}
_MULTIPLE_STEP = Fraction(1, 5)  # what is 1.9 to 2.1 times as much has doubled
_MULTIPLE = re.compile(rf"\b(?:{'|'.join(f'({p})' for p in _MULTIPLES.values())})\b", re.IGNORECASE)
_LABEL = re.compile(
    r"\b(section|table|figure|fig|chapter|appendix|annex|paragraph|article|clause|page|equation"
    r"|footnote|note|step|exhibit|schedule|version)s?\.? $",
    re.IGNORECASE,
)
_NOTE_MARK = re.compile(r"\[\d{1,3}\]")  # of a footnote or a source
_OPEN = re.compile(r"\d ?[.:]$")
_REST = re.compile(r"\d+ (?:%|[a-z])")
_MARKER = re.compile(r"(?:^|[.!?:;\n]\s+)\(?$")  # before "2. The pump" or "(3) The seal"
_MARKED = re.compile(r"[.)]\s+[A-Z(]")


def read(text: str, mark: DecimalMark | None = None) -> list[Mention]:
    """Numbers and periods of `text` in order; ranges as one quantity.

    Args:
        text: any text; offsets of the result count its characters.
        mark: the decimal mark; default as the text's own numbers show it, else ".".
    """
    return list(_read(text, mark))


@lru_cache(maxsize=1 << 13)  # a claim is read for its sentence, its clauses and each of its values
def _read(text: str, mark: DecimalMark | None) -> tuple[Mention, ...]:
    plain = _NOTE_MARK.sub(lambda mark: " " * len(mark[0]), normalise(text))
    starts: list[int] = []
    if _TOKENS.search(plain):
        end = 0
        for match in _TOKENS.finditer(plain):
            starts += [*range(end, match.start()), match.start() + match[0].index(match[0].strip())]
            end = match.end()
        starts += range(end, len(plain))
        plain = "".join(plain[offset] for offset in starts)
    mentions: list[Mention] = list(periods(plain))
    occupied = [(period.start, period.end) for period in mentions]
    numbers: list[Quantity] = []
    for number in _quantities(plain, mark or decimal_mark(plain)):
        if not any(number.start < end and start < number.end for start, end in occupied):
            numbers.append(number)
            occupied.append((number.start, number.end))
    numbers.sort(key=lambda number: number.start)
    mentions += _joined(plain, numbers)
    if starts:
        mentions = [
            replace(mention, start=starts[mention.start], end=starts[mention.end - 1] + 1)
            for mention in mentions
        ]
    mentions = [replace(mention, text=text[mention.start : mention.end]) for mention in mentions]
    return tuple(sorted(mentions, key=lambda mention: mention.start))


def sentences(text: str) -> list[tuple[int, int]]:
    """Spans of sentences; where a text was taken apart into tokens, "3 . 5" ends none."""
    spans: list[tuple[int, int]] = []
    for start, end in sentence_spans(text):
        if spans and _OPEN.search(text, spans[-1][0], spans[-1][1]) and _REST.match(text, start):
            spans.append((spans.pop()[0], end))
        else:
            spans.append((start, end))
    return spans


def equal(value: str | Mention, rival: str | Mention) -> bool:
    """Return True if each of two values agrees with the other.

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


def _quantities(text: str, mark: DecimalMark) -> Iterator[Quantity]:
    for core in cores(text, mark):
        label = _LABEL.search(text, max(0, core.start - 12), core.start)
        if label and not core.ordinal:
            unit = f"#{label[1].lower()}"
            yield Quantity(core.value, core.step, unit, start=core.start, end=core.end)
        elif (
            core.value < 100
            and _MARKED.match(text, core.end)
            and _MARKER.search(text, max(0, core.start - 4), core.start)
        ):
            yield Quantity(core.value, core.step, "#item", start=core.start, end=core.end)
        else:
            yield _quantity(text, core)
    for match in _MULTIPLE.finditer(text):
        factor = list(_MULTIPLES)[(match.lastindex or 1) - 1]
        start, end = match.span()
        yield Quantity(factor, _MULTIPLE_STEP, "times", bound="about", start=start, end=end)


def _quantity(text: str, core: Core) -> Quantity:
    before = read_before(text, core.start)
    closed = text[core.end : core.end + 1] == ")"
    if before.bracket and closed:  # (5)% and $(3.2) million
        core, before = core._replace(end=core.end + 1), before._replace(bracket=False, sign="-")
    number, *more = _readings(text, core, before)
    number, *more = (with_sign(text, reading, before) for reading in (number, *more))
    if number.unit in _TIMES and _OVER.search(text, max(0, number.start - 6), number.start):
        more.append(replace(number, bound=""))  # to be paid over five years
    return replace(number, alternatives=tuple(more))


def _readings(text: str, core: Core, before: Before) -> Iterator[Quantity]:
    """The number with scale and unit, in every way that its letters or words may mean."""
    number = Quantity(core.value, core.step, start=core.start, end=core.end)
    if core.ordinal:
        yield number
        return
    if not core.spelled and (ordinal := _ORDINAL.match(text, core.end)):
        yield replace(number, end=ordinal.end())
        return
    measured: Quantity | None = None
    while match := _SCALE.match(text, number.end):
        if match["short"] == "mm" and not before.currency:
            break  # millimetres
        if match["letter"] and not before.currency and (measure := unit_after(text, number.end)):
            if match["near"]:
                break  # "5 m" with a space is metres, unless money
            measured = replace(number, unit=measure[0], end=match.end())
        power = _POWERS[(match["word"] or match["short"] or match["letter"]).lower()]
        number = replace(number.times(Fraction(power), ""), scale=power, end=match.end())
        if not match["word"]:
            break
    yield from _in_units(text, number, before)
    if measured is not None:
        yield measured


def _in_units(text: str, number: Quantity, before: Before) -> Iterator[Quantity]:
    """The number with its unit, currency or percent sign, or as a share (3 out of 10)."""
    position = number.end
    if number.step == 0 and (article := re.compile(r" (?:of )?an? (?=\w)").match(text, position)):
        position = article.end() - 1  # half a percentage point, a quarter of an hour
    money = _MONEY.match(text, position)
    if before.currency:
        yield replace(number, unit=before.currency, end=money.end() if money else number.end)
        return
    for units, factor, pattern in _SIGNS:
        if sign := pattern.match(text, position):
            for unit in units:
                yield replace(number.times(factor, unit), end=sign.end())
            return
    measure = unit_after(text, position)
    if money:
        name = COUNTRIES.get(money["country"] or "") or NAMES.get(money["name"] or "")
        code = money["code"] or SYMBOLS.get(money["symbol"] or "") or name
        for unit in [code] if code else CROWNS:
            yield replace(number, unit=unit, end=money.end())
        if measure and number.scale < 10**6:  # pounds
            yield replace(number, unit=measure[0], end=measure[1])
    elif measure:
        half = re.compile(r" and a half\b").match(text, measure[1])
        full_value = replace(number, value=number.value + Fraction(1, 2)) if half else number
        yield replace(full_value, unit=measure[0], end=half.end() if half else measure[1])
    else:
        share = _OUT_OF.match(text, number.end)
        total = share and _number_at(text, share.end())
        if (
            share
            and total
            and 0 < number.value <= total.value
            and (" in " not in share[0] or total.value <= 1000)
        ):
            ratio = number.value / total.value
            number = replace(number, value=ratio, step=Fraction(0), end=total.end)
        yield number


def _number_at(text: str, start: int) -> Core | None:
    """The plain number, in digits or words, that begins exactly at `start`."""
    if digits := CORE.match(text, start):
        plain = digits["digits"]
        return Core(start, digits.end(), *parse_digits(plain)) if plain else None
    word = next(spelled(text[start : start + 20]), None)
    return word._replace(end=start + word.end) if word and word.start == 0 else None


def _joined(text: str, numbers: list[Quantity]) -> list[Quantity]:
    """Neighbours that state one value become one: ends of a range, value and uncertainty, hours
    and minutes, a part and its whole."""
    joined: list[Quantity] = []
    for number in numbers:
        merged = _join(text, joined[-1], number) if joined else None
        if merged is None:
            joined.append(number)
        else:
            joined[-1:] = merged
    return joined


def _join(text: str, low: Quantity, number: Quantity) -> list[Quantity] | None:
    between = text[low.end : number.start]
    if low.high is not None or low.error is not None:
        return None
    if _PLUS_MINUS.fullmatch(between) and number.unit in ("", low.unit or number.unit):
        unit = low.unit or number.unit
        return [replace(low, unit=unit, error=abs(number.value), end=number.end)]
    if _is_range(text, low, number):
        # the lower end takes scale and unit of the upper: $5-10 million
        scaled = low.scale == 1 and 0 < abs(low.value) * number.scale <= abs(number.value)
        low = low.times(Fraction(number.scale if scaled else 1), number.unit or low.unit)
        step = max(low.step, number.step)
        return [replace(low, step=step, high=number.value, end=number.end, alternatives=())]
    part = _OF_WHOLE.fullmatch(between)
    if part and (low.step == 0 or low.unit == "%") and low.unit in ("", "%") and low.value > 0:
        share = low.value / (100 if low.unit else 1)
        product = replace(
            low, value=share * number.value, step=max(low.step / 100 * number.value, number.step),
            unit=number.unit,
        )  # fmt: skip
        if part["whole"] or low.unit:
            return [replace(low, alternatives=(*low.alternatives, product)), number]
        return [replace(product, end=number.end, alternatives=(low,))]
    if low.unit != number.unit and _AND_SMALLER.fullmatch(between):
        larger, smaller = base(low.unit), base(number.unit)
        if larger and smaller and larger.name == smaller.name and larger.factor > smaller.factor:
            ratio = smaller.factor / larger.factor
            if number.value * ratio < 1:  # 21 hours and 40 minutes
                value = low.value + number.value * ratio
                return [replace(low, value=value, step=number.step * ratio, end=number.end)]
    return None


def _is_range(text: str, low: Quantity, high: Quantity) -> bool:
    between = text[low.end : high.start]
    if not _JOIN.fullmatch(between) or high.value < 0:
        return False
    if low.unit not in ("", high.unit) and high.unit != "":
        return False
    if re.search("[-\u2013\u2014]", between):
        return True
    if between.strip().lower() == "and":
        return bool(_BETWEEN.search(text, max(0, low.start - 14), low.start))
    ahead = _FROM.sub("", text[max(0, low.start - WINDOW) : low.start])
    if len(ahead) < min(low.start, WINDOW):  # "rose from 5 to 8" states two values, no range
        return not _MOVED.search(re.split(r"[.;!?]\s", ahead)[-1])
    return read_before(text, low.start).word == "" or low.unit == high.unit == "%"
