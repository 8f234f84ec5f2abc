"""Bare answers to questions: what was asked says how the value came about.

A question for a change, a mean or a count is answered by that computation, or by a place that
speaks of it; any other by what is stated, and by no computation that it does not name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from harness.rag.check.numbers import (
    CODES,
    Agreement,
    Cell,
    Mention,
    Quantity,
    Source,
    agreement,
    coverage,
    read,
    words,
)
from harness.rag.check.types import Finding, Verdict
from harness.rag.check.values.derivations import CUES, asked_for
from harness.rag.check.values.roles import Statement, fit, speaks_of

# Share of the words of a column's heading that a question must have to speak of all its cells.
_HEADED = 0.5
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


def may_state(labels: str, statement: Statement) -> bool:
    """Whether a place may state what was asked for: what is to be computed stands only where labels
    or a sentence speak of that."""
    if limit_of(statement.question):
        return False
    wanted = asked_for(statement.question) & _COMPUTED
    return not wanted or any(CUES[name].search(labels) for name in wanted)


def limit_of(question: str) -> tuple[int, Quantity] | None:
    """Of "how many ... exceed 500": the direction and the value; None where none is compared."""
    for sign, pattern in _LIMITS.items() if _MANY.search(question) else ():
        for match in pattern.finditer(question):
            values = (each for each in read(question) if isinstance(each, Quantity))
            if value := next((each for each in values if each.end > match.end()), None):
                return sign, replace(value, bound="")
    return None


def over_a_line(statement: Statement, value: Quantity, source: Source) -> Finding | None:
    """What all of a row or column gives: how many cells are beyond a limit, their sum or mean."""
    wanted, limit = asked_for(statement.question), limit_of(statement.question)
    alone = wanted in ({"sum"}, {"mean"}, {"sum", "mean"})  # no part of a further computation
    wanted = wanted - {"sum"} if "mean" in wanted else wanted
    for line in _lines(statement, source.cells) if limit or alone else ():
        total = sum((cell.value.value for cell in line), Fraction(0))
        results = {
            name: replace(line[0].value, value=amount, step=Fraction(0), alternatives=())
            for name, amount in (("sum", total), ("mean", total / len(line)))
        }
        if limit:
            sign, least = limit
            scaled = least.scale > 1 or least.unit
            numbers = [cell.value if scaled else cell.plain for cell in line]
            beyond = sum(sign * number.value > sign * least.value for number in numbers)
            results, wanted = {"count": Quantity(Fraction(beyond), Fraction(1))}, {"count"}
        for name in results.keys() & wanted:
            if agreement(value, results[name]) is Agreement.SAME:
                spans = [source.line(cell) for cell in line]
                reason = f"{name}: {', '.join(cell.plain.text for cell in line)}"
                return source.finding(Verdict.DERIVED, spans, reason, 0.75)
    return None


def _lines(statement: Statement, cells: Sequence[Cell]) -> Iterator[list[Cell]]:
    """Rows that a question speaks of best, and columns without totals, whole and by section."""
    rows: dict[tuple[int, int], list[Cell]] = defaultdict(list)
    columns: dict[tuple[int, int, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        dated = fit(statement.periods, cell.periods)
        if dated is not Agreement.DIFFERENT:
            rows[cell.table, cell.place[0]].append(cell)
            headed = coverage(words(cell.column), statement.words) >= _HEADED
            meant = (headed or dated is Agreement.SAME) and not cell.is_total
            for section in {"", cell.section} if meant else ():
                columns[cell.table, cell.place[1], section].append(cell)
    spoken = [(speaks_of(row[0], statement), row) for row in rows.values()]
    best = max((share for share, _ in spoken), default=0.0)
    yield from (row for share, row in spoken if share >= max(_HEADED, best))
    yield from columns.values()
