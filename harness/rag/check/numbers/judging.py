"""Verdicts on claimed values: by the cells that their sentence speaks of, then by the prose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.rag.check.numbers.comparing import agreement
from harness.rag.check.numbers.context import coverage, overlap, words
from harness.rag.check.numbers.deriving import derive
from harness.rag.check.numbers.reading import read
from harness.rag.check.numbers.sources import Placed, Said, Sources
from harness.rag.check.numbers.types import Agreement, Mention, Period, Quantity
from harness.rag.check.types import Claim, Evidence, Finding, Verdict

ROW = 0.5
"""Share of a row label's words that a sentence must have to speak of the row."""
STRONG = 0.6
"""Overlap of a sentence with a cell's labels from which another value contradicts."""
_NEAR = 0.85
_SPOKEN, _PROSE = 0.5, 0.75
_SIGN_WORDS = frozenset(("loss", "decreas", "declin", "deficit", "reduction", "drop", "outflow"))

_RANK = {
    Verdict.SUPPORTED: 0, Verdict.DERIVED: 1, Verdict.CONTRADICTED: 2, Verdict.NOT_FOUND: 3,
    Verdict.INVALID: 4,
}  # fmt: skip
_EXPLICIT = re.compile(r"\s*[(\u2212-]|[$€£¥]\s?[(\u2212-]")


@dataclass(frozen=True)
class _Asked:
    """A claimed value with what its sentence says around it."""

    mention: Mention
    sentence: str
    words: frozenset[str]
    periods: tuple[Period, ...]


def judge(claim: Claim, sources: Sources) -> Finding | None:
    """The verdict on a claim that states a value; None where it states none.

    Cells decide before prose, since a row and a column say exactly what a value is of; a value
    that can be computed from cells is `DERIVED` before a cell may contradict it.
    """
    asked = _asked(claim)
    if asked is None:
        return None
    best: Finding | None = None
    for one in sources.each or (sources,):  # alone, so that no other document takes support away
        found = _judge(asked, one)
        if found.verdict is Verdict.SUPPORTED:
            return found
        if best is None or _RANK[found.verdict] < _RANK[best.verdict]:
            best = found
    return best or _nothing(asked)


def _judge(asked: _Asked, sources: Sources) -> Finding:
    if isinstance(asked.mention, Period):
        return _period(asked, sources)
    aligned = _aligned(asked, sources.cells)
    return (
        _stated(asked, asked.mention, aligned, sources)
        or _derived(asked, asked.mention, sources)
        or _other_cell(asked, asked.mention, aligned, sources)
        or _prose(asked, sources)
        or _nothing(asked)
    )


def _asked(claim: Claim) -> _Asked | None:
    sentence = claim.sentence or claim.text
    found = read(sentence)
    around = f"{claim.asked} {sentence}" if len(words(sentence)) < 2 else sentence
    mention = _at(claim, found) or next(iter(read(claim.text)), None)
    if mention is None:
        return None
    periods = tuple(
        one for one in read(around) if isinstance(one, Period) and one.text != mention.text
    )
    return _Asked(mention, around, words(around), periods)


def _at(claim: Claim, found: Sequence[Mention]) -> Mention | None:
    """The value of the sentence that the claim's text is or holds."""
    return next(
        (one for one in found if one.text == claim.text),
        next((one for one in found if one.text in claim.text or claim.text in one.text), None),
    )


def _aligned(asked: _Asked, cells: Iterable[Placed]) -> list[tuple[float, Placed]]:
    """Cells that the sentence may speak of, best first."""
    found: list[tuple[float, Placed]] = []
    for placed in cells:
        if coverage(placed.row, asked.words) < ROW:
            continue
        fit = _fit(asked.periods, placed.periods)
        if fit is Agreement.DIFFERENT:
            continue
        bonus = 0.5 if fit is Agreement.SAME else 0.0
        found.append((overlap(asked.words, placed.labels) + bonus, placed))
    return sorted(found, key=lambda one: -one[0])


def _fit(asked: Sequence[Period], stated: Sequence[Period]) -> Agreement:
    """Whether the periods of a claim are those of a place; years decide where both name one."""
    if any(one.year for one in asked) and any(one.year for one in stated):
        asked = [one for one in asked if one.year]
        stated = [one for one in stated if one.year]
    best = Agreement.INCOMPARABLE
    for one in asked:
        for other in stated:
            found = agreement(one, other)
            if found is Agreement.SAME or agreement(other, one) is Agreement.SAME:
                return Agreement.SAME
            best = Agreement.DIFFERENT if found is Agreement.DIFFERENT else best
    return best


def _stated(
    asked: _Asked, value: Quantity, aligned: Sequence[tuple[float, Placed]], sources: Sources
) -> Finding | None:
    best = aligned[0][0] if aligned else 0.0
    for score, placed in aligned:
        if score >= _NEAR * best and _matches(value, placed):
            reason = f"{placed.cell.plain.text} in row {placed.cell.row!r}{_under(placed)}"
            return _finding(Verdict.SUPPORTED, [placed], reason, 0.97, sources)
    return None


def _matches(value: Quantity, placed: Placed) -> bool:
    """Whether a cell states the value; a bare number may be as the table prints it."""
    stated = [placed.cell.value]
    if value.unit == "":
        stated.append(placed.cell.plain)
    if any(agreement(value, one) is Agreement.SAME for one in stated):
        return True
    if _EXPLICIT.match(value.text) or not (_SIGN_WORDS & placed.labels):
        return False  # the label of a loss may carry the sign, a minus before the value is one
    mirrored = [replace(one, value=-one.value) for one in stated]
    return any(agreement(value, one) is Agreement.SAME for one in mirrored)


