"""Verdicts on claimed values: by the cells that their sentence speaks of, then by the prose.

A value that no cell states may follow from cells: a sum, difference, ratio, growth, mean or share
is recomputed exactly from cells of one row or one column; the wording of the claim decides which
of them it may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, permutations

from harness.rag.check.numbers.reading import read
from harness.rag.check.numbers.sources import Cell, Sentence, Source, coverage, overlap, words
from harness.rag.check.numbers.values import Agreement, Mention, Period, Quantity, agreement
from harness.rag.check.types import BY_SUPPORT, Claim, Evidence, Finding, Verdict

# Share of a row label's words that a sentence must have to speak of the row.
_ROW = 0.5
# Overlap of a sentence with a cell's labels from which another value contradicts.
_STRONG = 0.6
_NEAR = 0.85
# Share of a claim's words that a sentence must have for support, and for a contradiction.
_SPOKEN, _PROSE = 0.5, 0.75
# Cells that are combined; more would fit anything.
_MOST_CELLS = 12
_SIGN_WORDS = frozenset(("loss", "decreas", "declin", "deficit", "reduction", "drop", "outflow"))
_EXPLICIT = re.compile(r"\s*[(\u2212-]|[$€£¥]\s?[(\u2212-]")
# Words that speak of a computation.
_CUES = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "growth": r"increas|decreas|grew|grow|ris|rose|fell|fall|declin|drop|chang|up\b|down\b|"
        r"gain|higher|lower|jump|climb|shrank|reduc|improv",
        "difference": r"increas|decreas|grew|rise|rising|rose|fell|fall|declin|drop|chang|up\b|"
        r"down\b|gain|higher|lower|more|less|fewer|differ|gap|exceed|between|reduc|improv",
        "sum": r"total|sum|combined|together|altogether|both|cumulative|overall|aggregate",
        "mean": r"average|mean|\bper (?:year|month|quarter|day)",
        "ratio": r"ratio|times|twice|double|triple|as (?:much|many|large|high)|fold|per\b",
        "share": r"share|percent of|% of|proportion|portion|account(?:s|ed|ing)? for|made up|"
        r"represent|constitut|percentage",
    }.items()
}


@dataclass(frozen=True)
class _Statement:
    """A claimed value with what its sentence says around it."""

    value: Mention
    sentence: str
    words: frozenset[str]
    periods: tuple[Period, ...]


def judge(claim: Claim, sources: Sequence[Source]) -> Finding | None:
    """The verdict on a claim that states a value; None where it states none.

    Every document is judged alone, so that no other one takes support away. Cells decide before
    prose, since a row and a column say exactly what a value is of; a value that can be computed
    from cells is `DERIVED` before a cell may contradict it.
    """
    statement = _read_claim(claim)
    if statement is None:
        return None
    findings: list[Finding] = []
    for source in sources:
        judge_place = _judge_period if isinstance(statement.value, Period) else _judge_by_cells
        finding = judge_place(statement, source) or _judge_by_prose(statement, source)
        if finding is not None and finding.verdict is Verdict.SUPPORTED:
            return finding
        findings += [finding] if finding else []
    reason = f"no place that speaks of the same states {statement.value.text!r}"
    findings.append(Finding(verdict=Verdict.NOT_FOUND, reason=reason, confidence=0.6))
    return min(findings, key=lambda finding: BY_SUPPORT.index(finding.verdict))


def _read_claim(claim: Claim) -> _Statement | None:
    sentence = claim.sentence or claim.text
    stated = read(sentence)
    exact = [mention for mention in stated if mention.text == claim.text]
    near = [
        mention for mention in stated if mention.text in claim.text or claim.text in mention.text
    ]
    value = next(iter(exact or near or read(claim.text)), None)
    if value is None:
        return None
    if len(words(sentence)) < 2:  # a bare value: what was asked says what it is of
        sentence = f"{claim.asked} {sentence}"
        stated = read(sentence)
    periods = (mention for mention in stated if isinstance(mention, Period))
    named = tuple(period for period in periods if period.text != value.text)
    return _Statement(value, sentence, words(sentence), named)


def _judge_by_cells(statement: _Statement, source: Source) -> Finding | None:
    value = statement.value
    assert isinstance(value, Quantity)
    aligned: list[tuple[float, Cell]] = []  # cells that the sentence may speak of, best first
    for cell in source.cells:
        if coverage(cell.row_words, statement.words) < _ROW:
            continue
        fit = _fit(statement.periods, cell.periods)
        if fit is not Agreement.DIFFERENT:
            bonus = 0.5 if fit is Agreement.SAME else 0.0
            aligned.append((overlap(statement.words, cell.label_words) + bonus, cell))
    aligned.sort(key=lambda pair: -pair[0])
    best = aligned[0][0] if aligned else 0.0
    for score, cell in aligned:
        if score >= _NEAR * best and _states(cell, value):
            reason = f"{cell.plain.text} in row {_labels(cell)}"
            return _by_cells(Verdict.SUPPORTED, [cell], reason, 0.97, source)
    if derived := _derive(statement, value, source):
        return derived
    if not aligned:
        return None
    closest = aligned[0][1]
    # the same amount with the other sign, where a sign was written on one side
    mirrored = replace(value, value=-value.value)
    opposite = next(
        (
            cell
            for _, cell in aligned
            if value.value and (value.signed or cell.value.signed)
            if cell.value.unit == value.unit and agreement(mirrored, cell.value) is Agreement.SAME
        ),
        None,
    )
    strong = overlap(statement.words, closest.label_words) >= _STRONG
    dated = not statement.periods or best > 1 or not closest.periods
    if opposite is None and not (strong and dated):
        return None
    cell = opposite or closest
    reason = f"claimed {value.text}, but row {_labels(cell)} states {cell.plain.text}"
    return _by_cells(Verdict.CONTRADICTED, [cell], reason, 0.9, source)


def _labels(cell: Cell) -> str:
    return f"{cell.row!r}, column {cell.column!r}" if cell.column else repr(cell.row)


def _fit(claimed: Sequence[Period], stated: Sequence[Period]) -> Agreement:
    """Whether the periods of a claim are those of a place; years decide where both name one."""
    claimed_years = [period for period in claimed if period.year]
    stated_years = [period for period in stated if period.year]
    if claimed_years and stated_years:
        claimed, stated = claimed_years, stated_years
    best = Agreement.INCOMPARABLE
    for claim in claimed:
        for period in stated:
            verdict = agreement(claim, period)
            if Agreement.SAME in (verdict, agreement(period, claim)):
                return Agreement.SAME
            best = Agreement.DIFFERENT if verdict is Agreement.DIFFERENT else best
    return best


def _states(cell: Cell, value: Quantity) -> bool:
    """Whether a cell states the value; a bare number may be as the table prints it."""
    stated = [cell.value, *([cell.plain] if value.unit == "" else [])]
    if _SIGN_WORDS & cell.label_words and not _EXPLICIT.match(value.text):
        # the label of a loss may carry the sign, a minus before the value is one
        stated += [replace(number, value=-number.value) for number in stated]
    return any(agreement(value, number) is Agreement.SAME for number in stated)


def _derive(statement: _Statement, value: Quantity, source: Source) -> Finding | None:
    """The first computation over cells that the sentence speaks of which gives the value."""
    if value.high is not None:
        return None
    spoken = [cell for cell in source.cells if coverage(cell.row_words, statement.words) >= _PROSE]
    spoken.sort(
        key=lambda cell: (
            -overlap(statement.words, cell.row_words),
            _fit(statement.periods, cell.periods) is not Agreement.SAME,
        )
    )
    meant = [name for name, cue in _CUES.items() if cue.search(statement.sentence)]
    for operation, formula, used, result in _computations(meant, spoken[:_MOST_CELLS]):
        if result.unit == "%" and value.unit != "%":
            continue  # a bare 0.6 is too little to be a share or a growth
        accepted = [result]
        if operation in ("growth", "difference") and not value.signed:  # "fell by 5"
            accepted.append(replace(result, value=abs(result.value)))
        if any(agreement(value, number) is Agreement.SAME for number in accepted):
            cited = [cell for cell in spoken if cell in used]
            return _by_cells(Verdict.DERIVED, cited, f"{operation}: {formula}", 0.85, source)
    return None


# Operation, formula as the document writes its values, cells, result.
_Computation = tuple[str, str, tuple[Cell, ...], Quantity]


def _computations(meant: Sequence[str], cells: Sequence[Cell]) -> Iterator[_Computation]:
    for pair in permutations(cells, 2):
        if _one_line(pair) and pair[0].value.unit == pair[1].value.unit:
            yield from _of_pair(meant, pair)
    if "sum" not in meant and "mean" not in meant:
        return
    for size in range(2, min(5, len(cells)) + 1):
        for group in combinations(cells, size):
            if len({cell.value.unit for cell in group} | {""}) > 2 or not _one_line(group):
                continue
            total = sum((cell.value.value for cell in group), Fraction(0))
            unit = next((cell.value.unit for cell in group if cell.value.unit), "")
            formula = " + ".join(cell.plain.text for cell in group)
            if "sum" in meant:
                yield "sum", formula, group, _exact(total, unit)
            if "mean" in meant:
                yield "mean", f"({formula}) / {size}", group, _exact(total / size, unit)


def _of_pair(meant: Sequence[str], pair: tuple[Cell, Cell]) -> Iterator[_Computation]:
    """Computations with two cells of one row or column and one unit."""
    first, second = (cell.value for cell in pair)
    a, b = (cell.plain.text for cell in pair)
    if "difference" in meant:
        unit = "pp" if first.unit == "%" else first.unit
        yield "difference", f"{a} - {b}", pair, _exact(first.value - second.value, unit)
    if second.value == 0:
        return
    ratio = first.value / second.value
    if "growth" in meant and pair[0].place[0] == pair[1].place[0]:
        growth = (ratio - 1) * (-100 if second.value < 0 else 100)
        yield "growth", f"({a} - {b}) / {b}", pair, _exact(growth, "%")
    if "share" in meant:
        yield "share", f"{a} / {b}", pair, _exact(ratio * 100, "%")
    if "ratio" in meant:
        yield "ratio", f"{a} / {b}", pair, _exact(ratio, "")
        yield "ratio", f"{a} / {b}", pair, _exact(ratio, "times")


def _exact(value: Fraction, unit: str) -> Quantity:
    return Quantity(value, Fraction(0), unit)


def _one_line(group: tuple[Cell, ...]) -> bool:
    """Whether cells stand in one row, or in one column, of one table."""
    lines = ({cell.place[0] for cell in group}, {cell.place[1] for cell in group})
    return len({cell.table for cell in group}) == 1 and min(map(len, lines)) == 1


def _judge_period(statement: _Statement, source: Source) -> Finding | None:
    for cell in source.cells:
        same = any(agreement(statement.value, each) is Agreement.SAME for each in cell.periods)
        if same and coverage(cell.row_words, statement.words) >= _ROW:
            reason = f"column or row {cell.column or cell.row!r}"
            return _by_cells(Verdict.SUPPORTED, [cell], reason, 0.8, source)
    return None


def _judge_by_prose(statement: _Statement, source: Source) -> Finding | None:
    """Support by the sentence that says most of the same; contradiction by a near copy alone."""
    scored = ((coverage(statement.words, each.words), each) for each in source.sentences)
    ranked = sorted(scored, key=lambda pair: -pair[0])
    for score, sentence in ranked:
        if score < _SPOKEN:
            break
        mentions = _comparable(statement, sentence)
        same = next((value for value, fit in mentions if fit is Agreement.SAME), None)
        if same is not None:
            reason = f"{same.text!r} in a sentence about the same"
            evidence = source.quote(sentence.start, sentence.end)
            return _finding(Verdict.SUPPORTED, (evidence,), reason, 0.6 + 0.35 * score)
    if not ranked or ranked[0][0] < _PROSE:
        return None
    score, sentence = ranked[0]
    comparable = (value for value, _ in _comparable(statement, sentence))
    rivals = [value for value in comparable if type(value) is type(statement.value)]
    if len(rivals) != 1:  # of several values, none is the one that is meant
        return None
    reason = (
        f"claimed {statement.value.text!r}, but the sentence about the same says {rivals[0].text!r}"
    )
    evidence = source.quote(sentence.start, sentence.end)
    return _finding(Verdict.CONTRADICTED, (evidence,), reason, 0.5 + 0.4 * score)


def _comparable(statement: _Statement, sentence: Sentence) -> list[tuple[Mention, Agreement]]:
    """Values of a sentence that could be the claimed one, with how they stand to it."""
    mentions = sentence.mentions
    if isinstance(statement.value, Quantity):
        mentions = [mention for mention in mentions if isinstance(mention, Quantity)]
        if _fit(statement.periods, sentence.periods) is Agreement.DIFFERENT:
            return []
    pairs = [(mention, agreement(statement.value, mention)) for mention in mentions]
    return [pair for pair in pairs if pair[1] is not Agreement.INCOMPARABLE]


def _by_cells(
    verdict: Verdict, cells: Sequence[Cell], reason: str, confidence: float, source: Source
) -> Finding:
    """A finding whose quotes are the lines of the table up to each cell, labels included."""
    text = source.document.text
    quotes = (source.quote(text.rfind("\n", 0, cell.start) + 1, cell.end) for cell in cells)
    return _finding(verdict, tuple(dict.fromkeys(quotes)), reason, confidence)


def _finding(
    verdict: Verdict, evidence: tuple[Evidence, ...], reason: str, confidence: float
) -> Finding:
    return Finding(verdict=verdict, evidence=evidence, reason=reason, confidence=confidence)
