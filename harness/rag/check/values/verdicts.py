"""Verdicts on values: by the cells that a sentence speaks of, by prose, by what can be computed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import takewhile

from harness.rag.check.claims import clauses
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
    fit,
    in_one_unit,
    overlap,
    read,
    words,
)
from harness.rag.check.types import BY_SUPPORT, FAULTS, Claim, Finding, Verdict
from harness.rag.check.values.derivations import as_asked, may_state
from harness.rag.check.values.roles import (
    RELATIVE,
    Statement,
    derive_from_cells,
    derive_from_prose,
    parts,
    rival_owner,
    share_of,
    speaks_of,
    statement_of,
)
from harness.rag.check.wording import another, direction, opposed

# Share of a row label's words that a sentence must have to speak of the row.
_ROW = 0.5
# Overlap of a sentence with a cell's labels from which another value contradicts.
_STRONG = 0.6
_NEAR = 0.85
# Share of a claim's words that a sentence must have for support, and for a contradiction.
_SPOKEN, _PROSE = 0.5, 0.75
# Share of words that support a value that hardly stands in a document by chance.
_RARE = 0.3
_COMPUTED = ("difference", "ratio", "growth", "sum", "mean", "rest", "years", "part")
_QUALIFIED = {
    "over": "more than ", "under": "less than ", "least": "at least ", "most": "at most ",
    "about": "about ", "nearly": "nearly ",
}  # fmt: skip
_BARE = re.compile(r"\s*(?:[,.;:)]|$|(?:and|or|but|in|on|at|for|to|from|against)\b)")
_DATED = re.compile(r"\b(?:year|when|date)\b", re.IGNORECASE)
_NOUN = re.compile(r"\s+([a-z]{3,})")
_WHOLE = re.compile(r"\s+of (?:(?:the|its|their|his|her|all|every) )?(\w+)")
_SIGN_WORDS = frozenset(("loss", "decreas", "declin", "deficit", "reduction", "drop", "outflow"))
_AIMS = words("aim target goal forecast budget expected planned proposed")
_EXPLICIT = re.compile(r"\s*[(\u2212-]|[$€£¥]\s?[(\u2212-]")


def judge(claim: Claim, sources: Sequence[Source]) -> Finding | None:
    """The verdict on a claim that states a value; None where it states none.

    Every document is judged alone, so that no other one takes support away. Cells decide before
    prose, since a row and a column say exactly what a value is of; a value that can be computed
    is `DERIVED` before anything may contradict it. Where no place speaks of all of a compound
    sentence, the value's own clause decides.
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
        question = f"{claim.asked} "
        if isinstance(value, Period) and value.text.isdigit() and not _DATED.search(question):
            value = Quantity(Fraction(int(value.text)), Fraction(1), text=value.text, end=value.end)
        if not (value := as_asked(value, question)):
            reason = f"{claim.text!r} is no answer to what was asked"
            return Finding(verdict=Verdict.NOT_FOUND, reason=reason, confidence=0.6)
        moved = replace(value, start=value.start + len(question), end=value.end + len(question))
        return judge_value(moved, question + sentence, sources)
    return judge_value(value, sentence, sources)


def judge_value(value: Mention, sentence: str, sources: Sequence[Source]) -> Finding:
    """Judge a value as part of its sentence, and where no place speaks of all of it, of its own
    clause, of the words before it, and of what it counts."""
    statement = statement_of(value, sentence)
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
            apart = _judge(statement_of(moved, sentence[start:end]), sources)
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
        finding = _judge(statement_of(mention, sentence), sources)
        quoted_at = [(quote.doc, quote.start) for quote in finding.evidence]
        for source in sources if finding.verdict not in FAULTS else ():
            prose = source.sentences
            for number, line in enumerate(prose):
                around = {0, *range(max(0, number - 2), number + 1)}
                near = [date for index in around for date in prose[index].periods]
                ends = [replace(value, year=year, until=None) for year in (value.year, value.until)]
                required = ends if value.until else [value]
                if (source.document.id, line.start) in quoted_at and all(
                    any(agreement(end, date) is Agreement.SAME for date in near) for end in required
                ):
                    return finding.model_copy(update={"verdict": Verdict.SUPPORTED})
    return None


