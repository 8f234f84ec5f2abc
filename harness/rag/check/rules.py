"""Verdicts without any model: values by the numeric engine, everything else by shared words.

The floor that every other verifier has to beat, and what runs where nothing is installed.

A claimed value is judged by the cells that its sentence speaks of, then by the prose. A value that
nothing states may follow from values that are stated. Sentences come after their values: where
those are right, the words around them decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby, takewhile
from operator import itemgetter
from typing import NamedTuple

from harness.rag.check.claims import clauses, names
from harness.rag.check.derivations import (
    ORDINAL,
    Derivation,
    Operand,
    derive,
    each_times,
    elapsed,
    meant,
    parts_of_wholes,
)
from harness.rag.check.numbers import (
    BASE_FORMS,
    Agreement,
    Cell,
    Mention,
    Period,
    Quantity,
    Sentence,
    Source,
    agreement,
    coverage,
    in_one_unit,
    open_sources,
    overlap,
    read,
    words,
)
from harness.rag.check.roles import Part, direction, fit, parts, rival_owner
from harness.rag.check.types import BY_SUPPORT, FAULTS, VALUE_TYPES, Claim, Finding, Verdict
from harness.rag.check.wording import difference, opposed
from harness.rag.retrieve import Document

# Share of a row label's words that a sentence must have to speak of the row.
_ROW = 0.5
# Overlap of a sentence with a cell's labels from which another value contradicts.
_STRONG = 0.6
_NEAR = 0.85
# Share of a claim's words that a sentence must have for support, and for a contradiction.
_SPOKEN, _PROSE = 0.5, 0.75
# Share of words that support a value that hardly stands in a document by chance.
_RARE = 0.3
# Share of words that make a sentence's values operands of a computation.
_NEARBY = 0.2
# Share of a sentence's words that support by shared words needs; with right values; from which a
# difference in wording contradicts.
_SHARED, _VALUED, _COPIED = 0.6, 0.4, 0.5
# Confidence at least in a sentence whose values are right.
_VOUCHED = 0.8
# By how much a line about the same that names another beats those that name the claimed one; words
# before a name that say what it is.
_APART, _LEADING = 0.4, 2
# What a word counts that the sentence before has, or the first one of the document.
_CONTEXT = 0.5
_RELATIVE = re.compile(
    r"\b(?:year|month|quarter) (?:before|after|earlier|later)\b|\b(?:previous|following|preceding|next) "
    r"(?:year|month|quarter)\b",
    re.IGNORECASE,
)
_COMPUTED = ("difference", "ratio", "growth", "sum", "mean", "rest", "years", "part")
_BALANCE = words("income revenue revenues turnover sales costs expenses spending")
_RESULT = re.compile(r"\b(?:profit|loss|surplus|deficit|result)\b", re.IGNORECASE)
_BARE = re.compile(r"\s*(?:[,.;:)]|$|(?:and|or|but|in|on|at|for|to|from|against)\b)")
_FIRST = re.compile(r"\s+(?:(?:was|were|is|are|has|have|had|also|then)\s+)*([a-z]+)")
_DATED = re.compile(r"\b(?:year|when|date)\b", re.IGNORECASE)
_EACH = re.compile(r"\b(?:each|apiece|per)\b", re.IGNORECASE)
_NOUN = re.compile(r"\s+([a-z]{3,})")
_WHOLE = re.compile(r"\s+of (?:(?:the|its|their|his|her|all|every) )?(\w+)")
_SIGN_WORDS = frozenset(("loss", "decreas", "declin", "deficit", "reduction", "drop", "outflow"))
_EXPLICIT = re.compile(r"\s*[(\u2212-]|[$€£¥]\s?[(\u2212-]")


class RulesVerifier:
    """Numbers by the numeric engine; sentences and names by the words they share."""

    name = "rules"

    def verify(self, claims: Sequence[Claim], documents: Sequence[Document]) -> list[Finding]:
        """One finding for every claim."""
        sources = open_sources([document for document in documents if document.text.strip()])
        if not sources:
            reason = "the documents hold no text to check against"
            return [Finding(verdict=Verdict.INVALID, reason=reason, confidence=0.0) for _ in claims]
        lines = [line for source in sources for line in _lines(source)]
        findings: list[Finding] = []
        for claim in claims:
            finding = judge(claim, sources) if claim.type in VALUE_TYPES else None
            if finding is None and claim.type == "entity":
                finding = _look_up_name(claim, lines)
            findings.append(finding or _look_up_statement(claim, lines, sources))
        return findings


class _Line(NamedTuple):
    """A sentence or a table row of a document, with its words and those around it."""

    source: Source
    start: int
    end: int
    words: frozenset[str]
    context: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        return self.source.document.text[self.start : self.end]


def _lines(source: Source) -> Iterator[_Line]:
    for each in source.sentences:
        yield _Line(source, each.start, each.end, each.words, each.context)
    for _, row in groupby(source.cells, key=lambda cell: (cell.table, cell.place[0])):
        cells = list(row)
        labels = frozenset[str]().union(*(cell.label_words for cell in cells))
        yield _Line(source, *source.line(cells[-1]), labels)


def _share(about: frozenset[str], line: _Line | Sentence) -> float:
    """Share of the words that a line has; what stands around it counts half."""
    around = len(about & (line.context - line.words)) * _CONTEXT
    return (len(about & line.words) + around) / len(about) if about else 0.0


def _look_up_name(claim: Claim, lines: list[_Line]) -> Finding:
    """A name is supported where it stands, best in a line about the same; not where the line about
    the same names another in its place."""
    stem = re.escape(claim.text.removesuffix("s"))
    name = re.compile(rf"(?<!\w){stem}(?:'?s)?(?!\w)", re.IGNORECASE)
    named = (claim.sentence[start:end] for start, end in names(claim.sentence))
    about = words(claim.sentence) - frozenset[str]().union(words(claim.text), *map(words, named))
    naming = [
        (_share(about, line), line)
        for line in lines
        if name.search(line.source.document.text, line.start, line.end)
    ]
    if not naming and " and " in claim.text:  # two names, most often
        parts = [claim.model_copy(update={"text": part}) for part in claim.text.split(" and ")]
        apart = [_look_up_name(part, lines) for part in parts]
        return max(apart, key=lambda finding: BY_SUPPORT.index(finding.verdict))
    if not naming:
        reason = f"no document names {claim.text!r}"
        return Finding(verdict=Verdict.NOT_FOUND, reason=reason, confidence=0.7)
    score, line = max(naming, key=itemgetter(0))
    span = (line.start, line.end)
    beside = (other for other in lines if other.source is line.source and names(other.text))
    rivals = [(_share(about, other), other) for other in beside]
    closest, other = max(rivals, key=itemgetter(0), default=(0.0, line))
    apart = closest - score >= _APART and line.start != lines[0].start
    if closest >= _SHARED and apart and not name.search(other.text):
        reason = f"the sentence that says it names {claim.text!r} not"
        evidence = [(other.start, other.end)]
        return line.source.finding(Verdict.CONTRADICTED, evidence, reason, 0.7)
    if rival := _rival_name(claim.text, claim.sentence, line):
        reason = f"the sentence says it of {rival!r}"
        return line.source.finding(Verdict.CONTRADICTED, [span], reason, 0.7)
    reason = f"{claim.text!r} is named"
    return line.source.finding(Verdict.SUPPORTED, [span], reason, 0.5 + 0.45 * score)


def _rival_name(name: str, sentence: str, line: _Line) -> str:
    """The name of a line that fits a claim's words better than the claimed one, or ""."""
    spans = tuple(names(line.text))
    texts = [line.text[start:end] for start, end in spans]
    start = sentence.find(name)
    claimed = tuple(sorted({*names(sentence), (start, start + len(name))}))
    if name not in texts or start < 0:
        return ""
    rivals = [place for place, text in enumerate(texts) if text not in sentence]
    place = claimed.index((start, start + len(name)))
    about = frozenset(parts(sentence, claimed)[place].ahead[-_LEADING:])
    stretches = parts(line.text, spans)
    leading = [frozenset(stretch.ahead[-_LEADING:]) for stretch in stretches]
    own = leading[texts.index(name)]
    if not about:  # the subject: what it does must not stand with another name
        did = _FIRST.match(sentence, claimed[place][1])
        about = words(did[1]) if did else frozenset[str]()
        leading = [stretch.behind for stretch in stretches]
        own = leading[texts.index(name)] | own
    owners = (place for place in rivals if about & leading[place] - own)
    return next((texts[place] for place in owners if not about & own), "")


