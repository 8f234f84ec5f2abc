"""Values that follow: sums, differences, ratios, growth, means and shares, recomputed exactly.

Operands are cells of one row or one column, or values of prose that speak of the same. The wording
of the claim decides which computation it may be; of a change, the later value comes first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import NamedTuple

from harness.rag.check.numbers import (
    CODES,
    Agreement,
    Mention,
    Period,
    Quantity,
    agreement,
    fit,
    in_one_unit,
    read,
)


def _compiled(patterns: dict[str, str]) -> dict[str, re.Pattern[str]]:
    return {name: re.compile(pattern, re.IGNORECASE) for name, pattern in patterns.items()}


CUES = _compiled({
    "growth": r"increas|decreas|grew|grow|ris|rose|fell|fall|declin|drop|chang|up\b|down\b|"
    r"gain|higher|lower|jump|climb|shrank|reduc|improv",
    "difference": r"increas|decreas|grew|rise|rising|rose|fell|fall|declin|drop|chang|up\b|"
    r"down\b|gain|higher|lower|more|less|fewer|differ|gap|exceed|between|reduc|improv",
    "sum": r"total|sum|combined|together|altogether|both|cumulative|overall|aggregate",
    "mean": r"average|mean",
    "ratio": r"ratio|times|twice|double|triple|as (?:much|many|large|high)|fold|per\b",
    "share": r"share|percent of|% of|proportion|portion|account(?:s|ed|ing)? for|made up|"
    r"represent|constitut|percentage",
})  # fmt: skip
"""Words that speak of a computation."""
_CUES_IN_PROSE = _compiled({
    "growth": r"more|less|fewer",
    "difference": r"\bcut\b|worse|added|longer|shorter|years? old|older|younger|took|lasted|"
    r"profit|loss|surplus|deficit|spans?\b|\bthan\b|\bafter\b|later|earlier|\bwhen\b|\brest\b|remain|\bothers?\b|\bnot\b|before|\bleft\b",
    "sum": r"\band\b|in all\b",
    "ratio": r"doubl|tripl|quadrupl|halv|as (?:long|big|fast|old|wide|heavy|often)",
    "share": r"\bof the\b|third|quarter|half|fifth|tenth",
})  # fmt: skip
"""Such words where a table would use them in its labels."""
_PERCENT = r"(?:percent(?:age)?|per ?cent|%)"
_CHANGE = r"(?:change|increase|decrease|growth|decline|rise|drop|reduction)"
_CUES_IN_QUESTIONS = _compiled({
    "growth": rf"{_PERCENT} (?:\(?\w+\)? )?(?:/ )?\(?{_CHANGE}|"
    rf"{_CHANGE}\b.*\b(?:in|as an?) {_PERCENT}(?! of)|\bgr[eo]w|rate of {_CHANGE}",
    "share": rf"\bas an? (?:{_PERCENT}|proportion|share)|(?:{_PERCENT}|proportion|portion|share) "
    r"(?:of|out|does|do|did|is|was|are|were)\b|ma[dk]e up|account for|represent|constitut|margin",
    "ratio": r"\bratio\b|\btimes\b|proportion|\bper\b|\bover\b",
    "mean": r"(?<!weighted[ -])\baverage|\bmean\b",
    "difference": rf"\b{_CHANGE}|differ|\bgr[eo]w|increas|decreas|declin|reduc|fell|rose|exceed"
    r"|\b(?:more|less|fewer|higher|lower|larger|smaller)\b",
    "sum": r"\btotal|\bsum\b|combined|together|\bboth\b|cumulative|aggregate|\badd|\ball\b|overall",
    "rest": r"\bnot\b|remain|\brest\b|exclud",
})  # fmt: skip
_REMAINS = re.compile(
    r"\b(?:rest|remain\w*|others?|not|left|balance|of (?:which|whom|them))\b", re.IGNORECASE
)
ORDINAL = re.compile(r"(?:first|second|third|[a-z]th|\d(?:st|nd|rd|th))$", re.IGNORECASE)
_OF_RATES = re.compile(r"\bdifferences?\b|\bhow many percent\b", re.IGNORECASE)
_DEADLINE = re.compile(r"\b(?:within|(?:up|no later) (?:to|than))\s*$", re.IGNORECASE)
_THAN = re.compile(r"\b(?:than|as)\b(?! well)", re.IGNORECASE)
_COMPUTED = {"growth", "difference", "mean"}
_MANY = re.compile(r"\bhow many\b", re.IGNORECASE)
_LIMITS = {
    1: re.compile(r"exceed\w*|(?:more|greater|higher|larger|over|above)(?: than)?", re.IGNORECASE),
    -1: re.compile(r"(?:less|fewer|lower|smaller|under|below)(?: than)?", re.IGNORECASE),
}
_PERCENTAGE = re.compile(
    r"\b(?:what|which|how many) percent|\bpercentage (?:change|increase|decrease|growth)|"
    r"(?:as a|in) percentage\b",
    re.IGNORECASE,
)
_PERIODS = re.compile(r"\bhow many (?:years|months|quarters|days|weeks)\b", re.IGNORECASE)
_WITHIN = ("sum", "share", "mean")
_NEW = ("difference", "sum", "mean", "rest")
MOST_OPERANDS = 12
"""Operands that are combined; more would fit anything."""


class Operand(NamedTuple):
    """A value to compute with.

    Attributes:
        value: exact.
        plain: as the document writes it.
        words: that say what it is of.
        periods: when.
        line: where it stands, to be quoted.
        place: table, row and column; None in prose.
    """

    value: Quantity
    plain: str
    words: frozenset[str]
    periods: tuple[Period, ...]
    line: tuple[int, int]
    place: tuple[int, int, int] | None = None


class Derivation(NamedTuple):
    """A computation that gives the claimed value."""

    operation: str
    formula: str
    operands: tuple[Operand, ...]


def question_of(sentence: str) -> str:
    """The question that stands before a bare answer; "" before none."""
    question, mark, _ = sentence.partition("? ")
    return question if mark else ""


def asked_for(question: str) -> set[str]:
    """Operations that a question names; empty where it asks for what is stated."""
    operations = {name for name, cue in _CUES_IN_QUESTIONS.items() if cue.search(question)}
    return operations - {"sum"} if "respective" in question else operations


def as_asked(value: Mention, question: str) -> Mention | None:
    """The bare value as the question wants it: a percentage, or no amount of money; else None."""
    if not isinstance(value, Quantity):
        return value
    if _PERCENTAGE.search(question):
        if value.unit in ("", "%", "pp") and value.scale == 1:
            return replace(value, unit=value.unit or "%", alternatives=())
        return None
    amount = value.unit in (*CODES, "%")
    if limit_of(question):
        return None if amount or value.scale > 1 else value
    return None if amount and _PERIODS.search(question) else value


def may_state(labels: str, question: str) -> bool:
    """Return True if a place may state what was asked for: a value to be computed stands only where
    labels or a sentence speak of that.
    """
    if limit_of(question):
        return False
    operations = asked_for(question) & _COMPUTED
    return not operations or any(CUES[name].search(labels) for name in operations)


def limit_of(question: str) -> tuple[int, Quantity] | None:
    """Read direction and value of "how many ... exceed 500"; None where none is compared."""
    for sign, pattern in _LIMITS.items() if _MANY.search(question) else ():
        for match in pattern.finditer(question):
            values = (quantity for quantity in read(question) if isinstance(quantity, Quantity))
            if value := next((quantity for quantity in values if quantity.end > match.end()), None):
                return sign, replace(value, bound="")
    return None


def meant(sentence: str, *, prose: bool) -> set[str]:
    """Operations that the wording of a sentence may mean, of cells or of prose; of a bare answer,
    those that its question names."""
    if question := question_of(sentence):
        return asked_for(question)
    cues = [*CUES.items(), *(_CUES_IN_PROSE.items() if prose else ())]
    return {name for name, cue in cues if cue.search(sentence)}


def derive(
    value: Quantity,
    sentence: str,
    operands: Sequence[Operand],
    context: str = "",
    periods: Sequence[Period] = (),
) -> Derivation | None:
    """The first computation that gives the value and that the sentence may mean.

    Args:
        value: the claimed one.
        sentence: that claims it.
        operands: the best ones first.
        context: of the document's words, those around the operands.
        periods: that the sentence names; what lies in none of them is no sum or share of theirs.
    """
    if value.high is not None or not operands or ORDINAL.search(value.text):
        return None
    operations = meant(sentence, prose=operands[0].place is None)
    question = question_of(sentence)
    if not question and _REMAINS.search(f"{sentence} {context}"):
        operations |= {"difference", "rest"}
    stated = any(agreement(value, operand.value) is Agreement.SAME for operand in operands)
    deadline = _DEADLINE.search(sentence[: value.start])
    for operation, formula, group, amount, unit in _computations(
        operations, sentence, operands[:MOST_OPERANDS]
    ):
        if operation not in operations or (unit == "%" and value.unit != "%"):
            continue  # a bare 0.6 is too little to be a share or a growth
        if group[0].place is None and operation in _NEW and stated:
            continue  # what is stated follows from nothing
        if operation != "mean" and any(
            operand.value.value == operand.value.step == 0 for operand in group
        ):
            continue  # a dash in a cell
        if (
            group[0].place is None
            and operation == "sum"
            and (deadline or _repeated(group, sentence))
        ):
            continue
        if operation in _WITHIN and all(
            fit(periods, operand.periods) is Agreement.DIFFERENT for operand in group
        ):
            continue
        accepted = [Quantity(amount, Fraction(0), unit)]
        if operation in ("growth", "difference") and not value.signed:  # "fell by 5"
            accepted.append(Quantity(abs(amount), Fraction(0), unit))
        if operation in ("sum", "mean", "share") and group[0].value.value < 0 > amount:
            accepted.append(Quantity(abs(amount), Fraction(0), unit))  # costs in brackets
        if question and any(operand.value.value < 0 for operand in group):  # of what brackets mean
            accepted.append(Quantity(-amount, Fraction(0), unit))
        alike = question and group[0].words == group[-1].words
        if unit == "pp" and operation == "difference" and (alike or _OF_RATES.search(sentence)):
            accepted += [replace(number, unit="%") for number in accepted]
        if any(agreement(value, number) is Agreement.SAME for number in accepted):
            return Derivation(operation, formula, group)
    return None


def _repeated(group: Sequence[Operand], sentence: str) -> bool:
    """Return True if a value counts twice and no word asks for a total: a deadline that a policy
    repeats is one deadline."""
    values = {(operand.value.value, operand.value.unit) for operand in group}
    return len(values) < len(group) and not CUES["sum"].search(sentence)


_Computation = tuple[str, str, tuple[Operand, ...], Fraction, str]
"""Operation, formula as the document writes its values, operands, result and its unit."""


def _computations(
    operations: set[str], sentence: str, operands: Sequence[Operand]
) -> Iterator[_Computation]:
    """Compute what two values of one unit give, and up to five of one line."""
    for pair in permutations(operands, 2):
        converted = _in_one_unit(pair)
        if converted is None or not _one_line(pair):
            continue
        first, second = converted
        a, b = (operand.plain for operand in pair)
        unit = "pp" if first.unit == "%" else first.unit  # minutes and hours: seconds
        forward = _forward(sentence, *pair)
        if forward:
            yield "difference", f"{a} - {b}", pair, first.value - second.value, unit
        if "rest" in operations and pair[0].place is None:
            for third in operands:
                subtracted = _in_one_unit((pair[1], third)) if third not in pair else None
                if subtracted and first.value > subtracted[0].value + subtracted[1].value > 0:
                    remainder = first.value - subtracted[0].value - subtracted[1].value
                    yield "rest", f"{a} - {b} - {third.plain}", (*pair, third), remainder, unit
        if second.value == 0:
            continue
        ratio = first.value / second.value
        table = pair[0].place
        rows = [operand.place[:2] if operand.place else None for operand in pair]
        if forward and (rows[0] == rows[1] or pair[0].words == pair[1].words):
            growth = (ratio - 1) * (-100 if second.value < 0 else 100)
            yield "growth", f"({a} - {b}) / {b}", pair, growth, "%"
        if table or ratio <= 1:
            yield "share", f"{a} / {b}", pair, ratio * 100, "%"
        if table is None and ratio <= 1:
            yield "share", f"{a} / {b}", pair, ratio, ""
        if forward:
            yield "ratio", f"{a} / {b}", pair, ratio, ""
            yield "ratio", f"{a} / {b}", pair, ratio, "times"
    for operand in operands if "rest" in operations else ():
        if operand.value.unit == "%" and operand.place is None:
            yield "rest", f"100 % - {operand.plain}", (operand,), 100 - operand.value.value, "%"
    sizes = range(2, min(5, len(operands)) + 1) if operations & {"sum", "mean"} else ()
    for group in (group for size in sizes for group in combinations(operands, size)):
        if len({operand.value.unit for operand in group} | {""}) > 2 or not _one_line(group):
            continue
        total = sum((operand.value.value for operand in group), Fraction(0))
        unit = next((operand.value.unit for operand in group if operand.value.unit), "")
        formula = " + ".join(operand.plain for operand in group)
        yield "sum", formula, group, total, unit
        yield "mean", f"({formula}) / {len(group)}", group, total / len(group), unit


def parts_of_wholes(
    value: Quantity, shares: Sequence[Operand], wholes: Sequence[Operand]
) -> Derivation | None:
    """A part that a share and a whole give, or the whole that a share and a part give."""
    if value.high is not None or value.unit in ("%", "pp", "times"):
        return None
    for share, total in product(shares, wholes):
        part = share.value.value / (100 if share.value.unit else 1)
        step = share.value.step / 100 * abs(total.value.value)
        for amount, sign in ((part * total.value.value, "*"), (total.value.value / part, "/")):
            number = Quantity(amount, max(step, total.value.step), total.value.unit)
            if (
                share != total
                and total.value.unit == value.unit
                and agreement(value, number) is Agreement.SAME
            ):
                return Derivation("part", f"{total.plain} {sign} {share.plain}", (share, total))
    return None


def each_times(value: Quantity, operands: Sequence[Operand]) -> Derivation | None:
    """A number of things times what each of them has."""
    for count, rate in permutations(operands, 2):
        same_unit = (
            count.value.unit == "" and count.value.step == 1 and rate.value.unit == value.unit
        )
        number = replace(rate.value, value=count.value.value * rate.value.value, alternatives=())
        if same_unit and agreement(value, number) is Agreement.SAME:
            return Derivation("product", f"{count.plain} * {rate.plain}", (count, rate))
    return None


def elapsed(value: Quantity, dates: Sequence[Operand]) -> Derivation | None:
    """Years between two dates."""
    if value.unit not in ("year", "") or value.value < 1:
        return None
    for first, last in permutations(dates, 2):
        begin, end = first.periods[0], last.periods[0]
        if begin.year and end.year and begin.year < end.year:
            early = (end.month or 0, end.day or 0) < (begin.month or 0, begin.day or 0)
            exact = bool(begin.month and end.month and early)
            if end.year - begin.year - exact == value.value:
                return Derivation("years", f"{first.plain} to {last.plain}", (first, last))
    return None


def _in_one_unit(pair: tuple[Operand, Operand]) -> tuple[Quantity, Quantity] | None:
    """Both in one unit; of two cells, or amounts in millions, one may leave the currency out."""
    first, second = (operand.value for operand in pair)
    units = {first.unit, second.unit}
    if len(units) > 1 and "" in units:
        unit = max(units)
        short = unit in CODES if pair[0].place else min(first.scale, second.scale) > 1
        return (replace(first, unit=unit), replace(second, unit=unit)) if short else None
    return in_one_unit(first, second)


def _one_line(group: Sequence[Operand]) -> bool:
    """Return True if values stand in prose, or in one row or one column of one table."""
    cells = [operand.place for operand in group if operand.place]
    if not cells:
        return True
    tables, rows, columns = (set(numbers) for numbers in zip(*cells, strict=True))
    return len(cells) == len(group) and len(tables) == 1 and min(len(rows), len(columns)) == 1


def _forward(sentence: str, first: Operand, second: Operand) -> bool:
    """Return True if the claim compares the first with the second and not the other way round: the
    later with the earlier, or what stands before "than" with what stands behind it.
    """
    years = [
        max((period.until or period.year or 0 for period in operand.periods), default=0)
        for operand in (first, second)
    ]
    if all(years) and years[0] != years[1]:
        if than := _THAN.search(sentence):
            positions = [sentence.rfind(str(year)) for year in years]
            if all(position >= 0 for position in positions):
                return positions[0] < than.start() < positions[1] or not (
                    positions[1] < than.start() < positions[0]
                )
        return years[0] > years[1]
    return True
