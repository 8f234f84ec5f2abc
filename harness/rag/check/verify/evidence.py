"""A document as sentences, and which of them speak of a claim.

Everything is counted within one document, so that no other document changes what is found in it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from harness.rag.check.verify.lexicon import hypernyms, synonyms
from harness.rag.check.verify.reading import Reading, pairs, read
from harness.rag.check.verify.states import States, encode_states
from harness.rag.check.verify.values import Sizes, sizes
from harness.rag.retrieve import sentence_spans

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

_LEXICAL = 0.5
_K1, _B = 1.5, 0.75  # Robertson & Zaragoza 2009, as everywhere in the harness
CANDIDATES = 32
"""Sentences of a document that a claim's words choose; only these need vectors."""


@dataclass(frozen=True)
class Sentence:
    """One sentence of a document, with what is read of it."""

    start: int
    end: int
    text: str
    reading: Reading


class Source:
    """One document, read once and asked often; vectors of its sentences are made when needed.

    Args:
        text: with at least one visible character; see :func:`open_source`.
    """

    def __init__(self, text: str) -> None:
        import numpy as np

        self.sentences = tuple(
            Sentence(a, b, text[a:b], read(text[a:b])) for a, b in sentence_spans(text)
        )
        self.states: dict[int, States] = {}
        self._text = text
        lengths = np.array([len(one.reading.stems) for one in self.sentences], np.float32)
        norms = _K1 * (1 - _B + _B * lengths / max(1.0, float(lengths.mean())))
        postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for at, one in enumerate(self.sentences):
            for word, count in Counter(one.reading.stems).items():
                postings[word].append((at, count))
        self._postings = {
            word: _weighed(found, norms, len(self.sentences)) for word, found in postings.items()
        }

    def __contains__(self, stem: str) -> bool:
        return stem in self._postings

    @cached_property
    def values(self) -> Sizes:
        """Values anywhere in the document."""
        return sizes(self._text)

    @cached_property
    def related(self) -> frozenset[str]:
        """Stems with a meaning in common with a word of the document, or more general."""
        return frozenset[str]().union(*(synonyms(one) | hypernyms(one) for one in self._postings))

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Neighbouring stems anywhere in the document."""
        return frozenset(pair for one in self.sentences for pair in pairs(one.reading.stems))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Numbers anywhere in the document."""
        return frozenset(number for one in self.sentences for number in one.reading.numbers)

    def places(self, stem: str) -> frozenset[int]:
        """Sentences that hold a stem."""
        found = self._postings.get(stem)
        return frozenset(found[0].tolist()) if found else frozenset()

    def bm25(self, stems: Sequence[str]) -> Vectors:
        """BM25 of every sentence (Lucene's formula; Kamphuis et al. 2020)."""
        import numpy as np

        scores = np.zeros(len(self.sentences), np.float32)
        for stem in sorted(set(stems)):
            if found := self._postings.get(stem):
                scores[found[0]] += found[1]
        return scores

    def candidates(self, claim: Reading) -> list[int]:
        """Sentences whose vectors are compared with the claim's: the best ones by BM25."""
        import numpy as np

        scores = self.bm25([claim.stems[at] for at in claim.content])
        return [int(at) for at in np.argsort(-scores, kind="stable")[:CANDIDATES]]

    def best(self, claim: Reading, vector: Vectors, k: int) -> list[int]:
        """The k sentences that speak most of the claim, best first.

        The sum of BM25, divided by its largest value, and the cosine of the vectors.
        """
        lexical = self.bm25([claim.stems[at] for at in claim.content])
        scale = _LEXICAL / max(1e-6, float(lexical.max()))
        chosen = self.candidates(claim)
        fill([(self, chosen)])
        scores = {at: float(self.states[at].sentence @ vector + scale * lexical[at])
                  for at in chosen}  # fmt: skip
        return sorted(chosen, key=lambda at: -scores[at])[:k]


def _weighed(
    found: Sequence[tuple[int, int]], norms: Vectors, sentences: int
) -> tuple[NDArray[np.int64], Vectors]:
    """Places of a stem, and what it adds to the score of each."""
    import numpy as np

    places = np.array([at for at, _ in found])
    counts = np.array([count for _, count in found], np.float32)
    idf = np.log(1 + (sentences - len(found) + 0.5) / (len(found) + 0.5))
    return places, (idf * counts / (counts + norms[places])).astype(np.float32)


def open_source(text: str) -> Source | None:
    """A document to ask; None for one without a visible character.

    Raises:
        BadInput: if the packages of the sentence splitter are not installed.
    """
    return Source(text) if text.strip() else None


def fill(wanted: Iterable[tuple[Source, Iterable[int]]]) -> None:
    """Make the missing vectors of sentences, all at once.

    Raises:
        BadInput: if the packages of the encoder are not installed.
    """
    missing = list(
        dict.fromkeys(
            (source, at) for source, places in wanted for at in places if at not in source.states
        )
    )
    states = encode_states([source.sentences[at].text for source, at in missing])
    for (source, at), one in zip(missing, states, strict=True):
        source.states[at] = one
