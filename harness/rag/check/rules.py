"""Verdicts without any model: values by the numeric engine, everything else by shared words.

The floor that every other verifier has to beat, and what runs where nothing is installed.

A claimed value is judged by the cells that its sentence speaks of, then by the prose. A value that
no cell states may follow from cells: a sum, difference, ratio, growth, mean or share is recomputed
exactly from cells of one row or one column; the wording of the claim decides which of them it may
be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, groupby, permutations, takewhile
from operator import itemgetter
from typing import NamedTuple

from harness.rag.check.claims import NEGATION, clauses
from harness.rag.check.numbers import (
    Agreement,
    Cell,
    Mention,
    Period,
    Quantity,
    Sentence,
    Source,
    agreement,
    coverage,
    open_sources,
    overlap,
    read,
    words,
)
from harness.rag.check.types import BY_SUPPORT, VALUE_TYPES, Claim, Finding, Verdict
from harness.rag.retrieve import Document

# Share of a row label's words that a sentence must have to speak of the row.
_ROW = 0.5
# Overlap of a sentence with a cell's labels from which another value contradicts.
_STRONG = 0.6
_NEAR = 0.85
# Share of a claim's words that a sentence must have for support, and for a contradiction.
_SPOKEN, _PROSE = 0.5, 0.75
# Share of a sentence's words that support by shared words needs, and contradiction by negation.
_SHARED, _COPIED = 0.6, 0.8
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


class RulesVerifier:
    """Numbers by the numeric engine; sentences and names by the words they share."""

    name = "rules"

    def verify(self, claims: Sequence[Claim], documents: Sequence[Document]) -> list[Finding]:
        """One finding for every claim."""
        sources = open_sources([document for document in documents if document.text.strip()])
        if not sources:
            reason = "the documents hold no text to check against"
            return [Finding(verdict=Verdict.INVALID, reason=reason, confidence=0.0) for _ in claims]
        lines: list[_Line] = []
        for source in sources:
            lines += [_Line(source, each.start, each.end, each.words) for each in source.sentences]
            for _, row in groupby(source.cells, key=lambda cell: (cell.table, cell.place[0])):
                cells = list(row)
                labels = frozenset[str]().union(*(cell.label_words for cell in cells))
                lines.append(_Line(source, *source.line(cells[-1]), labels))
        findings: list[Finding] = []
        for claim in claims:
            finding = judge(claim, sources) if claim.type in VALUE_TYPES else None
            look_up = _look_up_name if claim.type == "entity" else _look_up_statement
            findings.append(finding or look_up(claim, lines))
        return findings


class _Line(NamedTuple):
    """A sentence or a table row of a document, with its words."""

    source: Source
    start: int
    end: int
    words: frozenset[str]


def _look_up_name(claim: Claim, lines: list[_Line]) -> Finding:
    """A name is supported where it stands, best in a line about the same."""
    name = re.compile(rf"(?<!\w){re.escape(claim.text)}(?!\w)", re.IGNORECASE)
    about = words(claim.sentence)
    naming = [
        (coverage(about, line.words), line)
        for line in lines
        if name.search(line.source.document.text, line.start, line.end)
    ]
    if not naming:
        reason = f"no document names {claim.text!r}"
        return Finding(verdict=Verdict.NOT_FOUND, reason=reason, confidence=0.7)
    score, line = max(naming, key=itemgetter(0))
    span = (line.start, line.end)
    reason = f"{claim.text!r} is named"
    return line.source.finding(Verdict.SUPPORTED, [span], reason, 0.5 + 0.45 * score)


def _look_up_statement(claim: Claim, lines: list[_Line]) -> Finding:
    """As one sentence, and clause by clause: several lines may say together what it says, and one
    clause that is denied makes all of it false."""
    sentence = claim.sentence or claim.text
    finding = _look_up_sentence(sentence, lines)
    parts = [_look_up_sentence(sentence[start:end], lines) for start, end in clauses(sentence)]
    worst = max(parts, key=lambda part: BY_SUPPORT.index(part.verdict))
    if len(parts) == 1 or worst.verdict is Verdict.NOT_FOUND:
        return finding
    if worst.verdict is Verdict.CONTRADICTED:
        return worst
    evidence = dict.fromkeys(quote for part in parts for quote in part.evidence)
    reason = f"its {len(parts)} clauses are said in {len(evidence)} places"
    confidence = min(part.confidence for part in parts)
    return Finding(
        verdict=Verdict.SUPPORTED, evidence=tuple(evidence), reason=reason, confidence=confidence
    )


def _look_up_sentence(sentence: str, lines: list[_Line]) -> Finding:
    """By the line that shares most of its words; a negation on one side alone contradicts."""
    about = words(sentence)
    scored = ((coverage(about, line.words), line) for line in lines)
    score, line = max(scored, key=itemgetter(0), default=(0.0, None))
    if line is None or score < _SHARED:
        reason = f"the closest sentence shares {score:.0%} of the words"
        return Finding(verdict=Verdict.NOT_FOUND, reason=reason, confidence=0.9 - score / 2)
    span = (line.start, line.end)
    text = line.source.document.text[line.start : line.end]
    opposed = bool(NEGATION.search(text)) != bool(NEGATION.search(sentence))
    if opposed and score >= _COPIED:
        reason = "the closest sentence says it with the opposite negation"
        return line.source.finding(Verdict.CONTRADICTED, [span], reason, score - 0.2)
    reason = f"a sentence shares {score:.0%} of the words"
    return line.source.finding(Verdict.SUPPORTED, [span], reason, 0.3 + 0.6 * score)


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
    from cells is `DERIVED` before a cell may contradict it. A compound sentence speaks of more than
    the value: where no place speaks of all of it, the value's own clause decides.
    """
    statement = _read_claim(claim)
    if statement is None:
        return None
    finding, sentence, value = _judge(statement, sources), statement.sentence, statement.value
    if finding.verdict is Verdict.NOT_FOUND and sentence == claim.sentence:
        for start, end in clauses(sentence):
            if start <= value.start < end and end - start < len(sentence):
                return _judge(_statement(value, sentence[start:end]), sources)
    return finding