def _subjects(clause: str, line: _Line) -> list[str]:
    """A name that opens a clause, which its capital alone does not show."""
    first = re.match(r"[A-Z][\w'-]+", clause)
    texts = [line.text[start:end] for start, end in names(line.text)]
    return [first[0]] if first and first[0] in texts else []


def _compare(clause: str, line: _Line) -> str:
    """Where a clause compares two names and a line has a value for each: what is wrong, or ""."""
    than = re.search(r"\b(more|larger|higher|longer|older|fewer|less|smaller|lower|shorter|younger)\b"
                     r"(.*?)\bthan\b", clause)  # fmt: skip
    if than is None:
        return ""
    sentence = next((each for each in line.source.sentences if each.start == line.start), None)
    values = [each for each in sentence.mentions if isinstance(each, Quantity)] if sentence else []
    stretches = parts(line.text, tuple((each.start, each.end) for each in values))
    pair: list[Quantity] = []
    for side in (clause[: than.start()], clause[than.end() :]):
        who = words(side)
        owned = [
            value
            for value, stretch in zip(values, stretches, strict=True)
            if who & frozenset(stretch.ahead) and not stretch.continued
        ]
        pair += owned if len(owned) == 1 else []
    if len(pair) < 2 or pair[0] == pair[1] or not _alike(pair[0], pair[1], line.text):
        return ""
    more = than[1] in ("more", "larger", "higher", "longer", "older")
    right = pair[0].value > pair[1].value if more else pair[0].value < pair[1].value
    return "" if right else f"{pair[0].text} is not {than[1]} than {pair[1].text}"


