"""Verdicts by the trained classifier; values and names by the rules.

The classifier is a logistic regression, stored as JSON, over what claim and document share.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache
from heapq import nlargest
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import TypeAdapter

from harness.rag.check.numbers import Agreement, Mention, agreement
from harness.rag.check.numbers import read as read_values
from harness.rag.check.rules import RulesVerifier
from harness.rag.check.types import FAULTS, STATEMENT_TYPES, Claim, Evidence, Finding, Verdict
from harness.rag.check.verify.evidence import (
    ABSOLUTES,
    HEDGES,
    NEGATIONS,
    Reading,
    Sentence,
    Sizes,
    Source,
    States,
    Vectors,
    encode_states,
    fill,
    read,
    related,
)
from harness.rag.retrieve import Document

WEIGHTS = Path(__file__).parent.parent / "weights" / "classifier.json"
_NEAREST = 5  # sentences of a document that a claim is compared with
_DOCUMENTS = 6  # that share most words with a claim are looked at
# Confidence from which a fault stands against sentences that share enough words.
_CERTAIN = 0.65
_REMEMBERED = 256  # documents whose reading is kept
# Share of a claim's words that a sentence must have before a difference contradicts it.
_ABOUT_THE_SAME = 0.6
# What contradicts a claim in the sentence that is about the same, the first one that applies.
_DIFFERENCES = {
    "values_missing": "another value",
    "negations_added": "the opposite negation",
    "negations_dropped": "the opposite negation",
    "words_antonym": "a word of opposite meaning",
    "direction_flipped": "the opposite direction",
}


@dataclass(frozen=True)
class Classifier:
    """A linear model.

    Attributes:
        names: of the features.
        means: of the features where it was trained.
        scales: their standard deviations.
        weights: one a feature.
        bias: added.
        threshold: probability from which a claim is supported, chosen on the tuning parts.
    """

    names: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    threshold: float

    def probability(self, features: Mapping[str, float]) -> float:
        """That a claim with these features is supported."""
        score = self.bias + sum(
            weight * (features[name] - mean) / scale
            for name, mean, scale, weight in zip(
                self.names, self.means, self.scales, self.weights, strict=True
            )
        )
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))


def pooled(sentences: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Features of a claim of several sentences: mean, least and most of each."""
    pool: dict[str, float] = {}
    for name in sentences[0]:
        values = [sentence[name] for sentence in sentences]
        pool[f"{name}.mean"] = sum(values) / len(values)
        pool[f"{name}.least"] = min(values)
        pool[f"{name}.most"] = max(values)
    return pool


@cache
def packaged_classifier() -> Classifier:
    """The one that ships, trained by `harness.train.verifier`."""
    stored = json.loads(WEIGHTS.read_text(encoding="utf-8"))["classifier"]
    return TypeAdapter(Classifier).validate_python(stored)


class _Comparison(NamedTuple):
    """What one document says to a claim."""

    document: Document
    source: Source
    probability: float
    features: Mapping[str, float]
    nearest: Sequence[int]