def _judge(statement: _Statement, sources: Sequence[Source]) -> Finding:
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
    return _statement(value, sentence)


def _statement(value: Mention, sentence: str) -> _Statement:
    periods = (mention for mention in read(sentence) if isinstance(mention, Period))
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
    for score, cell in aligned:
        if score >= _NEAR * aligned[0][0] and _states(cell, value):
            label = f"{cell.plain.text} in row {cell.label}"
            return source.finding(Verdict.SUPPORTED, [source.line(cell)], label, 0.97)
    derived = _derive(statement, value, source)
    if derived or not aligned:
        return derived
    best, closest = aligned[0]
    strong = overlap(statement.words, closest.label_words) >= _STRONG
    dated = not statement.periods or best > 1 or not closest.periods
    rivals = [closest] if strong and dated else []
    if value.value:  # the same amount with the other sign, where one side wrote a sign
        mirrored = replace(value, value=-value.value)
        signed = [cell for _, cell in aligned if value.signed or cell.value.signed]
        rivals = [
            cell
            for cell in signed
            if cell.value.unit == value.unit and agreement(mirrored, cell.value) is Agreement.SAME
        ] + rivals
    if not rivals:
        return None
    reason = f"claimed {value.text}, but row {rivals[0].label} states {rivals[0].plain.text}"
    return source.finding(Verdict.CONTRADICTED, [source.line(rivals[0])], reason, 0.9)


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
    meant = {name for name, cue in _CUES.items() if cue.search(statement.sentence)}
    for operation, formula, cells, amount, unit in _computations(meant, spoken[:_MOST_CELLS]):
        if operation not in meant or (unit == "%" and value.unit != "%"):
            continue  # a bare 0.6 is too little to be a share or a growth
        accepted = [Quantity(amount, Fraction(0), unit)]
        if operation in ("growth", "difference") and not value.signed:  # "fell by 5"
            accepted.append(Quantity(abs(amount), Fraction(0), unit))
        if any(agreement(value, number) is Agreement.SAME for number in accepted):
            cited = [source.line(cell) for cell in spoken if cell in cells]
            return source.finding(Verdict.DERIVED, cited, f"{operation}: {formula}", 0.85)
    return None


# Operation, formula as the document writes its values, cells, result and its unit.
_Computation = tuple[str, str, tuple[Cell, ...], Fraction, str]


