"""Verdicts on prose by word overlap with the closest sentence: the simplest check, and the default.

A trained classifier without a language model was not reliably better at sentences than this, on
documents that it was not fitted to (`docs/concepts/checking-verdicts.md`). Everything is counted
within one document, so that no other document changes what is found in it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.rag.check.numbers import BASE_FORMS
from harness.rag.check.numbers import Source as Parsed
from harness.rag.check.numbers import read as read_values
from harness.rag.check.rules import Line, RulesVerifier
from harness.rag.check.types import STATEMENT_TYPES, Claim, Evidence, Finding, Verdict
from harness.rag.check.wording import another
from harness.rag.retrieve import Document, sentence_spans, terms

_LEAST = 0.65
"""Share of a sentence's content words, chosen on the tuning parts of five sets."""
_NEAREST = 5  # sentences by BM25 that are compared
_REMEMBERED = 256  # documents whose reading is kept
_K1, _B = 1.5, 0.75  # Robertson & Zaragoza 2009

WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*|\d+(?:[.,:/]\d+)*|[%$\u20ac\u00a3]")
"""A word, a number with its separators, or a sign that gives a number its meaning."""
_FUNCTION_WORDS = """
a an the and or but if of in on at by for with from to into onto than then that this these
those it its it's is are was were be been being am do does did done has have had having he she
they him their her hers them theirs his we us our you your i me my who whom whose which what
when where how why as so such there here also too very just about over under after before
during between through up down out off again can could may might must shall should will would
not no nor own same s t re ve ll d 's each both any all some most more less other another
while because until although though however
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())


@lru_cache(maxsize=1 << 18)
def stem(word: str) -> str:
    """Stem of one word, in lower case; a number or sign stays as it is."""
    lower = word.lower().replace("\u2019", "'").removesuffix("'s")
    lower = BASE_FORMS.get(lower, lower)
    stemmed = terms(lower) if lower.isalpha() else []
    return stemmed[0] if len(stemmed) == 1 else lower


@dataclass(frozen=True)
class Reading:
    """A sentence as words.

    Attributes:
        words: verbatim, in order.
        stems: of the words.
    """

    words: tuple[str, ...]
    stems: tuple[str, ...]

    @cached_property
    def content_stems(self) -> tuple[str, ...]:
        """Stems of the words that carry the statement: no function words, no signs."""
        return tuple(
            stem
            for word, stem in zip(self.words, self.stems, strict=True)
            if word.lower() not in FUNCTION_WORDS and word[0].isalnum()
        )


@lru_cache(maxsize=1 << 12)
def read(text: str) -> Reading:
    """The words of a sentence; those of the last few thousand texts are kept."""
    words = tuple(WORD.findall(text))
    return Reading(words, tuple(map(stem, words)))


class Sentence(NamedTuple):
    """One sentence of a document, with what is read of it."""

    start: int
    end: int
    text: str
    reading: Reading


class Source:
    """One document, read once and asked often.

    Args:
        text: with at least one visible character.
    """

    def __init__(self, text: str) -> None:
        self.sentences = tuple(
            Sentence(a, b, text[a:b], read(text[a:b])) for a, b in sentence_spans(text)
        )
        lengths = np.array([len(sentence.reading.stems) for sentence in self.sentences], np.float32)
        norms = _K1 * (1 - _B + _B * lengths / max(1.0, float(lengths.mean())))
        by_stem: dict[str, dict[int, int]] = defaultdict(dict)
        for index, sentence in enumerate(self.sentences):
            for stem, count in Counter(sentence.reading.stems).items():
                by_stem[stem][index] = count
        self._postings: dict[str, tuple[NDArray[np.int64], NDArray[np.float32]]] = {}
        for stem, counted in by_stem.items():  # places of a stem, and its share of their scores
            where = np.array(list(counted))
            counts = np.array(list(counted.values()), np.float32)
            idf = np.log(1 + (len(self.sentences) - len(counts) + 0.5) / (len(counts) + 0.5))
            share = (idf * counts / (counts + norms[where])).astype(np.float32)
            self._postings[stem] = where, share

    def __contains__(self, stem: str) -> bool:
        return stem in self._postings

    def bm25(self, claim: Reading) -> NDArray[np.float32]:
        """BM25 of every sentence (Lucene's formula; Kamphuis et al. 2020)."""
        scores = np.zeros(len(self.sentences), np.float32)
        for stem in sorted(self._postings.keys() & claim.content_stems):
            rows, shares = self._postings[stem]
            scores[rows] += shares
        return scores

    def nearest(self, claim: Reading, count: int = _NEAREST) -> list[int]:
        """Places of the sentences that speak most of a claim by BM25, best first."""
        return np.argsort(-self.bm25(claim), kind="stable")[:count].tolist()


_opened = lru_cache(_REMEMBERED)(Source)


def closest_sentence(claim: Reading, source: Source) -> tuple[float, Sentence]:
    """The sentence that has most of a claim's content words, and the share of them that it has; 1
    of a claim without any."""
    stems = claim.content_stems
    nearest = [source.sentences[index] for index in source.nearest(claim)]
    counts = [sum(stem in sentence.reading.stems for stem in stems) for sentence in nearest]
    most = max(counts)
    return most / len(stems) if stems else 1.0, nearest[counts.index(most)]


class OverlapVerifier(RulesVerifier):
    """Sentences without values are supported where one sentence of a document has most of their
    content words; all else is judged as by :class:`RulesVerifier`."""

    name = "overlap"

    def on_words(self, claim: Claim, lines: list[Line], sources: Sequence[Parsed]) -> Finding:
        """By overlap, where the rules find no contradiction."""
        finding = super().on_words(claim, lines, sources)
        text = claim.sentence or claim.text
        undecided = finding.verdict in (Verdict.SUPPORTED, Verdict.NOT_FOUND)
        if not undecided or claim.type not in STATEMENT_TYPES or read_values(text):
            return finding
        best = (self._overlap(text, source.document) for source in sources)
        return max(best, key=lambda candidate: candidate.verdict is Verdict.SUPPORTED)

    def _overlap(self, text: str, document: Document) -> Finding:
        share, closest = closest_sentence(read(text), _opened(document.text))
        supported = share >= _LEAST
        difference = another(text, closest.text, closest.start, document.text) if supported else ""
        verdict = Verdict.SUPPORTED if supported else Verdict.NOT_FOUND
        quote = Evidence(
            doc=document.id, start=closest.start, end=closest.end, quote=closest.text
        )  # fmt: skip
        reason = f"the closest sentence has {share:.0%} of the words"
        return Finding(
            verdict=Verdict.CONTRADICTED if difference else verdict,
            evidence=(quote,),
            reason=f"{reason}, of {difference!r}" if difference else reason,
            confidence=0.5 + abs(share - _LEAST) / 2,
        )
