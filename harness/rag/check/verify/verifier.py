"""Verdicts by the trained classifier; values and names by the rules.

The classifier is a logistic regression over features, stored as JSON.
"""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from harness.rag.check.rules import RulesVerifier
from harness.rag.check.types import STATEMENT_TYPES, Claim, Evidence, Finding, Verdict
from harness.rag.check.verify.evidence import Source, States, encode_states, fill
from harness.rag.check.verify.features import features
from harness.rag.check.verify.reading import read
from harness.rag.retrieve import Document

# Share of a claim's words that a sentence must have before a difference contradicts it.
_ABOUT_THE_SAME = 0.6
_DOCUMENTS = 6  # that share most words with a claim are looked at
_REMEMBERED = 256  # documents whose reading is kept
WEIGHTS = Path(__file__).parent.parent / "weights" / "classifier.json"


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
    """Sentences by a classifier trained here, values and names by :class:`RulesVerifier`.

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
        self._sources: OrderedDict[str, Source] = OrderedDict()

    def verify(self, claims: Sequence[Claim], documents: Sequence[Document]) -> list[Finding]:
        """One finding for every claim, in their order."""
        readable = [document for document in documents if document.text.strip()]
        classified = [bool(readable) and claim.type in STATEMENT_TYPES for claim in claims]
        pairs = list(zip(claims, classified, strict=True))
        by_rules = [claim for claim, learned in pairs if not learned]
        ruled = iter(RulesVerifier().verify(by_rules, readable))
        judged = iter(self._judge([claim for claim, learned in pairs if learned], readable))
        return [next(judged) if learned else next(ruled) for learned in classified]

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
        best = max(comparisons, key=lambda each: each.probability)
        threshold = self._classifier.threshold
        if best.probability >= threshold:
            verdict, cited = Verdict.SUPPORTED, best
            confidence = 0.5 + (best.probability - threshold) / (1 - threshold) / 2
            reason = f"the documents say so (probability {best.probability:.2f})"
        else:
            cited = max(
                comparisons, key=lambda each: (each.features["cover_best"], each.features["cosine"])
            )
            confidence = 0.5 + (threshold - best.probability) / threshold / 2
            verdict = Verdict.NOT_FOUND
            reason = f"nothing says so clearly enough (probability {best.probability:.2f})"
            if difference := _difference(cited.features):
                verdict = Verdict.CONTRADICTED
                reason = f"the closest sentence differs: {difference}"
        start, end, text, _ = cited.source.sentences[cited.nearest[0]]
        evidence = Evidence(doc=cited.document.id, start=start, end=end, quote=text)
        return Finding(
            verdict=verdict,
            evidence=(evidence,),
            reason=reason,
            confidence=min(1.0, confidence),
        )

    def _source(self, text: str) -> Source:
        if text not in self._sources:
            self._sources[text] = Source(text)
            if len(self._sources) > _REMEMBERED:
                self._sources.popitem(last=False)
        self._sources.move_to_end(text)
        return self._sources[text]


def _most_shared(
    text: str, opened: Sequence[tuple[Document, Source]]
) -> Sequence[tuple[Document, Source]]:
    """Documents that share most words with a claim, in the order given."""
    if len(opened) <= _DOCUMENTS:
        return opened
    claim = read(text)
    shared = [sum(claim.stems[place] in source for place in claim.content) for _, source in opened]
    best = sorted(range(len(opened)), key=lambda number: -shared[number])[:_DOCUMENTS]
    return [opened[number] for number in sorted(best)]


def _difference(values: Mapping[str, float]) -> str:
    """What stands against a claim in the sentence that is about the same; "" for nothing."""
    if values["cover_best"] < _ABOUT_THE_SAME:
        return ""
    if values["values_missing"]:
        return "another value"
    if values["negations_added"] or values["negations_dropped"]:
        return "the opposite negation"
    if values["words_antonym"]:
        return "a word of opposite meaning"
    return "the opposite direction" if values["direction_flipped"] else ""