def _derived(asked: _Asked, value: Quantity, sources: Sources) -> Finding | None:
    spoken = [
        (_fit(asked.periods, one.periods) is Agreement.SAME, overlap(asked.words, one.row), one)
        for one in sources.cells
        if coverage(one.row, asked.words) >= _PROSE
    ]
    cited = [one for *_, one in sorted(spoken, key=lambda one: (-one[1], not one[0]))]
    found = derive(value, asked.sentence, [one.cell for one in cited])
    if found is None:
        return None
    used = [one for one in cited if one.cell in found.cells]
    reason = f"{found.operation}: {found.formula}"
    return _finding(Verdict.DERIVED, used, reason, 0.85, sources)


def _other_cell(
    asked: _Asked, value: Quantity, aligned: Sequence[tuple[float, Placed]], sources: Sources
) -> Finding | None:
    if not aligned:
        return None
    best, placed = aligned[0]
    opposite = next((one for _, one in aligned if _is_opposite(value, one)), None)
    strong = overlap(asked.words, placed.labels) >= STRONG
    dated = not asked.periods or best > 1 or not placed.periods
    if opposite is None and not (strong and dated):
        return None
    placed = opposite or placed
    reason = (
        f"claimed {value.text}, but row {placed.cell.row!r}{_under(placed)} states "
        f"{placed.cell.plain.text}"
    )
    return _finding(Verdict.CONTRADICTED, [placed], reason, 0.9, sources)


def _is_opposite(value: Quantity, placed: Placed) -> bool:
    """The same amount with the other sign, where a sign was written on one side."""
    stated = placed.cell.value
    if not (value.signed or stated.signed) or stated.unit != value.unit or not value.value:
        return False
    return agreement(replace(value, value=-value.value), stated) is Agreement.SAME


def _under(placed: Placed) -> str:
    return f", column {placed.cell.column!r}" if placed.cell.column else ""


def _period(asked: _Asked, sources: Sources) -> Finding:
    for placed in sources.cells:
        same = any(agreement(asked.mention, one) is Agreement.SAME for one in placed.periods)
        if same and coverage(placed.row, asked.words) >= ROW:
            reason = f"column or row {placed.cell.column or placed.cell.row!r}"
            return _finding(Verdict.SUPPORTED, [placed], reason, 0.8, sources)
    return _prose(asked, sources) or _nothing(asked)


def _prose(asked: _Asked, sources: Sources) -> Finding | None:
    """Support by the sentence that says most of the same; contradiction by a near copy alone."""
    ranked = sorted(
        ((coverage(asked.words, one.words), one) for one in sources.sentences),
        key=lambda one: -one[0],
    )
    for score, said in ranked:
        if score < _SPOKEN:
            break
        mention = _same_in(asked, said)
        if mention is not None:
            reason = f"{mention.text!r} in a sentence about the same"
            return _spoken(Verdict.SUPPORTED, said, reason, 0.6 + 0.35 * score, sources)
    if not ranked or ranked[0][0] < _PROSE:
        return None
    said = ranked[0][1]
    other = _different_in(asked, said)
    if other is None:
        return None
    reason = f"claimed {asked.mention.text!r}, but the sentence about the same says {other.text!r}"
    return _spoken(Verdict.CONTRADICTED, said, reason, 0.5 + 0.4 * ranked[0][0], sources)


def _same_in(asked: _Asked, said: Said) -> Mention | None:
    if isinstance(asked.mention, Quantity) and (
        _fit(asked.periods, said.periods) is Agreement.DIFFERENT
    ):
        return None
    mentions = said.quantities if isinstance(asked.mention, Quantity) else said.mentions
    return next((one for one in mentions if agreement(asked.mention, one) is Agreement.SAME), None)


def _different_in(asked: _Asked, said: Said) -> Mention | None:
    """The only value of that kind in a sentence; of several, none is the one that is meant."""
    if isinstance(asked.mention, Quantity) and (
        _fit(asked.periods, said.periods) is Agreement.DIFFERENT
    ):
        return None
    kind = said.quantities if isinstance(asked.mention, Quantity) else said.periods
    comparable = [
        one for one in kind if agreement(asked.mention, one) is not Agreement.INCOMPARABLE
    ]
    return comparable[0] if len(comparable) == 1 else None


def _nothing(asked: _Asked) -> Finding:
    reason = f"no place that speaks of the same states {asked.mention.text!r}"
    return Finding(verdict=Verdict.NOT_FOUND, reason=reason, confidence=0.6)


def _finding(
    verdict: Verdict, used: Sequence[Placed], reason: str, confidence: float, sources: Sources
) -> Finding:
    quotes = [_row_quote(one, sources) for one in used]
    return Finding(
        verdict=verdict,
        evidence=tuple(dict.fromkeys(quotes)),
        reason=reason,
        confidence=confidence,
    )


def _row_quote(placed: Placed, sources: Sources) -> Evidence:
    """The line of the table up to the cell, its label included."""
    document = sources.documents[placed.doc]
    start = document.text.rfind("\n", 0, placed.cell.start) + 1
    return quote(document.id, document.text, start, placed.cell.end)


def _spoken(
    verdict: Verdict, said: Said, reason: str, confidence: float, sources: Sources
) -> Finding:
    document = sources.documents[said.doc]
    evidence = quote(document.id, document.text, said.start, said.end)
    return Finding(verdict=verdict, evidence=(evidence,), reason=reason, confidence=confidence)


def quote(doc: str, text: str, start: int, end: int) -> Evidence:
    """Evidence of characters `start` to `end`, verbatim by construction."""
    return Evidence(doc=doc, start=start, end=end, quote=text[start:end])