def _look_up_statement(claim: Claim, lines: list[_Line], sources: Sequence[Source]) -> Finding:
    """As one sentence, and clause by clause: several lines may say together what it says, and one
    clause that is denied makes all of it false."""
    sentence = claim.sentence or claim.text
    spans = clauses(sentence)
    finding = _look_up_sentence(sentence, sentence, lines, sources, compound=len(spans) > 1)
    parts = [_look_up_sentence(sentence[a:b], sentence, lines, sources) for a, b in spans]
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


def _look_up_sentence(
    clause: str,
    sentence: str,
    lines: list[_Line],
    sources: Sequence[Source],
    *,
    compound: bool = False,
) -> Finding:
    """By its values, then by the line that shares most of its words, or the line of the values; a
    difference in wording contradicts."""
    start = sentence.index(clause)
    within = range(start, start + len(clause))
    mentions = [mention for mention in read(sentence) if mention.start in within]
    valued = [_judge_value(mention, sentence, sources) for mention in mentions]
    fault = next((finding for finding in valued if finding.verdict in FAULTS), None)
    if fault is not None:
        return fault
    derived = next((finding for finding in valued if finding.verdict is Verdict.DERIVED), None)
    if derived is not None:
        return derived
    about = words(clause)
    cited = {(quote.doc, quote.start) for finding in valued for quote in finding.evidence}
    scored = (
        (_share(about, line) + 0.2 * ((line.source.document.id, line.start) in cited), line)
        for line in lines
    )
    score, line = max(scored, key=itemgetter(0), default=(0.0, None))
    least = _VALUED / len(valued) if valued else _SHARED  # two right values are two witnesses
    if line is None or score < least:
        reason = f"the closest sentence shares {score:.0%} of the words"
        return Finding(verdict=Verdict.NOT_FOUND, reason=reason, confidence=0.9 - score / 2)
    span = (line.start, line.end)
    rivals = (_rival_name(name, clause, line) for name in _subjects(clause, line))
    if score >= _COPIED and (rival := next(filter(None, rivals), "")):
        reason = f"the sentence says it of {rival!r}"
        return line.source.finding(Verdict.CONTRADICTED, [span], reason, 0.7)
    if score >= _COPIED and (reason := _compare(clause, line)):
        return line.source.finding(Verdict.CONTRADICTED, [span], reason, 0.8)
    if score >= _COPIED and (reason := difference(clause, line.text, compound=compound)):
        reason = f"the closest sentence differs: {reason}"
        return line.source.finding(Verdict.CONTRADICTED, [span], reason, 0.8)
    reason = f"a sentence shares {min(score, 1):.0%} of the words"
    confidence = max(min(0.3 + 0.6 * score, 0.95), _VOUCHED * bool(valued))
    return line.source.finding(Verdict.SUPPORTED, [span], reason, confidence)