class TrainedVerifier:
    """Sentences without values by a classifier trained here, unless the rules find a difference;
    the rest by :class:`RulesVerifier`, so that right values are never turned into a failure.

    Every document is looked at alone and the best support counts, so that a document more cannot
    take support away. Readings of documents are kept for the next call.

    Args:
        classifier: default: the packaged one.

    Raises:
        BadInput: on first use, if the packages of the encoder are not installed.
    """

    name = "trained"

    def __init__(self, classifier: Classifier | None = None) -> None:
        self._classifier = classifier or packaged_classifier()
        self._source = lru_cache(_REMEMBERED)(Source)

    def verify(self, claims: Sequence[Claim], documents: Sequence[Document]) -> list[Finding]:
        """One finding for every claim, in their order."""
        readable = [document for document in documents if document.text.strip()]
        findings = dict(enumerate(RulesVerifier().verify(claims, readable)))
        doubtful = {
            number: claim
            for number, claim in enumerate(claims)
            if claim.type in STATEMENT_TYPES
            and findings[number].verdict in (Verdict.SUPPORTED, Verdict.NOT_FOUND)
            and not read_values(claim.sentence or claim.text)
        }
        if doubtful and readable:
            learned = self._judge([*doubtful.values()], readable)
            for number, finding in zip(doubtful, learned, strict=True):
                unsure = finding.verdict in FAULTS and finding.confidence < _CERTAIN
                if not (unsure and findings[number].verdict is Verdict.SUPPORTED):
                    findings[number] = finding
        return [findings[number] for number in range(len(claims))]

    def index(self, documents: Sequence[Document]) -> None:
        """Read documents, with all vectors, before the first claim comes."""
        sources = [self._source(document.text) for document in documents if document.text.strip()]
        fill((source, range(len(source.sentences))) for source in sources)

    def _judge(self, claims: Sequence[Claim], documents: Sequence[Document]) -> list[Finding]:
        opened = [(document, self._source(document.text)) for document in documents]
        texts = [claim.sentence or claim.text for claim in claims]
        chosen = [_most_shared(text, opened) for text in texts]
        fill(
            (source, source.candidates(read(text)))
            for text, sources in zip(texts, chosen, strict=True)
            for _, source in sources
        )
        states = encode_states(texts)
        return [
            self._finding([self._compare(text, vectors, *pair) for pair in sources])
            for text, vectors, sources in zip(texts, states, chosen, strict=True)
        ]

    def _compare(
        self, text: str, states: States, document: Document, source: Source
    ) -> _Comparison:
        values, nearest = features(text, states, source)
        probability = self._classifier.probability(pooled([values]))
        if values["values_missing"]:  # the numeric layer comes first
            probability = min(probability, self._classifier.threshold / 2)
        return _Comparison(document, source, probability, values, nearest)

    def _finding(self, comparisons: Sequence[_Comparison]) -> Finding:
        threshold = self._classifier.threshold
        cited = max(comparisons, key=lambda each: each.probability)
        probability = cited.probability
        if probability >= threshold:
            verdict = Verdict.SUPPORTED
            confidence = 0.5 + (probability - threshold) / (1 - threshold) / 2
            reason = f"the documents say so (probability {probability:.2f})"
        else:
            verdict = Verdict.NOT_FOUND
            confidence = 0.5 + (threshold - probability) / threshold / 2
            reason = f"nothing says so clearly enough (probability {probability:.2f})"
            cited = max(
                comparisons, key=lambda each: (each.features["cover_best"], each.features["cosine"])
            )
            differences = [text for name, text in _DIFFERENCES.items() if cited.features[name]]
            if differences and cited.features["cover_best"] >= _ABOUT_THE_SAME:
                verdict = Verdict.CONTRADICTED
                reason = f"the closest sentence differs: {differences[0]}"
        start, end, text, _ = cited.source.sentences[cited.nearest[0]]
        evidence = Evidence(doc=cited.document.id, start=start, end=end, quote=text)
        return Finding(
            verdict=verdict,
            evidence=(evidence,),
            reason=reason,
            confidence=min(1.0, confidence),
        )


def _most_shared(
    text: str, opened: Sequence[tuple[Document, Source]]
) -> list[tuple[Document, Source]]:
    """Documents that share most words with a claim, in the order given."""
    stems = read(text).content_stems
    shared = [sum(stem in source for stem in stems) for _, source in opened]
    best = nlargest(_DOCUMENTS, range(len(opened)), key=shared.__getitem__)
    return [opened[number] for number in sorted(best)]


def features(text: str, states: States, source: Source) -> tuple[dict[str, float], list[int]]:
    """Features of a sentence of a claim against a document, and the sentences they look at."""
    claim = read(text)
    nearest = source.best(claim, states.sentence, _NEAREST)
    chosen = [source.sentences[place] for place in nearest]
    return {
        **_coverage(claim, source, chosen),
        **_copying(claim, source, chosen),
        **_polarity(claim, chosen),
        **_lexical(claim, chosen),
        **_vectors(states, [source.states[place] for place in nearest]),
        "values_missing": min(3, len(missing_values(text, source.values))),
        "words": min(60, len(claim.words)) / 60,
        "sentences": min(100, len(source.sentences)) / 100,
    }, nearest


