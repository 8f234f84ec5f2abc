"""Operands of a claimed value: cells and values of prose that speak of the same.

A question for a change, a mean or a count is answered by that computation, or by a place that
speaks of it; any other by what is stated, and by no computation that it does not name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from harness.rag.check.numbers import (
    CODES,
    Agreement,
    Cell,
    Mention,
    Quantity,
    Source,
    agreement,
    coverage,
    in_one_unit,
    overlap,
    read,
    words,
)
from harness.rag.check.types import Finding, Verdict
from harness.rag.check.values.derivations import (
    CUES,
    ORDINAL,
    Derivation,
    Operand,
    asked_for,
    derive,
    each_times,
    elapsed,
    meant,
    parts_of_wholes,
)
from harness.rag.check.values.roles import Statement, fit, parts, share_of, speaks_of

# Share of a row label's words from which its cells are operands.
_PROSE = 0.75
# Shares of words from which a sentence's values are operands, and from which its shares are.
_NEARBY, _SPOKEN = 0.2, 0.5
_BALANCE = words("income revenue revenues turnover sales costs expenses spending")
_RESULT = re.compile(r"\b(?:profit|loss|surplus|deficit|result)\b", re.IGNORECASE)
_EACH = re.compile(r"\b(?:each|apiece|per)\b", re.IGNORECASE)
_COUNTED = 40  # characters behind a whole that say what is counted
_PART_OF = re.compile(r" of (?:(?:the|its|their|his|her) )?")
_THAN = re.compile(
    r"(?: [a-z]+)? (?:(?P<less>less|fewer|lower|below|cheaper)|more|higher|above|dearer)\b"
    r"(?: than| the)?(?P<other>[^.;]*)",
)
_AS = re.compile(r" as (?:much|many|high|large) as(?P<other>[^.;]*)")
_AGO = re.compile(r"\b(?:ago|earlier|before)\b.*\b(?:ago|earlier|before)\b", re.DOTALL)
_HALVED = re.compile(r"\b(?:equally|evenly|half each)\b", re.IGNORECASE)
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
    """Return True if a place may state what was asked for: a value to be computed stands only where
    labels or a sentence speak of that.
    """
    if limit_of(statement.question):
        return False
    operations = asked_for(statement.question) & _COMPUTED
    return not operations or any(CUES[name].search(labels) for name in operations)


def limit_of(question: str) -> tuple[int, Quantity] | None:
    """Read direction and value of "how many ... exceed 500"; None where none is compared."""
    for sign, pattern in _LIMITS.items() if _MANY.search(question) else ():
        for match in pattern.finditer(question):
            values = (each for each in read(question) if isinstance(each, Quantity))
            if value := next((each for each in values if each.end > match.end()), None):
                return sign, replace(value, bound="")
    return None


def over_a_line(statement: Statement, value: Quantity, source: Source) -> Finding | None:
    """Compute from a whole row or column: how many cells are beyond a limit, their sum or mean."""
    operations, limit = asked_for(statement.question), limit_of(statement.question)
    alone = operations in ({"sum"}, {"mean"}, {"sum", "mean"})  # no part of a further computation
    operations = operations - {"sum"} if "mean" in operations else operations
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
            results, operations = {"count": Quantity(Fraction(beyond), Fraction(1))}, {"count"}
        for name in results.keys() & operations:
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


def derive_from_cells(statement: Statement, value: Quantity, source: Source) -> Finding | None:
    """A computation over cells that the sentence speaks of."""
    shares = [(speaks_of(cell, statement), cell) for cell in source.cells]
    near = statement.question and all(share < _PROSE for share, _ in shares)
    least = _SPOKEN if near else _PROSE
    spoken = [cell for share, cell in shares if share >= least]
    if statement.question and (not spoken or "share" in asked_for(statement.question)):
        spoken += [cell for cell in source.cells if cell.is_total and cell not in spoken]
    spoken.sort(
        key=lambda cell: (
            -overlap(statement.words, cell.row_words),
            fit(statement.periods, cell.periods) is not Agreement.SAME,
        )
    )
    scaled, plain = (
        [
            Operand(
                number, cell.plain.text, cell.row_words, cell.periods, source.line(cell),
                (cell.table, *cell.place),
            )
            for cell, number in zip(spoken, numbers, strict=True)
        ]
        for numbers in ([cell.value for cell in spoken], [cell.plain for cell in spoken])
    )  # fmt: skip
    pools = [scaled]
    if value.unit == "" and value.scale == 1:  # as the table prints them
        pools.append(plain)
    sentence = statement.sentence
    periods = () if any(each.until for each in statement.periods) else statement.periods
    derived = (derive(value, sentence, pool, periods=periods) for pool in pools)
    finding = _derived(next(filter(None, derived), None), source)
    return finding or (over_a_line(statement, value, source) if statement.question else None)


def _derived(derivation: Derivation | None, source: Source) -> Finding | None:
    if derivation is None:
        return None
    reason = f"{derivation.operation}: {derivation.formula}"
    lines = sorted({operand.line for operand in derivation.operands})
    return source.finding(Verdict.DERIVED, lines, reason, 0.85)


def derive_from_prose(statement: Statement, value: Quantity, source: Source) -> Finding | None:
    """A computation over values of sentences that speak of the same."""
    about = statement.words
    operands: list[tuple[float, Operand]] = []
    dates: list[Operand] = []
    shares: list[Operand] = []
    context = ""
    for sentence in source.sentences:
        share = share_of(about, sentence)
        if _RESULT.search(statement.sentence) and len(_BALANCE & sentence.words) > 1:
            share = 1.0  # income and costs give a profit
        elif not about & sentence.words or share < _NEARBY:
            continue
        context += sentence.text if share >= _SPOKEN else ""
        line = (sentence.start, sentence.end)
        values = [mention for mention in sentence.mentions if isinstance(mention, Quantity)]
        stretches = parts(sentence.text, tuple((each.start, each.end) for each in values))
        for each, part in zip(values, stretches, strict=True):
            near = part.near(len(part.ahead))
            bonus = fit(statement.periods, part.periods) is Agreement.SAME
            rank = share + coverage(about, near) + 0.5 * bonus
            units = [reading.unit for reading in (value, *value.alternatives)]
            fitting = (reading for reading in (each, *each.alternatives) if reading.unit in units)
            stated = next(fitting, each)  # cents of the claimed currency
            numbered = each.unit[:1] == "#" or (each.value >= 1 and ORDINAL.search(each.text))
            for end in () if numbered else {stated.value, stated.high or stated.value}:
                number = replace(stated, value=end, high=None)
                operand = Operand(number, each.text, near, part.periods, line)
                operands.append((rank, operand))
                is_part = number.unit == "" and number.step == 0 and number.value < 1
                if share >= _SPOKEN and number.value > 0 and (number.unit == "%" or is_part):
                    shares.append(operand)
        dates += [
            Operand(Quantity(Fraction(0), Fraction(0)), each.text, sentence.words, (each,), line)
            for each in sentence.periods
        ]
    operands.sort(key=lambda pair: -pair[0])
    ranked = [operand for _, operand in operands]
    if ranked and _HALVED.search(context):
        half = Quantity(Fraction(1, 2), Fraction(0))
        shares.append(ranked[0]._replace(value=half, plain="half"))
        if agreement(value, half) is Agreement.SAME:
            return _derived(Derivation("share", "equally", (shares[-1],)), source)
    if stated := _from_comparison(statement, value, source):
        return stated
    spans_time = value.unit == "year" or "difference" in meant(statement.sentence, prose=True)
    readings = (value, *value.alternatives)
    computed = (derive(each, statement.sentence, ranked, context) for each in readings)
    return _derived(
        next(filter(None, computed), None)
        or parts_of_wholes(value, shares, ranked)
        or (each_times(value, ranked) if _EACH.search(context) else None)
        or (elapsed(value, dates) if spans_time else None),
        source,
    )


def _from_comparison(statement: Statement, value: Quantity, source: Source) -> Finding | None:
    """Derive from a comparison ("410, 60 more than the old one had"; "6%, twice as much as
    before"), or the rest of a whole of which a part is named ("64 of its 91 houses").
    """
    for sentence in source.sentences:
        values = [mention for mention in sentence.mentions if isinstance(mention, Quantity)]
        for pair in pairwise(values):
            number = _compared(statement, sentence.text, *pair)
            if number is not None and agreement(value, number) is Agreement.SAME:
                reason = f"compared: {sentence.text[pair[0].start : pair[1].end]}"
                span = (sentence.start, sentence.end)
                return source.finding(Verdict.DERIVED, [span], reason, 0.75)
    return None


def _compared(
    statement: Statement, text: str, first: Quantity, second: Quantity
) -> Quantity | None:
    """Derive a third value, of which the claim speaks, from two neighbours in a sentence."""
    behind, about = text[second.end :], statement.words
    if second.unit == "times" and (than := _AS.match(behind)):
        earlier = f"{than['other']} {statement.sentence}"
        if words(than["other"]) & about or _AGO.search(earlier):
            return replace(first, value=first.value / second.value, alternatives=())
    if (both := in_one_unit(first, second)) is None:
        return None
    part, whole = both
    if _PART_OF.fullmatch(text, first.end, second.start) and 0 < part.value < whole.value:
        counted = words(behind.split(".")[0][:_COUNTED]) & about
        said = words(text[: first.start].rsplit(",", 1)[-1]) & about  # the part itself is meant
        if counted and not said:
            return replace(second, value=whole.value - part.value, alternatives=())
    elif (than := _THAN.match(behind)) and words(than["other"]) & about:
        change = abs(whole.value) if than["less"] else -abs(whole.value)
        return replace(first, value=part.value + change, alternatives=())
    return None
