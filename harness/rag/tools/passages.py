"""Passages of documents, and which of them fit a budget."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from harness.rag.retrieve import Document, sentence_spans, words
from harness.rag.tasks.reading import split_citations

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


PAGE = 6000
"""Most characters of a page: about 1,500 tokens."""


def pages_of(documents: Sequence[Document], size: int = PAGE) -> list[Passage]:
    """All documents in order, cut at the last line end (else space) that fits a page.

    Every character lies on exactly one page; a document without text has none.

    Args:
        documents: to read.
        size: most characters of a page, 1 or more.
    """
    found: list[Passage] = []
    for document in documents:
        text, start = document.text, 0
        while start < len(text):
            end = _cut(text, start, size)
            found.append(Passage(document.id, start, end, text[start:end], 0.0))
            start = end
    return found


def _cut(text: str, start: int, size: int) -> int:
    end = start + size
    if end >= len(text):
        return len(text)
    for mark in ("\n", " "):
        place = text.rfind(mark, start + size // 2, end)
        if place >= 0:
            return place + 1
    return end


LONGEST = 200_000
"""Characters of all documents above which no citation is looked for."""


def attribute(answer: str, question: str, documents: Sequence[Document]) -> str:
    """The answer with a citation behind it; unchanged if it has one, or no sentence holds it.

    A sentence must hold all words of the answer; among several, the one decides that shares the
    rarest words with the question.

    Args:
        answer: what the model said.
        question: what was asked.
        documents: where the answer may stand.
    """
    plain, cited = split_citations(answer)
    wanted = Counter(words(plain))
    size = sum(len(document.text) for document in documents)
    if cited or not wanted or size > LONGEST:
        return answer
    asked = set(words(question)) - set(wanted)
    sentences = [
        Passage(document.id, start, end, document.text[start:end], 0.0)
        for document in documents
        for start, end in sentence_spans(document.text, "en")
    ]
    counted = [(one, Counter(words(one.text))) for one in sentences]
    holding = [(one, count) for one, count in counted if count >= wanted]
    if not holding:
        return answer
    frequency = Counter(word for _, count in counted for word in set(count) & asked)
    rarity = {word: math.log(1 + len(counted) / frequency[word]) for word in frequency}
    best = max(holding, key=lambda pair: sum(rarity[word] for word in asked & set(pair[1])))
    return f"{answer} {best[0].citation}"
