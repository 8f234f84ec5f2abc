"""Verdicts by the trained classifier; values and names by the rules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.rag.check.rules import RulesVerifier
from harness.rag.check.types import Claim, Evidence, Finding, Verdict
from harness.rag.check.verify.evidence import Source, fill, open_source
from harness.rag.check.verify.features import features
from harness.rag.check.verify.model import Classifier, packaged_classifier, pooled
from harness.rag.check.verify.reading import read
from harness.rag.check.verify.states import States, encode_states
from harness.rag.retrieve import Document

BY_RULES = ("number", "cell", "derived", "date", "entity")
"""Types of claims that span a value or a name alone: the rules look it up."""
ABOUT_THE_SAME = 0.6
"""Share of a claim's words that a sentence must have before a difference contradicts it."""
_DOCUMENTS = 6  # that share most words with a claim are looked at
_KEPT = 256  # documents whose reading is kept


@dataclass(frozen=True)
class _Look:
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
        self._rules = RulesVerifier()
        self._sources: OrderedDict[str, Source | None] = OrderedDict()

    def verify(self, claims: Sequence[Claim], documents: Sequence[Document]) -> list[Finding]:
        """One finding for every claim, in their order."""
        readable = [one for one in documents if one.text.strip()]
        looked_up = [one for one in claims if not readable or one.type in BY_RULES]
        ruled = iter(self._rules.verify(looked_up, readable))
        rest = [one for one in claims if readable and one.type not in BY_RULES]
        judged = iter(self._judge(rest, readable))
        return [
            next(ruled) if not readable or one.type in BY_RULES else next(judged) for one in claims
        ]

    def index(self, documents: Sequence[Document]) -> None:
        """Read documents, with all vectors, before the first claim comes."""
        sources = [source for one in documents if (source := self._source(one.text))]
        fill((one, range(len(one.sentences))) for one in sources)

    def _judge(self, claims: Sequence[Claim], documents: Sequence[Document]) -> list[Finding]:
        opened = [(one, source) for one in documents if (source := self._source(one.text))]
        texts = [one.sentence or one.text for one in claims]
        chosen = [_most_shared(text, opened) for text in texts]
        fill(
            (source, source.candidates(read(text)))
            for text, own in zip(texts, chosen, strict=True)
            for _, source in own
        )
        states = encode_states(texts)
        return [
            self._finding([self._look(text, vectors, *one) for one in own])
            for text, vectors, own in zip(texts, states, chosen, strict=True)
        ]

    def _look(self, text: str, states: States, document: Document, source: Source) -> _Look:
        found, nearest = features(text, states, source)
        probability = self._classifier.probability(pooled([found]))
        if found["values_missing"]:  # the numeric layer comes first
            probability = min(probability, self._classifier.threshold / 2)
        return _Look(document, source, probability, found, nearest)

    def _finding(self, looks: Sequence[_Look]) -> Finding:
        best = max(looks, key=lambda one: one.probability)
        threshold = self._classifier.threshold
        if best.probability >= threshold:
            sure = (best.probability - threshold) / (1 - threshold)
            reason = f"the documents say so (probability {best.probability:.2f})"
            return _found(Verdict.SUPPORTED, best, reason, 0.5 + sure / 2)
        closest = max(looks, key=lambda one: (one.features["cover_best"], one.features["cosine"]))
        sure = 0.5 + (threshold - best.probability) / threshold / 2
        difference = _difference(closest.features)
        if difference:
            reason = f"the closest sentence differs: {difference}"
            return _found(Verdict.CONTRADICTED, closest, reason, sure)
        reason = f"nothing says so clearly enough (probability {best.probability:.2f})"
        return _found(Verdict.NOT_FOUND, closest, reason, sure)

    def _source(self, text: str) -> Source | None:
        if text not in self._sources:
            self._sources[text] = open_source(text)
            while len(self._sources) > _KEPT:
                self._sources.popitem(last=False)
        self._sources.move_to_end(text)
        return self._sources[text]


def _most_shared(
    text: str, opened: Sequence[tuple[Document, Source]]
) -> Sequence[tuple[Document, Source]]:
    """Documents that share most words with a claim, in the order given."""
    if len(opened) <= _DOCUMENTS:
        return opened
    reading = read(text)
    shared = [sum(reading.stems[at] in source for at in reading.content) for _, source in opened]
    kept = sorted(range(len(opened)), key=lambda at: -shared[at])[:_DOCUMENTS]
    return [opened[at] for at in sorted(kept)]


def _difference(found: Mapping[str, float]) -> str:
    """What stands against a claim in the sentence that is about the same; "" for nothing."""
    if found["cover_best"] < ABOUT_THE_SAME:
        return ""
    if found["values_missing"]:
        return "another value"
    if found["negations_added"] or found["negations_dropped"]:
        return "the opposite negation"
    if found["words_antonym"]:
        return "a word of opposite meaning"
    return "the opposite direction" if found["direction_flipped"] else ""


def _found(verdict: Verdict, look: _Look, reason: str, confidence: float) -> Finding:
    sentence = look.source.sentences[look.nearest[0]]
    evidence = Evidence(
        doc=look.document.id, start=sentence.start, end=sentence.end, quote=sentence.text
    )
    return Finding(
        verdict=verdict, evidence=(evidence,), reason=reason, confidence=min(1.0, confidence)
    )
