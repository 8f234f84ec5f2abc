"""Passages of documents, and which of them fit a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from harness.rag.retrieve import Document

GAP = "\n[…]\n"
"""Stands between passages in a context."""
_LONGEST_TOKEN = 16
Count = Callable[[str], int]
"""Tokens of a text."""


class Passage(NamedTuple):
    """A stretch of a document that was chosen: `text == document.text[start:end]`."""

    doc: str
    start: int
    end: int
    text: str
    score: float

    @property
    def name(self) -> str:
        """`doc:start-end`."""
        return f"{self.doc}:{self.start}-{self.end}"

    @property
    def citation(self) -> str:
        """As it stands in a context and in answers: `[doc:start-end]`."""
        return f"[{self.name}]"

    @property
    def shown(self) -> str:
        """What a model reads: the citation, then the text."""
        return f"{self.citation}\n{self.text}"


def within(passage: Passage) -> Passage:
    """A passage of a passage (its document is a :attr:`Passage.name`) as one of the document."""
    doc, _, place = passage.doc.rpartition(":")
    offset = int(place.split("-")[0])
    return passage._replace(doc=doc, start=passage.start + offset, end=passage.end + offset)


def packed(ranked: Sequence[Passage], budget: int, count: Count) -> list[Passage]:
    """The best passages that fit a budget, best first; one inside a better one is left out."""
    kept: list[Passage] = []
    left = budget + count(GAP)  # there is a gap less than there are passages
    for passage in ranked:
        cost = count(passage.shown) + count(GAP)
        if cost <= left and not any(_covers(one, passage) for one in kept):
            kept.append(passage)
            left -= cost
    return kept


def merged(passages: Sequence[Passage], sources: Sequence[Document]) -> list[Passage]:
    """The passages in the order of the sources; those that overlap become one."""
    order = {source.id: at for at, source in enumerate(sources)}
    texts = {source.id: source.text for source in sources}
    found: list[Passage] = []
    for one in sorted(passages, key=lambda one: (order[one.doc], one.start)):
        last = found[-1] if found else None
        if last is not None and last.doc == one.doc and one.start <= last.end:
            end, score = max(last.end, one.end), max(last.score, one.score)
            found[-1] = Passage(one.doc, last.start, end, texts[one.doc][last.start : end], score)
        else:
            found.append(one)
    return found


def truncated(sources: Sequence[Document], budget: int, count: Count) -> list[Passage]:
    """The beginning of the first and the end of the last documents, half of the budget each.

    Everything, where it fits.
    """
    whole = [Passage(one.id, 0, len(one.text), one.text, 0.0) for one in sources]
    if sum(count(one.shown) + count(GAP) for one in whole) <= budget:
        return whole
    head = _taken(whole, budget // 2, count, from_end=False)
    known = {one.doc: one.end for one in head}
    rest = [one._replace(start=known.get(one.doc, 0)) for one in whole]
    rest = [one._replace(text=one.text[one.start :]) for one in rest if one.start < one.end]
    return head + _taken(rest[::-1], budget - budget // 2, count, from_end=True)[::-1]


def _taken(
    passages: Sequence[Passage], budget: int, count: Count, *, from_end: bool
) -> list[Passage]:
    found: list[Passage] = []
    left = budget
    for passage in passages:
        part = _fitting(passage, left - count(GAP), count, from_end=from_end)
        if not part.text:
            break
        found.append(part)
        left -= count(part.shown) + count(GAP)
        if len(part.text) < len(passage.text):
            break
    return found


def _fitting(passage: Passage, budget: int, count: Count, *, from_end: bool) -> Passage:
    """The longest part at one end that fits, by bisection."""

    def part(length: int) -> Passage:
        if from_end:
            start = passage.end - length
            return passage._replace(start=start, text=passage.text[len(passage.text) - length :])
        return passage._replace(end=passage.start + length, text=passage.text[:length])

    low, high = 0, min(len(passage.text), max(0, budget) * _LONGEST_TOKEN)
    while low < high:
        middle = (low + high + 1) // 2
        if count(part(middle).shown) <= budget:
            low = middle
        else:
            high = middle - 1
    return part(low)


def _covers(one: Passage, other: Passage) -> bool:
    return one.doc == other.doc and one.start <= other.start and other.end <= one.end