def _computations(meant: set[str], cells: Sequence[Cell]) -> Iterator[_Computation]:
    """What can be computed: with two cells of one unit, and over up to five of one line."""
    for pair in permutations(cells, 2):
        first, second = (cell.value for cell in pair)
        if first.unit != second.unit or not _one_line(pair):
            continue
        a, b = (cell.plain.text for cell in pair)
        unit = "pp" if first.unit == "%" else first.unit
        yield "difference", f"{a} - {b}", pair, first.value - second.value, unit
        if second.value == 0:
            continue
        ratio = first.value / second.value
        if pair[0].place[0] == pair[1].place[0]:
            growth = (ratio - 1) * (-100 if second.value < 0 else 100)
            yield "growth", f"({a} - {b}) / {b}", pair, growth, "%"
        yield "share", f"{a} / {b}", pair, ratio * 100, "%"
        yield "ratio", f"{a} / {b}", pair, ratio, ""
        yield "ratio", f"{a} / {b}", pair, ratio, "times"
    sizes = range(2, min(5, len(cells)) + 1) if meant & {"sum", "mean"} else ()
    for group in (group for size in sizes for group in combinations(cells, size)):
        if len({cell.value.unit for cell in group} | {""}) > 2 or not _one_line(group):
            continue
        total = sum((cell.value.value for cell in group), Fraction(0))
        unit = next((cell.value.unit for cell in group if cell.value.unit), "")
        formula = " + ".join(cell.plain.text for cell in group)
        yield "sum", formula, group, total, unit
        yield "mean", f"({formula}) / {len(group)}", group, total / len(group), unit


def _one_line(group: tuple[Cell, ...]) -> bool:
    """Whether cells stand in one row, or in one column, of one table."""
    lines = ({cell.place[0] for cell in group}, {cell.place[1] for cell in group})
    return len({cell.table for cell in group}) == 1 and min(map(len, lines)) == 1


def _judge_period(statement: _Statement, source: Source) -> Finding | None:
    for cell in source.cells:
        same = any(agreement(statement.value, each) is Agreement.SAME for each in cell.periods)
        if same and coverage(cell.row_words, statement.words) >= _ROW:
            reason = f"column or row {cell.column or cell.row!r}"
            return source.finding(Verdict.SUPPORTED, [source.line(cell)], reason, 0.8)
    return None


def _judge_by_prose(statement: _Statement, source: Source) -> Finding | None:
    """Support by the sentence that says most of the same; contradiction by a near copy alone."""
    scored = ((coverage(statement.words, each.words), each) for each in source.sentences)
    ranked = sorted(scored, key=lambda pair: -pair[0])
    for score, sentence in takewhile(lambda pair: pair[0] >= _SPOKEN, ranked):
        comparable = _comparable(statement, sentence)
        same = next((value for value, fit in comparable if fit is Agreement.SAME), None)
        if same is not None:
            span = (sentence.start, sentence.end)
            reason = f"{same.text!r} in a sentence about the same"
            return source.finding(Verdict.SUPPORTED, [span], reason, 0.6 + 0.35 * score)
    if not ranked or ranked[0][0] < _PROSE:
        return None
    score, sentence = ranked[0]
    comparable = (value for value, _ in _comparable(statement, sentence))
    rivals = [value for value in comparable if type(value) is type(statement.value)]
    if len(rivals) != 1:  # of several values, none is the one that is meant
        return None
    span = (sentence.start, sentence.end)
    reason = (
        f"claimed {statement.value.text!r}, but the sentence about the same says {rivals[0].text!r}"
    )
    return source.finding(Verdict.CONTRADICTED, [span], reason, 0.5 + 0.4 * score)


def _comparable(statement: _Statement, sentence: Sentence) -> list[tuple[Mention, Agreement]]:
    """Values of a sentence that could be the claimed one, with how they stand to it."""
    mentions = sentence.mentions
    if isinstance(statement.value, Quantity):
        mentions = [mention for mention in mentions if isinstance(mention, Quantity)]
        if _fit(statement.periods, sentence.periods) is Agreement.DIFFERENT:
            return []
    pairs = [(mention, agreement(statement.value, mention)) for mention in mentions]
    return [pair for pair in pairs if pair[1] is not Agreement.INCOMPARABLE]