@dataclass(frozen=True)
class _Statement:
    """A claimed value with what its sentence says around it."""

    value: Mention
    sentence: str
    words: frozenset[str]
    periods: tuple[Period, ...]
    part: Part
    several: bool


def as_documents_say(sentence: str, sources: Sequence[Source]) -> str:
    """The sentence with its right values as the documents write them."""
    for mention in reversed(read(sentence)):
        finding = _judge_value(mention, sentence, sources)
        if finding.verdict is Verdict.SUPPORTED:
            stated = (value for quote in finding.evidence for value in read(quote.quote))
            same = (value for value in stated if agreement(mention, value) is Agreement.SAME)
            text = next((value.text for value in same), mention.text)
            sentence = sentence[: mention.start] + text + sentence[mention.end :]
    return sentence


def judge(claim: Claim, sources: Sequence[Source]) -> Finding | None:
    """The verdict on a claim that states a value; None where it states none.

    Every document is judged alone, so that no other one takes support away. Cells decide before
    prose, since a row and a column say exactly what a value is of; a value that can be computed
    is `DERIVED` before anything may contradict it. A compound sentence speaks of more than
    the value: where no place speaks of all of it, the value's own clause decides.
    """
    sentence = claim.sentence or claim.text
    stated = read(sentence)
    exact = [mention for mention in stated if mention.text == claim.text]
    near = [
        mention for mention in stated if mention.text in claim.text or claim.text in mention.text
    ]
    value = next(iter(exact or near or read(claim.text)), None)
    if value is None:
        return None
    if claim.asked and len(words(sentence)) < 2:  # a bare value: what was asked says what it is of
        asked = f"{claim.asked} "
        if isinstance(value, Period) and value.text.isdigit() and not _DATED.search(asked):
            value = Quantity(Fraction(int(value.text)), Fraction(1), text=value.text, end=value.end)
        moved = replace(value, start=value.start + len(asked), end=value.end + len(asked))
        return _judge_value(moved, asked + sentence, sources)
    return _judge_value(value, sentence, sources)


def _judge_value(value: Mention, sentence: str, sources: Sequence[Source]) -> Finding:
    """As part of its sentence, and where no place speaks of all of it, of its own clause, of the
    words before it, and of what it counts."""
    statement = _statement(value, sentence)
    finding = _judge(statement, sources)
    if finding.verdict in FAULTS and isinstance(value, Period):
        dated = _dated(value, sentence, sources)
        if dated and (finding.verdict is Verdict.NOT_FOUND or dated.reason.startswith(_COMPUTED)):
            return dated
    if finding.verdict is not Verdict.NOT_FOUND:
        return finding
    for start, end in clauses(sentence):
        if start <= value.start < end and end - start < len(sentence):
            moved = replace(value, start=value.start - start, end=value.end - start)
            apart = _judge(_statement(moved, sentence[start:end]), sources)
            if apart.verdict is not Verdict.NOT_FOUND:
                return apart
    if statement.several:
        apart = _judge(replace(statement, words=frozenset(statement.part.ahead)), sources)
        if apart.verdict is not Verdict.NOT_FOUND:
            return apart
    together = _stand_together(value, sentence, sources)
    return together or _counted_alike(value, sentence, sources) or finding


