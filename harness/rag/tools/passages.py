"""Passages of documents, and which of them fit a budget."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from harness.rag.retrieve import Document, sentence_spans, words
from harness.rag.tasks.reading import split_citations

# Stands between passages in a context.
GAP = "\n[…]\n"
_LONGEST_TOKEN = 16
PAGE = 6000  # most characters of a page: about 1,500 tokens
LONGEST = 200_000  # characters of all documents above which no citation is looked for
# Tokens of a text.
Count = Callable[[str], int]


class Passage(NamedTuple):
    """A stretch of a document that was chosen: `text == document.text[start:end]`."""

    doc: str
    start: int
    end: int
    text: str
    score: float

    @classmethod
    def of(cls, document: Document, start: int, end: int) -> Passage:
        """A stretch of a document, without a score."""
        return cls(document.id, start, end, document.text[start:end], 0.0)

    @property
    def name(self) -> str:
        """`doc:start-end`."""
        return f"{self.doc}:{self.start}-{self.end}"

    @property
    def citation(self) -> str:
        """Return the citation for contexts and answers: `[doc:start-end]`."""
        return f"[{self.name}]"

    def covers(self, inner: Passage) -> bool:
        """Return True if the other passage lies inside this one."""
        return self.doc == inner.doc and self.start <= inner.start and inner.end <= self.end

    @property
    def shown(self) -> str:
        """Text for a model: the citation, then the passage."""
        return f"{self.citation}\n{self.text}"


def within(passage: Passage) -> Passage:
    """A passage of a passage (its document is a :attr:`Passage.name`) as one of the document."""
    doc, _, span = passage.doc.rpartition(":")
    offset = int(span.split("-")[0])
    return passage._replace(doc=doc, start=passage.start + offset, end=passage.end + offset)


def packed(ranked: Sequence[Passage], budget: int, count: Count) -> list[Passage]:
    """The best passages that fit a budget, best first; one inside a better one is left out."""
    selected: list[Passage] = []
    room = budget + count(GAP)  # there is a gap less than there are passages
    for passage in ranked:
        cost = count(passage.shown) + count(GAP)
        if cost <= room and not any(better.covers(passage) for better in selected):
            selected.append(passage)
            room -= cost
    return selected


def merged(passages: Sequence[Passage], sources: Sequence[Document]) -> list[Passage]:
    """The passages in the order of the sources; those that overlap become one."""
    order = {source.id: number for number, source in enumerate(sources)}
    texts = {source.id: source.text for source in sources}
    joined: list[Passage] = []
    for passage in sorted(passages, key=lambda passage: (order[passage.doc], passage.start)):
        last = joined[-1] if joined else None
        if last is not None and last.doc == passage.doc and passage.start <= last.end:
            end, score = max(last.end, passage.end), max(last.score, passage.score)
            text = texts[last.doc][last.start : end]
            joined[-1] = Passage(last.doc, last.start, end, text, score)
        else:
            joined.append(passage)
    return joined


def truncated(sources: Sequence[Document], budget: int, count: Count) -> list[Passage]:
    """The beginning of the first and the end of the last documents, half of the budget each.

    Everything, where it fits.
    """
    full = [Passage.of(source, 0, len(source.text)) for source in sources]
    if sum(count(passage.shown) + count(GAP) for passage in full) <= budget:
        return full
    head = _taken(full, budget // 2, count, from_end=False)
    ends = {passage.doc: passage.end for passage in head}
    tails = [Passage.of(source, ends.get(source.id, 0), len(source.text)) for source in sources]
    tails = [passage for passage in tails if passage.text]
    return head + _taken(tails[::-1], budget - budget // 2, count, from_end=True)[::-1]


def _taken(
    passages: Sequence[Passage], budget: int, count: Count, *, from_end: bool
) -> list[Passage]:
    """Take the passages that fit, the last one cut."""
    parts: list[Passage] = []
    for passage in passages:
        part = _fitting(passage, budget - count(GAP), count, from_end=from_end)
        if part.text:
            parts.append(part)
            budget -= count(part.shown) + count(GAP)
        if len(part.text) < len(passage.text):
            break
    return parts


def _fitting(passage: Passage, budget: int, count: Count, *, from_end: bool) -> Passage:
    """The longest part at one end that fits, by bisection."""
    size = len(passage.text)

    def part(length: int) -> Passage:
        if from_end:
            start = passage.end - length
            return passage._replace(start=start, text=passage.text[size - length :])
        return passage._replace(end=passage.start + length, text=passage.text[:length])

    lengths = range(1, min(size, max(0, budget) * _LONGEST_TOKEN) + 1)
    return part(bisect_right(lengths, budget, key=lambda length: count(part(length).shown)))


def pages_of(documents: Sequence[Document], size: int = PAGE) -> list[Passage]:
    """All documents in order, cut at the last line end (else space) that fits a page.

    Every character lies on exactly one page; a document without text has none.

    Args:
        documents: to read.
        size: most characters of a page, 1 or more.
    """
    pages: list[Passage] = []
    for document in documents:
        text, start = document.text, 0
        while start < len(text):
            end = min(start + size, len(text))
            if end < len(text):
                marks = (text.rfind(mark, start + size // 2, end) for mark in ("\n", " "))
                end = next((position + 1 for position in marks if position >= 0), end)
            pages.append(Passage.of(document, start, end))
            start = end
    return pages


def attribute(answer: str, question: str, documents: Sequence[Document]) -> str:
    """The answer with a citation behind it; unchanged if it has one, or no sentence holds it.

    An answer that a model gives without a citation gets one by the words that it shares with a
    sentence, as in post-hoc attribution (Gao et al. 2023, "RARR"); it is a guess, and scored as
    one. A sentence must hold all words of the answer; among several, the one decides that shares
    the rarest words with the question.

    Args:
        answer: what the model said.
        question: what was asked.
        documents: where the answer may stand.
    """
    plain, cited = split_citations(answer)
    needed = Counter(words(plain))
    size = sum(len(document.text) for document in documents)
    if cited or not needed or size > LONGEST:
        return answer
    query_words = set(words(question)) - set(needed)
    counted: list[tuple[Passage, Counter[str]]] = []
    for document in documents:
        for start, end in sentence_spans(document.text, "en"):
            sentence = Passage.of(document, start, end)
            counted.append((sentence, Counter(words(sentence.text))))
    frequency = Counter(word for _, count in counted for word in set(count) & query_words)
    rarity = {word: math.log(1 + len(counted) / frequency[word]) for word in frequency}
    holding = [(sentence, count) for sentence, count in counted if count >= needed]
    if not holding:
        return answer
    best = max(holding, key=lambda pair: sum(rarity[word] for word in query_words & set(pair[1])))
    return f"{answer} {best[0].citation}"