def _stand_together(value: Mention, text: str, sources: Sequence[Source]) -> Finding | None:
    """Support for a value that stands in one sentence with another of the claim, a rare one."""
    quantities = [mention for mention in read(text) if isinstance(mention, Quantity)]
    if len(quantities) < 2 or not any(map(_is_rare, quantities)):
        return None
    for source, sentence in ((owner, prose) for owner in sources for prose in owner.sentences):
        if all(
            any(agreement(quantity, stated) is Agreement.SAME for stated in sentence.mentions)
            for quantity in quantities
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
    for source, sentence in ((owner, prose) for owner in sources for prose in owner.sentences):
        for stated in sentence.mentions:
            same = _NOUN.match(sentence.text, stated.end)
            alike = same is not None and words(noun[1]) == words(same[1]) != frozenset()
            if alike and agreement(value, stated) is Agreement.SAME:
                reason = f"{stated.text} {noun[1]} are counted"
                span = (sentence.start, sentence.end)
                return source.finding(Verdict.SUPPORTED, [span], reason, 0.6)
    return None


def _judge(statement: Statement, sources: Sequence[Source]) -> Finding:
    findings: list[Finding] = []
    value = statement.value
    if isinstance(value, Period) and value.year and value.until:  # or both its ends
        ends = [replace(value, year=year, until=None) for year in (value.year, value.until)]
        spans = [_judge(replace(statement, value=end), sources) for end in ends]
        findings.append(max(spans, key=lambda span: BY_SUPPORT.index(span.verdict)))
    for source in sources:
        finding = _judge_by_cells(statement, value, source) if isinstance(value, Quantity) else None
        finding = finding or _judge_by_prose(statement, source)
        if finding is not None and finding.verdict is Verdict.SUPPORTED:
            return finding
        findings += [finding] if finding else []
    reason = f"no place that speaks of the same states {statement.value.text!r}"
    findings.append(Finding(verdict=Verdict.NOT_FOUND, reason=reason, confidence=0.6))
    return min(findings, key=lambda finding: BY_SUPPORT.index(finding.verdict))


def _judge_by_cells(statement: Statement, value: Quantity, source: Source) -> Finding | None:
    """A bare answer by the cells that its question speaks of; any other value by what can be
    computed, since the cells that state it are found by row and column."""
    if not statement.question:
        return derive_from_cells(statement, value, source)
    aligned: list[tuple[float, Cell]] = []  # cells that the sentence may speak of, best first
    for cell in source.cells:
        if speaks_of(cell, statement) < _ROW:
            continue
        period = fit(statement.periods, cell.periods)
        if period is not Agreement.DIFFERENT:
            names_column = frozenset() < words(cell.column) <= statement.words
            bonus = 0.5 if period is Agreement.SAME or names_column else 0.0
            aligned.append((overlap(statement.words, cell.label_words) + bonus, cell))
    aligned.sort(key=lambda pair: -pair[0])
    for score, cell in aligned:
        if score >= _NEAR * aligned[0][0] and _states(cell, statement, value):
            label = f"{cell.plain.text} in row {cell.label}"
            return source.finding(Verdict.SUPPORTED, [source.line(cell)], label, 0.97)
    derived = derive_from_cells(statement, value, source)
    if derived or not aligned:
        return derived
    best, closest = aligned[0]
    strong = overlap(statement.words, closest.label_words) >= _STRONG
    dated = not statement.periods or best > 1 or not closest.periods
    if not (strong and dated):
        return None
    reason = f"claimed {value.text}, but row {closest.label} states {closest.plain.text}"
    return source.finding(Verdict.CONTRADICTED, [source.line(closest)], reason, 0.9)


def _states(cell: Cell, statement: Statement, value: Quantity) -> bool:
    """Return True if a cell states a bare answer; a number without a unit may be as the table
    prints it, and leave out the brackets of a cost."""
    if not may_state(f"{cell.row} {cell.section} {cell.column}", statement.question):
        return False
    stated = [cell.value, *([cell.plain] if value.unit == "" else [])]
    loss = _SIGN_WORDS & cell.label_words or cell.value.value < 0
    if loss and not _EXPLICIT.match(value.text):
        # the label of a loss may carry the sign, a minus before the value is one
        stated += [replace(number, value=-number.value) for number in stated]
    return any(agreement(value, number) is Agreement.SAME for number in stated)


def _is_range(value: Mention) -> bool:
    return isinstance(value, Quantity) and value.high is not None


def _is_rare(value: Mention) -> bool:
    """Return True for a value that hardly stands in a document twice: four digits or a range."""
    digits = sum(letter.isdigit() for letter in value.text)
    return _is_range(value) or (isinstance(value, Quantity) and digits > 3)


def _judge_by_prose(statement: Statement, source: Source) -> Finding | None:
    """Support by the sentence that says most of the same, and says it of the same; contradiction
    by one that says it of another, or by a near copy."""
    scored = ((share_of(statement.words, sentence), sentence) for sentence in source.sentences)
    ranked = sorted(scored, key=lambda pair: -pair[0])
    misplaced: Finding | None = None
    least = _RARE if statement.question or _is_rare(statement.value) else _SPOKEN
    for score, sentence in takewhile(lambda pair: pair[0] >= least, ranked):
        if coverage(statement.words, sentence.words) < _NEAR * _SPOKEN and any(
            coverage(statement.words, rival.words) > _NEAR and _denies(statement, rival)
            for _, rival in ranked
        ):
            continue  # another sentence says all of it, with another value
        if statement.question and not may_state(sentence.text, statement.question):
            continue
        span = (sentence.start, sentence.end)
        for value, verdict in _comparable(statement, sentence):
            looser = statement.question and _is_range(statement.value) > _is_range(value)
            if looser or verdict is not Agreement.SAME:
                continue
            rival = _rival_value(statement, sentence, value)
            if rival is None and not statement.question:
                text = source.document.text
                stranger = another(statement.sentence, sentence.text, sentence.start, text)
                rival = f"of {stranger!r}" if stranger else None
            if rival is None:
                reason = f"{value.text!r} in a sentence about the same"
                return source.finding(Verdict.SUPPORTED, [span], reason, 0.6 + 0.35 * min(score, 1))
            reason = f"the sentence says {value.text!r} {rival}"
            misplaced = misplaced or source.finding(Verdict.CONTRADICTED, [span], reason, 0.8)
    if misplaced and isinstance(statement.value, Quantity) and statement.value.step == 0:
        return misplaced  # a half or a third is a ratio of some two numbers in every document
    if isinstance(statement.value, Quantity):
        derived = derive_from_prose(statement, statement.value, source)
        if derived is not None:
            return derived
    if misplaced or not ranked or ranked[0][0] < _PROSE:
        return misplaced
    score, sentence = ranked[0]
    comparable = (value for value, _ in _comparable(statement, sentence))
    rivals = [
        value
        for value in comparable
        if type(value) is type(statement.value) and alike(statement.value, value, sentence.text)
    ]
    if len(rivals) != 1:  # of several values, none is the one that is meant
        return None
    span = (sentence.start, sentence.end)
    claimed, stated = (
        f"{_QUALIFIED.get(getattr(mention, 'bound', ''), '')}{mention.text}"
        for mention in (statement.value, rivals[0])
    )
    reason = f"claimed {claimed!r}, but the sentence about the same says {stated!r}"
    return source.finding(Verdict.CONTRADICTED, [span], reason, 0.5 + 0.4 * min(score, 1))


def _denies(statement: Statement, sentence: Sentence) -> bool:
    """Return True if a sentence has values like the claimed one, and not it."""
    verdicts = [
        verdict
        for value, verdict in _comparable(statement, sentence)
        if alike(statement.value, value, sentence.text)
    ]
    return bool(verdicts) and Agreement.SAME not in verdicts


def _rival_value(statement: Statement, sentence: Sentence, value: Mention) -> str | None:
    """Name the other thing that the sentence says the value of; None where it is the same."""
    if isinstance(value, Period) and RELATIVE.search(statement.sentence):
        return None
    kind = [mention for mention in sentence.mentions if isinstance(mention, type(value))]
    spans = tuple((mention.start, mention.end) for mention in kind)
    stretches, index = parts(sentence.text, spans), kind.index(value)
    rivals = [
        number
        for number, mention in enumerate(kind)
        if agreement(statement.value, mention) is Agreement.DIFFERENT
        and alike(value, mention, sentence.text)
    ]
    part, stretch = statement.part, stretches[index]
    if rivals and _AIMS & frozenset(stretch.ahead) and not _AIMS & statement.words:
        return "of what is aimed at"
    rival = rival_owner(part, stretches, index, rivals, sentence.topic)
    if rival >= 0:
        return f"of another, {kind[rival].text!r} of this"
    if isinstance(value, Quantity) and fit(part.periods, stretch.periods) is Agreement.DIFFERENT:
        return f"of {stretch.periods[0].text!r}"
    wholes = [
        words(match[1]) if (match := _WHOLE.match(text, mention.end)) else frozenset[str]()
        for text, mention in ((statement.sentence, statement.value), (sentence.text, value))
    ]
    if all(wholes) and not wholes[0] & sentence.words and not wholes[1] & statement.words:
        return f"of {next(iter(wholes[1]))!r}"
    claim_words, stated_words = (
        frozenset(segment.ahead) | segment.behind for segment in (part, stretch)
    )
    verb = (statement.sentence[: statement.value.start].split() or [""])[-1]
    past = verb.endswith("ed") or BASE_FORMS.get(verb, verb) != verb
    elsewhere = past and words(verb) & (stretch.behind - frozenset(stretch.ahead))
    if elsewhere and stretch.ahead and stretch.ahead[-1] not in statement.words:
        return f"after {stretch.ahead[-1]!r}, not {verb!r}"
    if opposite := opposed(claim_words, frozenset(stretch.ahead)):
        return opposite
    if {part.lead, stretch.lead} == {"before", "after"}:
        return f"{stretch.lead}, not {part.lead}"
    claimed, stated = direction(claim_words), direction(stated_words)
    if not stated and index + 1 < len(kind) and stretches[index + 1].lead in ("from", "against"):
        stated = direction(stretches[index + 1].ahead)  # 5 days, down from 6
        before = kind[index + 1]
        if not stated and isinstance(value, Quantity) and isinstance(before, Quantity):
            stated = (value.value > before.value) - (value.value < before.value)
    return "with the opposite direction" if claimed * stated < 0 else None


def alike(value: Mention, rival: Mention, text: str) -> bool:
    """Return True if both are written as values of one kind, so that one may be taken for the
    other."""
    if isinstance(value, Period) or isinstance(rival, Period) or value.unit == rival.unit:
        return True
    if "" in (value.unit, rival.unit):
        bare = rival if rival.unit == "" else value  # £20.1 million and 12.4 million; 119 euros, 59
        return min(value.scale, rival.scale) > 1 or bool(_BARE.match(text, bare.end))
    return in_one_unit(value, rival) is not None


def _comparable(statement: Statement, sentence: Sentence) -> list[tuple[Mention, Agreement]]:
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