def _dated(value: Period, sentence: str, sources: Sequence[Source]) -> Finding | None:
    """A date is right where another value of its sentence is, and stands there or just before."""
    for mention in read(sentence):
        if isinstance(mention, Period):
            continue
        finding = _judge(_statement(mention, sentence), sources)
        places = [(quote.doc, quote.start) for quote in finding.evidence]
        for source in sources if finding.verdict not in FAULTS else ():
            prose = source.sentences
            for number, each in enumerate(prose):
                around = {0, *range(max(0, number - 2), number + 1)}
                near = [date for place in around for date in prose[place].periods]
                ends = [replace(value, year=year, until=None) for year in (value.year, value.until)]
                wanted = ends if value.until else [value]
                if (source.document.id, each.start) in places and all(
                    any(agreement(end, date) is Agreement.SAME for date in near) for end in wanted
                ):
                    return finding.model_copy(update={"verdict": Verdict.SUPPORTED})
    return None


def _stand_together(value: Mention, text: str, sources: Sequence[Source]) -> Finding | None:
    """Support for a value that stands in one sentence with another of the claim, a rare one."""
    quantities = [mention for mention in read(text) if isinstance(mention, Quantity)]
    if len(quantities) < 2 or not any(map(_is_rare, quantities)):
        return None
    for source, sentence in ((source, each) for source in sources for each in source.sentences):
        if all(
            any(agreement(each, stated) is Agreement.SAME for stated in sentence.mentions)
            for each in quantities
        ):
            reason = f"{value.text!r} stands with the other values of the claim"
            span = (sentence.start, sentence.end)
            return source.finding(Verdict.SUPPORTED, [span], reason, 0.6)
    return None


def _counted_alike(value: Mention, text: str, sources: Sequence[Source]) -> Finding | None:
    """Support for a number where the same number of the same stands: three reservoirs."""
    noun = _NOUN.match(text, value.end)
    if noun is None or not isinstance(value, Quantity):
        return None
    for source, sentence in ((source, each) for source in sources for each in source.sentences):
        for stated in sentence.mentions:
            same = _NOUN.match(sentence.text, stated.end)
            alike = same is not None and words(noun[1]) == words(same[1]) != frozenset()
            if alike and agreement(value, stated) is Agreement.SAME:
                reason = f"{stated.text} {noun[1]} are counted"
                span = (sentence.start, sentence.end)
                return source.finding(Verdict.SUPPORTED, [span], reason, 0.6)
    return None


def _judge(statement: _Statement, sources: Sequence[Source]) -> Finding:
    findings: list[Finding] = []
    value = statement.value
    if isinstance(value, Period) and value.year and value.until:  # or both its ends
        ends = [replace(value, year=year, until=None) for year in (value.year, value.until)]
        spans = [_judge(replace(statement, value=end), sources) for end in ends]
        findings.append(max(spans, key=lambda span: BY_SUPPORT.index(span.verdict)))
    for source in sources:
        judge_place = _judge_period if isinstance(statement.value, Period) else _judge_by_cells
        finding = judge_place(statement, source) or _judge_by_prose(statement, source)
        if finding is not None and finding.verdict is Verdict.SUPPORTED:
            return finding
        findings += [finding] if finding else []
    reason = f"no place that speaks of the same states {statement.value.text!r}"
    findings.append(Finding(verdict=Verdict.NOT_FOUND, reason=reason, confidence=0.6))
    return min(findings, key=lambda finding: BY_SUPPORT.index(finding.verdict))


def _statement(value: Mention, sentence: str) -> _Statement:
    mentions = read(sentence)
    kind = [mention for mention in mentions if isinstance(mention, type(value))]
    spans = tuple((mention.start, mention.end) for mention in kind) or ((value.start, value.end),)
    place = next((n for n, span in enumerate(spans) if span[0] >= value.start), 0)
    periods = (mention for mention in mentions if isinstance(mention, Period))
    named = tuple(period for period in periods if period.text != value.text)
    part = parts(sentence, spans)[place]
    if _RELATIVE.search(sentence):  # which year "the year before" is stands elsewhere
        named, part = (), part._replace(periods=())
    return _Statement(value, sentence, words(sentence), named, part, len(spans) > 1)


