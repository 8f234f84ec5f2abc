"""Verdicts without any model: values by the numeric engine, everything else by shared words.

The floor that every other verifier has to beat, and what runs where nothing is installed. Sentences
come after their values: where those are right, the words around them decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from harness.rag.check.claims import NEGATION, VERB, clauses, names
from harness.rag.check.numbers import Source, open_sources, read, words
from harness.rag.check.types import (
    BY_SUPPORT,
    FAULTS,
    STATEMENT_TYPES,
    VALUE_TYPES,
    Claim,
    Finding,
    Verdict,
)
from harness.rag.check.values import (
    judge,
    judge_value,
    parts,
    share_of,
)
from harness.rag.check.wording import difference
from harness.rag.retrieve import Document

if TYPE_CHECKING:
    from harness.rag.check.values import Item

# Share of a sentence's words that support by shared words needs; with right values; from which a
# difference in wording contradicts.
_SHARED, _VALUED, _COPIED = 0.6, 0.4, 0.5
# Confidence that a clause is said nowhere, from which no other clause makes up for it.
_UNSAID = 0.85
# Confidence from which another place states what a row denies.
_STATED = 0.75
# Confidence at least in a sentence whose values are right.
_VOUCHED = 0.8
# By how much a line about the same that names another beats those that name the claimed one; words
# before a name that say what it is.
_APART, _LEADING = 0.4, 2
_MOST = re.compile(r"\b(?:most|the majority) of\b", re.IGNORECASE)
_SHARE = re.compile(
    r"\b(?:(?<!at )most|mostly|mainly|largely|majority|all|every|each|half|thirds?|quarters?"
    r"|per ?cent)\b|%|\bof (?:the|its|their|these) \d",
    re.IGNORECASE,
)
_OF = re.compile(r"\bof (?:the )?$")
_FIRST = re.compile(r"\s+(?:(?:was|were|is|are|has|have|had|also|then)\s+)*([a-z]+)")


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
            finding = judge_claim(claim, sources)
            if finding is None and claim.type == "entity":
                finding = _look_up_name(claim, lines)
            findings.append(_most_of(claim, finding or self.on_words(claim, lines, sources)))
        return findings

    def on_words(self, claim: Claim, lines: list[Line], sources: Sequence[Source]) -> Finding:
        """The verdict on what neither a value, a name nor a table decides."""
        return _look_up_statement(claim, lines, sources)


def _most_of(claim: Claim, finding: Finding) -> Finding:
    """Leave open what is said of most of them, where no quote speaks of a share or of all."""
    most = claim.type in STATEMENT_TYPES and _MOST.search(claim.sentence or claim.text)
    if (
        not most
        or finding.verdict in FAULTS
        or any(_SHARE.search(q.quote) for q in finding.evidence)
    ):
        return finding
    reason = f"{most[0]!r} was not checked; the rest agrees: {finding.reason}"
    return finding.model_copy(
        update={"verdict": Verdict.NOT_FOUND, "reason": reason, "confidence": 0.5}
    )


def judge_claim(claim: Claim, sources: Sequence[Source]) -> Finding | None:
    """The verdict of tables on what a claim spans, or else that on its value; None without either.

    A value belongs to the row and the column that its sentence names beside it, which says more
    than the words around it do.
    """
    finding = _by_rows(claim, sources)
    return judge(claim, sources) if finding is None and claim.type in VALUE_TYPES else finding


def _by_rows(claim: Claim, sources: Sequence[Source]) -> Finding | None:
    """The verdict of tables on what a claim spans, by its worst part; None where they have none."""
    sentence = claim.sentence or claim.text
    if claim.asked and len(words(sentence)) < 2 and not VERB.search(sentence):
        return None  # a bare answer to a question
    items = _table_items(sentence, sources)
    is_statement = claim.type in STATEMENT_TYPES
    spans = [(0, len(sentence))] if is_statement else [
        match.span() for match in re.finditer(re.escape(claim.text), sentence)
    ]  # fmt: skip
    parts = [
        item.finding for item in items if any(item.start < b and a < item.end for a, b in spans)
    ]
    finding = max(parts, key=lambda part: BY_SUPPORT.index(part.verdict), default=None)
    if is_statement and finding and finding.verdict not in FAULTS:
        read_parts = all(
            any(a < i.end and i.start < b for i in items) for a, b in clauses(sentence)
        )
        return finding if read_parts and not NEGATION.search(sentence) else None
    return finding


def _table_items(sentence: str, sources: Sequence[Source]) -> list[Item]:
    """Verdicts of tables on parts of a sentence; what one denies may be said elsewhere, or follow
    from other values of its document."""
    if not any(source.tables for source in sources):
        return []
    from harness.rag.check.values import items_of

    items = items_of(sentence, sources)
    items.sort(key=lambda item: BY_SUPPORT.index(item.finding.verdict))
    best = {(item.start, item.end): item for item in reversed(items)}
    values = {(mention.start, mention.end): mention for mention in read(sentence)}
    for span, item in best.items():
        if span in values and item.finding.verdict is Verdict.CONTRADICTED:
            finding = judge_value(values[span], sentence, sources)
            sides = (item.finding, finding)
            apart = len({quote.doc for side in sides for quote in side.evidence}) > 1
            follows = finding.verdict is Verdict.DERIVED and not apart
            if follows or (finding.verdict is Verdict.SUPPORTED and finding.confidence > _STATED):
                best[span] = item._replace(finding=finding)
    return list(best.values())


def with_wrong_values(claims: Sequence[Claim], findings: Sequence[Finding]) -> list[Finding]:
    """Findings of which no sentence is supported that holds a wrong value."""
    pairs = list(zip(claims, findings, strict=True))
    wrong = [pair for pair in pairs if pair[0].type in VALUE_TYPES and pair[1].verdict in FAULTS]
    return [
        next((part for value, part in wrong if claim.start <= value.start < claim.end), finding)
        if claim.type in STATEMENT_TYPES and finding.verdict not in FAULTS
        else finding
        for claim, finding in pairs
    ]


class Line(NamedTuple):
    """A sentence or a table row of a document, with its words and those around it."""

    source: Source
    start: int
    end: int
    words: frozenset[str]
    context: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        return self.source.document.text[self.start : self.end]


def _lines(source: Source) -> Iterator[Line]:
    for sentence in source.sentences:
        yield Line(source, sentence.start, sentence.end, sentence.words, sentence.context)
    for table in source.tables:
        yield Line(source, *table.top, frozenset())  # names stand there, and nothing is said
        for row in table.rows:
            sections = (cell.section for cell in row.cells.values())
            texts = (field.text for field in row.fields)
            yield Line(source, *row.span, words(" ".join((*table.heads, *sections, *texts))))


def _look_up_name(claim: Claim, lines: list[Line]) -> Finding:
    """A name is supported where it stands, best in a line about the same; not where the line about
    the same names another in its place."""
    stem = re.escape(claim.text.removesuffix("s"))
    initials = "".join(re.findall(r"\b[A-Z]", claim.text))
    short = rf"|(?-i:{initials})" if len(initials) > 1 else ""
    name = re.compile(rf"(?<!\w)(?:{stem}(?:'?s)?{short})(?!\w)", re.IGNORECASE)
    other_names = (claim.sentence[start:end] for start, end in names(claim.sentence))
    about = words(claim.sentence) - frozenset[str]().union(
        words(claim.text), *map(words, other_names)
    )
    naming = [
        (share_of(about, line), line)
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
    rivals = [
        (share_of(about, neighbour), neighbour)
        for neighbour in lines
        if neighbour.source is line.source and names(neighbour.text)
    ]
    closest, rival_line = max(rivals, key=itemgetter(0), default=(0.0, line))
    apart = closest - score >= _APART and line.start != lines[0].start
    if line.words and closest >= _SHARED and apart and not name.search(rival_line.text):
        reason = f"the sentence that says it names {claim.text!r} not"
        evidence = [(rival_line.start, rival_line.end)]
        return line.source.finding(Verdict.CONTRADICTED, evidence, reason, 0.7)
    if rival := _rival_name(claim.text, claim.sentence, line):
        reason = f"the sentence says it of {rival!r}"
        return line.source.finding(Verdict.CONTRADICTED, [span], reason, 0.7)
    reason = f"{claim.text!r} is named"
    return line.source.finding(Verdict.SUPPORTED, [span], reason, 0.5 + 0.45 * score)


def _rival_name(name: str, sentence: str, line: Line) -> str:
    """The name of a line that fits a claim's words better than the claimed one, or ""."""
    spans = tuple(names(line.text))
    texts = [line.text[start:end] for start, end in spans]
    start = sentence.find(name)
    claimed = tuple(sorted({*names(sentence), (start, start + len(name))}))
    if name not in texts or start < 0:
        return ""
    rivals = [index for index, text in enumerate(texts) if text not in sentence]
    if _OF.search(sentence, max(0, start - 8), start):
        return ""  # the captain of the Oriel is named as another
    index = claimed.index((start, start + len(name)))
    about = frozenset(parts(sentence, claimed)[index].ahead[-_LEADING:])
    stretches = parts(line.text, spans)
    leading = [frozenset(stretch.ahead[-_LEADING:]) for stretch in stretches]
    own_words = leading[texts.index(name)]
    if not about:  # the subject: what it does must not stand with another name
        did = _FIRST.match(sentence, claimed[index][1])
        about = words(did[1]) if did else frozenset[str]()
        leading = [stretch.behind for stretch in stretches]
        own_words = leading[texts.index(name)] | own_words
    owners = (index for index in rivals if about & leading[index] - own_words)
    return next((texts[index] for index in owners if not about & own_words), "")