def missing_values(claim: str, sizes: Sizes) -> list[Mention]:
    """Values written in digits that agree with none of a document's, by size alone.

    Which of two wordings is second is no question of numbers. Numbers in words are first out too: a
    summary counts what its document lists.

    Args:
        claim: its text.
        sizes: :attr:`Source.values` of the document.
    """
    missing: list[Mention] = []
    for mention in read_values(claim):
        size = mention.size
        if not re.search(r"\d", mention.text) or size.key in sizes:
            continue  # the key is looked up first: comparing with hundreds of values takes a while
        if all(agreement(size, stated) is not Agreement.SAME for stated in sizes.values()):
            missing.append(mention)
    return missing


def _share(part: float, total: float, empty: float = 1.0) -> float:
    return part / total if total else empty


def _coverage(claim: Reading, source: Source, chosen: Sequence[Sentence]) -> dict[str, float]:
    content = claim.content_stems
    names, dates = (
        [claim.stems[place] for place in places] for places in (claim.names, claim.dates)
    )
    sets = [frozenset(sentence.reading.stems) for sentence in chosen]
    joined = frozenset[str]().union(*sets)
    top = [sum(word in stems for word in content) for stems in sets]
    couples = [sum(word in sets[0] | stems for word in content) for stems in sets[1:3]]
    near = frozenset(number for sentence in chosen for number in sentence.reading.numbers)
    first = frozenset(chosen[0].reading.numbers)
    missing = [word for word in content if word not in source]
    return {
        "cover_document": _share(len(content) - len(missing), len(content)),
        "cover_best": _share(max(top), len(content)),
        "cover_pair": _share(max(couples or top[:1]), len(content)),
        "cover_nearest": _share(sum(word in joined for word in content), len(content)),
        "missing": min(8, len(missing)),
        "missing_unrelated": min(8, sum(word not in source.related for word in missing)),
        "names": min(6, len(names)),
        "names_missing": min(6, sum(word not in source for word in names)),
        "names_far": _share(sum(word not in joined for word in names), len(names), 0),
        "names_beside_best": _share(sum(word not in sets[0] for word in names), len(names), 0),
        "dates_missing": min(3, sum(word not in source for word in dates)),
        "numbers": min(5, len(claim.numbers)),
        "numbers_missing": min(4, sum(number not in source.numbers for number in claim.numbers)),
        "numbers_far": min(4, sum(number not in near for number in claim.numbers)),
        "numbers_beside_best": min(4, sum(number not in first for number in claim.numbers)),
    }


def _copying(claim: Reading, source: Source, chosen: Sequence[Sentence]) -> dict[str, float]:
    """How much is copied and in what order (Grusky et al. 2018: coverage and density)."""
    neighbours = list(pairwise(claim.stems))
    runs = [
        [
            block.size
            for block in _matcher(claim.stems, sentence.reading.stems).get_matching_blocks()
        ]
        for sentence in chosen[:3]
    ]
    apart = [
        not source.places(first) & source.places(second)
        for first, second in pairwise(claim.content_stems)
        if first in source and second in source
    ]
    words = max(1, len(claim.stems))
    return {
        "pairs": _share(sum(pair in source.pairs for pair in neighbours), len(neighbours)),
        "longest_copy": max(map(max, runs)) / words,
        "in_order": max(map(sum, runs)) / words,
        "density": max(sum(size * size for size in sizes) for sizes in runs) / words**2,
        "fragments": min(sum(size > 0 for size in sizes) for sizes in runs) / words,
        "never_together": _share(sum(apart), len(apart), 0),
    }


def _matcher(first: Sequence[str], second: Sequence[str]) -> SequenceMatcher[str]:
    return SequenceMatcher(None, first, second, autojunk=False)