def _judge_by_cells(statement: _Statement, source: Source) -> Finding | None:
    value = statement.value
    assert isinstance(value, Quantity)
    aligned: list[tuple[float, Cell]] = []  # cells that the sentence may speak of, best first
    for cell in source.cells:
        if coverage(cell.row_words, statement.words) < _ROW:
            continue
        period = fit(statement.periods, cell.periods)
        if period is not Agreement.DIFFERENT:
            bonus = 0.5 if period is Agreement.SAME else 0.0
            aligned.append((overlap(statement.words, cell.label_words) + bonus, cell))
    aligned.sort(key=lambda pair: -pair[0])
    for score, cell in aligned:
        if score >= _NEAR * aligned[0][0] and _states(cell, value):
            label = f"{cell.plain.text} in row {cell.label}"
            return source.finding(Verdict.SUPPORTED, [source.line(cell)], label, 0.97)
    derived = _derive_from_cells(statement, value, source)
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


def _states(cell: Cell, value: Quantity) -> bool:
    """Whether a cell states the value; a bare number may be as the table prints it."""
    stated = [cell.value, *([cell.plain] if value.unit == "" else [])]
    if _SIGN_WORDS & cell.label_words and not _EXPLICIT.match(value.text):
        # the label of a loss may carry the sign, a minus before the value is one
        stated += [replace(number, value=-number.value) for number in stated]
    return any(agreement(value, number) is Agreement.SAME for number in stated)


def _derive_from_cells(statement: _Statement, value: Quantity, source: Source) -> Finding | None:
    """A computation over cells that the sentence speaks of."""
    spoken = [cell for cell in source.cells if coverage(cell.row_words, statement.words) >= _PROSE]
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
    derived = derive(value, statement.sentence, scaled)
    if derived is None and value.unit == "" and value.scale == 1:  # as the table prints them
        derived = derive(value, statement.sentence, plain)
    return _derived(derived, source)


def _derived(derivation: Derivation | None, source: Source) -> Finding | None:
    if derivation is None:
        return None
    reason = f"{derivation.operation}: {derivation.formula}"
    lines = sorted({operand.line for operand in derivation.operands})
    return source.finding(Verdict.DERIVED, lines, reason, 0.85)


def _derive_from_prose(statement: _Statement, value: Quantity, source: Source) -> Finding | None:
    """A computation over values of sentences that speak of the same."""
    about = statement.words
    operands: list[tuple[float, Operand]] = []
    dates: list[Operand] = []
    shares: list[Operand] = []
    context = ""
    for sentence in source.sentences:
        share = _share(about, sentence)
        if _RESULT.search(statement.sentence) and len(_BALANCE & sentence.words) > 1:
            share = 1.0  # income and costs give a profit
        elif not about & sentence.words or share < _NEARBY:
            continue
        context += sentence.text if share >= _ROW else ""
        line = (sentence.start, sentence.end)
        values = [mention for mention in sentence.mentions if isinstance(mention, Quantity)]
        stretches = parts(sentence.text, tuple((each.start, each.end) for each in values))
        for each, part in zip(values, stretches, strict=True):
            near = part.near(len(part.ahead))
            bonus = fit(statement.periods, part.periods) is Agreement.SAME
            rank = share + coverage(about, near) + 0.5 * bonus
            readings = [each, *each.alternatives]  # cents of the claimed currency
            units = [reading.unit for reading in (value, *value.alternatives)]
            each = next((reading for reading in readings if reading.unit in units), each)
            numbered = each.unit[:1] == "#" or (each.value >= 1 and ORDINAL.search(each.text))
            for end in () if numbered else {each.value, each.high or each.value}:
                number = replace(each, value=end, high=None)
                operand = Operand(number, each.text, near, part.periods, line)
                operands.append((rank, operand))
                shares += [operand] if share >= _ROW and _is_share(number) else []
        dates += [
            Operand(Quantity(Fraction(0), Fraction(0)), each.text, sentence.words, (each,), line)
            for each in sentence.periods
        ]
    operands.sort(key=lambda pair: -pair[0])
    ranked = [operand for _, operand in operands]
    if ranked and re.search(r"\b(?:equally|evenly|half each)\b", context):
        half = Quantity(Fraction(1, 2), Fraction(0))
        shares.append(ranked[0]._replace(value=half, plain="half"))
        if agreement(value, half) is Agreement.SAME:
            return _derived(Derivation("share", "equally", (shares[-1],)), source)
    spans_time = value.unit == "year" or "difference" in meant(statement.sentence, prose=True)
    readings = (value, *value.alternatives)
    return _derived(
        next(
            filter(None, (derive(each, statement.sentence, ranked, context) for each in readings)),
            None,
        )
        or parts_of_wholes(value, shares, ranked)
        or (each_times(value, ranked) if _EACH.search(context) else None)
        or (elapsed(value, dates) if spans_time else None),
        source,
    )