def _look_up_statement(claim: Claim, lines: list[Line], sources: Sequence[Source]) -> Finding:
    """Look it up as one sentence, and clause by clause: several lines may say together what it
    says, and one clause that is denied makes all of it false."""
    sentence = claim.sentence or claim.text
    spans = clauses(sentence)
    finding = _look_up_sentence(sentence, sentence, lines, sources, compound=len(spans) > 1)
    parts = [_look_up_sentence(sentence[a:b], sentence, lines, sources) for a, b in spans]
    worst = max(parts, key=lambda part: BY_SUPPORT.index(part.verdict))
    if worst.verdict is Verdict.NOT_FOUND and worst.confidence > _UNSAID:
        return worst
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
    lines: list[Line],
    sources: Sequence[Source],
    *,
    compound: bool = False,
) -> Finding:
    """By its values, then by the line that shares most of its words, or the line of the values; a
    difference in wording contradicts."""
    start = sentence.index(clause)
    valued = [
        finding
        for mention in read(sentence)
        if start <= mention.start < start + len(clause)
        for finding in [judge_value(mention, sentence, sources)]
        if finding.verdict not in FAULTS  # which are claims of their own
    ]
    derived = next((finding for finding in valued if finding.verdict is Verdict.DERIVED), None)
    if derived is not None:
        return derived
    about = words(clause)
    cited = {(quote.doc, quote.start) for finding in valued for quote in finding.evidence}
    scored = (
        (share_of(about, line) + 0.2 * ((line.source.document.id, line.start) in cited), line)
        for line in lines
    )
    score, line = max(scored, key=itemgetter(0), default=(0.0, None))
    least = _VALUED / len(valued) if valued else _SHARED  # two right values are two witnesses
    if line is None or score < least:
        reason = f"the closest sentence shares {score:.0%} of the words"
        return Finding(verdict=Verdict.NOT_FOUND, reason=reason, confidence=0.9 - score / 2)
    span = (line.start, line.end)
    first = re.match(r"[A-Z][\w'-]+", clause)  # a name, which its capital alone does not show
    if first and score >= _COPIED and (rival := _rival_name(first[0], clause, line)):
        reason = f"the sentence says it of {rival!r}"
        return line.source.finding(Verdict.CONTRADICTED, [span], reason, 0.7)
    if score >= _COPIED and (reason := difference(clause, line.text, compound=compound)):
        reason = f"the closest sentence differs: {reason}"
        return line.source.finding(Verdict.CONTRADICTED, [span], reason, 0.8)
    reason = f"a sentence shares {min(score, 1):.0%} of the words"
    confidence = max(min(0.3 + 0.6 * score, 0.95), _VOUCHED * bool(valued))
    return line.source.finding(Verdict.SUPPORTED, [span], reason, confidence)