def _polarity(claim: Reading, chosen: Sequence[Sentence]) -> dict[str, float]:
    best = chosen[0].reading
    negations = claim.count(NEGATIONS) - best.count(NEGATIONS)
    anywhere = max(sentence.reading.count(NEGATIONS) for sentence in chosen[:3])
    hedges = claim.count(HEDGES) - best.count(HEDGES)
    return {
        "negations": min(3, claim.count(NEGATIONS)),
        "negations_added": max(0, min(2, negations)),
        "negations_new": float(claim.count(NEGATIONS) > 0 and anywhere == 0),
        "negations_dropped": max(0, min(2, -negations)),
        "direction_flipped": float(claim.direction * best.direction < 0),
        "absolutes_added": max(0, claim.count(ABSOLUTES) - best.count(ABSOLUTES)),
        "hedges_added": max(0, hedges),
        "hedges_dropped": max(0, -hedges),
    }


def _lexical(claim: Reading, chosen: Sequence[Sentence]) -> dict[str, float]:
    """Substitutions in the alignment with the best sentences, by the relation of the words."""
    kinds = ("antonym", "antonym_anywhere", "synonym", "wider", "replaced", "inserted", "kind")
    counts = dict.fromkeys(kinds, 0.0)
    joined = frozenset(stem for sentence in chosen[:3] for stem in sentence.reading.stems)
    for word in claim.content_stems:
        if word in joined:
            continue
        general = [related(stem, "wider") for stem in joined]
        counts["antonym_anywhere"] += bool(related(word, "opposite") & joined)
        counts["synonym"] += bool(related(word, "same") & joined)
        counts["wider"] += any(word in stems for stems in general)
        counts["kind"] += any(related(word, "wider") & stems for stems in general)
    best = chosen[0].reading
    for name, a, b, c, d in _matcher(best.stems, claim.stems).get_opcodes():
        new = [claim.stems[place] for place in range(c, d) if place in claim.content]
        old = set(best.stems[a:b])
        if name == "replace":
            counts["replaced"] += sum(word not in old for word in new)
            counts["antonym"] += sum(bool(related(word, "opposite") & old) for word in new)
        elif name == "insert":
            counts["inserted"] += len(new)
    return {f"words_{name}": min(8.0, count) for name, count in counts.items()}


def _vectors(claim: States, nearest: Sequence[States]) -> dict[str, float]:
    """Cosines of sentences and of tokens in context (greedy matching, Zhang et al. 2020)."""
    cosines = [float(states.sentence @ claim.sentence) for states in nearest]
    joined = np.sum([states.sentence for states in nearest[:2]], axis=0)
    tokens = claim.tokens.astype(np.float32)
    against = np.concatenate([states.tokens for states in nearest]).astype(np.float32)
    best = novel = np.ones(1, np.float32)
    if len(tokens) and len(against):
        matched = (tokens @ against.T).max(axis=1)
        pieces = frozenset(piece for states in nearest for piece in states.pieces)
        best = _of_long_pieces(matched, claim.pieces, frozenset())
        novel = _of_long_pieces(matched, claim.pieces, pieces)
    return {
        "cosine": cosines[0],
        "cosine_max": max(cosines),
        "cosine_pair": float(joined @ claim.sentence / max(1e-6, float(np.linalg.norm(joined)))),
        "token_mean": float(best.mean()),
        "token_min": float(best.min()),
        "token_low": float(np.quantile(best, 0.2)),
        "token_weak": float((best < 0.5).mean()),
        "novel_mean": float(novel.mean()),
        "novel_min": float(novel.min()),
    }


def _of_long_pieces(matched: Vectors, pieces: Sequence[str], familiar: frozenset[str]) -> Vectors:
    """Of the pieces of four letters and more that are not familiar; 1 where there is none."""
    chosen = np.array([len(piece) > 3 and piece not in familiar for piece in pieces], bool)
    return matched[chosen] if chosen.any() else np.ones(1, np.float32)