def _is_share(value: Quantity) -> bool:
    return value.value > 0 and (
        value.unit == "%" or (value.unit == "" and value.step == 0 and value.value < 1)
    )


def _is_rare(value: Mention) -> bool:
    """Whether a value hardly stands in a document twice: of four digits or more, or a range."""
    digits = sum(letter.isdigit() for letter in value.text)
    return isinstance(value, Quantity) and (value.high is not None or digits > 3)


def _counts_names(value: Quantity, sentence: str) -> bool:
    """Whether a small number in words counts the names beside it: two friends, Ann and Bo."""
    named = [sentence[start:end] for start, end in names(sentence)]
    counted = sum(len(name.split(" and ")) for name in named)
    return value.unit == "" and value.value == counted > 1 and value.text.isalpha()


def _judge_period(statement: _Statement, source: Source) -> Finding | None:
    for cell in source.cells:
        same = any(agreement(statement.value, each) is Agreement.SAME for each in cell.periods)
        if same and coverage(cell.row_words, statement.words) >= _ROW:
            reason = f"column or row {cell.column or cell.row!r}"
            return source.finding(Verdict.SUPPORTED, [source.line(cell)], reason, 0.8)
    return None


def _judge_by_prose(statement: _Statement, source: Source) -> Finding | None:
    """Support by the sentence that says most of the same, and says it of the same; contradiction
    by one that says it of another, or by a near copy."""
    scored = ((_share(statement.words, each), each) for each in source.sentences)
    ranked = sorted(scored, key=lambda pair: -pair[0])
    misplaced: Finding | None = None
    least = _RARE if _is_rare(statement.value) else _SPOKEN
    for score, sentence in takewhile(lambda pair: pair[0] >= least, ranked):
        if coverage(statement.words, sentence.words) < _NEAR * _SPOKEN and any(
            coverage(statement.words, other.words) > _NEAR and _denies(statement, other)
            for _, other in ranked
        ):
            continue  # another sentence says all of it, with another value
        span = (sentence.start, sentence.end)
        for value, verdict in _comparable(statement, sentence):
            if verdict is not Agreement.SAME:
                continue
            rival = _rival_value(statement, sentence, value)
            if rival is None:
                reason = f"{value.text!r} in a sentence about the same"
                return source.finding(Verdict.SUPPORTED, [span], reason, 0.6 + 0.35 * min(score, 1))
            reason = f"the sentence says {value.text!r} {rival}"
            misplaced = misplaced or source.finding(Verdict.CONTRADICTED, [span], reason, 0.8)
    if isinstance(statement.value, Quantity):
        if ranked and _counts_names(statement.value, statement.sentence):
            span = (ranked[0][1].start, ranked[0][1].end)
            return source.finding(Verdict.DERIVED, [span], "count: the names beside it", 0.6)
        derived = _derive_from_prose(statement, statement.value, source)
        if derived is not None:
            return derived
    if misplaced or not ranked or ranked[0][0] < _PROSE:
        return misplaced
    score, sentence = ranked[0]
    comparable = (value for value, _ in _comparable(statement, sentence))
    rivals = [
        value
        for value in comparable
        if type(value) is type(statement.value) and _alike(statement.value, value, sentence.text)
    ]
    if len(rivals) != 1:  # of several values, none is the one that is meant
        return None
    span = (sentence.start, sentence.end)
    reason = (
        f"claimed {statement.value.text!r}, but the sentence about the same says {rivals[0].text!r}"
    )
    return source.finding(Verdict.CONTRADICTED, [span], reason, 0.5 + 0.4 * min(score, 1))


