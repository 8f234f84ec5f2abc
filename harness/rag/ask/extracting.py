"""An answer without a model: the sentences of the passages that are closest to the question."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from harness.core import BadInput
from harness.rag.ask.finding import within
from harness.rag.ask.types import Citation
from harness.rag.retrieve import open_encoder, sentence_spans, terms

SENTENCES = 2
"""Sentences of an answer, at most."""
SHORTLIST = 24
"""Sentences, by their words, whose meaning is compared too."""
LEAST = 0.3
"""Share of the question's words, weighed by rarity, or likeness, below which nothing is said."""
NEAR = 0.85
"""A second sentence is given if its score is that share of the first one's."""
_ASKING = frozenset(
    [
        *("what", "which", "who", "whom", "whose", "when", "where", "why", "how", "do", "doe"),
        *("did", "is", "are", "was", "were", "have", "has", "had", "can", "could", "would"),
        *("should", "will", "there", "many", "much"),
    ]
)
"""Stems of words that ask, and say nothing of what is asked."""


class Scored(NamedTuple):
    """A sentence of a passage."""

    passage: Citation
    start: int
    end: int
    overlap: float
    score: float

    @property
    def text(self) -> str:
        """Verbatim."""
        return self.passage.text[self.start : self.end]


def extract(question: str, passages: Sequence[Citation]) -> list[Citation]:
    """The best sentences as citations, numbered from 1; none where nothing comes near.

    A sentence scores by the share of the question's words that it has, each weighed by how rare it
    is among the passages' sentences, and by the likeness of its meaning where an encoder is
    installed, both by halves.

    Args:
        question: not empty.
        passages: where to look.
    """
    ranked = _by_meaning(question, _by_words(question, passages))
    if not ranked or max(ranked[0].overlap, ranked[0].score) < LEAST:
        return []
    best = ranked[0]
    chosen = [best]
    for one in ranked[1:]:
        same = any(" ".join(one.text.split()) == " ".join(other.text.split()) for other in chosen)
        if len(chosen) < SENTENCES and one.score >= NEAR * best.score and not same:
            chosen.append(one)
    return [
        within(one.passage, one.start, one.end, number, post_hoc=False)
        for number, one in enumerate(chosen, start=1)
    ]


def _by_words(question: str, passages: Sequence[Citation]) -> list[Scored]:
    sentences = [
        (passage, start, end)
        for passage in passages
        for start, end in sentence_spans(passage.text)
        if re.search(r"\w", passage.text[start:end])
    ]
    bags = [
        set(terms(" ".join((*passage.headings, passage.text[start:end]))))
        for passage, start, end in sentences
    ]
    wanted = set(terms(question)) - _ASKING
    rarity = {
        term: math.log(1 + len(bags) / (1 + sum(term in bag for bag in bags))) for term in wanted
    }
    total = sum(rarity.values()) or 1.0
    found = [
        Scored(*place, share, share)
        for place, bag in zip(sentences, bags, strict=True)
        for share in [sum(rarity[term] for term in wanted & bag) / total]
    ]
    return sorted(found, key=lambda one: -one.overlap)


def _by_meaning(question: str, found: Sequence[Scored]) -> list[Scored]:
    """The shortlist, ordered by words and meaning; by words alone without an encoder."""
    try:
        encoder = open_encoder("local")
    except BadInput:
        return list(found)
    short = found[:SHORTLIST]
    if not short:
        return []
    [asked] = encoder.encode_queries([question])
    # One text a call: numpy does them, and no framework is imported for a few sentences.
    likeness = [float(encoder.encode([one.text])[0] @ asked) for one in short]
    scored = [
        one._replace(score=(one.overlap + max(0.0, alike)) / 2)
        for one, alike in zip(short, likeness, strict=True)
    ]
    return sorted(scored, key=lambda one: -one.score)