def _denies(statement: _Statement, sentence: Sentence) -> bool:
    """Whether a sentence has values like the claimed one, and not it."""
    values = _comparable(statement, sentence)
    alike = [fit for value, fit in values if _alike(statement.value, value, sentence.text)]
    return bool(alike) and Agreement.SAME not in alike


def _rival_value(statement: _Statement, sentence: Sentence, value: Mention) -> str | None:
    """Of what else the sentence says the value, None where it is of what the claim speaks of."""
    if isinstance(value, Period) and _RELATIVE.search(statement.sentence):
        return None
    kind = [mention for mention in sentence.mentions if isinstance(mention, type(value))]
    spans = tuple((mention.start, mention.end) for mention in kind)
    stretches, place = parts(sentence.text, spans), kind.index(value)
    rivals = [
        number
        for number, mention in enumerate(kind)
        if agreement(statement.value, mention) is Agreement.DIFFERENT
        and _alike(value, mention, sentence.text)
    ]
    part, own = statement.part, stretches[place]
    rival = rival_owner(part, stretches, place, rivals, sentence.topic)
    if rival >= 0:
        return f"of another, {kind[rival].text!r} of this"
    if isinstance(value, Quantity) and fit(part.periods, own.periods) is Agreement.DIFFERENT:
        return f"of {own.periods[0].text!r}"
    wholes = [
        words(match[1]) if (match := _WHOLE.match(text, mention.end)) else frozenset[str]()
        for text, mention in ((statement.sentence, statement.value), (sentence.text, value))
    ]
    if all(wholes) and not wholes[0] & sentence.words and not wholes[1] & statement.words:
        return f"of {next(iter(wholes[1]))!r}"
    said, stated_words = (frozenset(each.ahead) | each.behind for each in (part, own))
    verb = (statement.sentence[: statement.value.start].split() or [""])[-1]
    past = verb.endswith("ed") or BASE_FORMS.get(verb, verb) != verb
    if past and words(verb) & (own.behind - frozenset(own.ahead)):
        if own.ahead and own.ahead[-1] not in statement.words:
            return f"after {own.ahead[-1]!r}, not {verb!r}"
    if opposite := opposed(said, frozenset(own.ahead)):
        return opposite
    if {part.lead, own.lead} == {"before", "after"}:
        return f"{own.lead}, not {part.lead}"
    claimed, stated = direction(said), direction(stated_words)
    if not stated and place + 1 < len(kind) and stretches[place + 1].lead in ("from", "against"):
        stated = direction(stretches[place + 1].ahead)  # 5 days, down from 6
        before = kind[place + 1]
        if not stated and isinstance(value, Quantity) and isinstance(before, Quantity):
            stated = (value.value > before.value) - (value.value < before.value)
    return "with the opposite direction" if claimed * stated < 0 else None


def _alike(value: Mention, rival: Mention, text: str) -> bool:
    """Whether both are written as values of one kind, so that one may be taken for the other."""
    if isinstance(value, Period) or isinstance(rival, Period) or value.unit == rival.unit:
        return True
    if "" in (value.unit, rival.unit):
        bare = rival if rival.unit == "" else value  # £20.1 million and 12.4 million; 119 euros, 59
        return min(value.scale, rival.scale) > 1 or bool(_BARE.match(text, bare.end))
    return in_one_unit(value, rival) is not None


def _comparable(statement: _Statement, sentence: Sentence) -> list[tuple[Mention, Agreement]]:
    """Values of a sentence that could be the claimed one, with how they stand to it."""
    mentions, value = sentence.mentions, statement.value
    if isinstance(value, Quantity):
        numbers = [mention for mention in mentions if isinstance(mention, Quantity)]
        if fit(statement.periods, sentence.periods) is Agreement.DIFFERENT:
            return []
        ranges = [mention for mention in numbers if mention.high is not None]
        mentions = ranges if value.high is not None and ranges else numbers
    pairs = [(mention, agreement(value, mention)) for mention in mentions]
    return [pair for pair in pairs if pair[1] is not Agreement.INCOMPARABLE]
