"""Verdicts on prose by word overlap with the closest sentence: the simplest check, and the default.

A trained classifier without a language model is not reliably better at sentences than this, on
documents that it was not fitted to (`docs/concepts/checking-verdicts.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from harness.rag.check.numbers import read as read_values
from harness.rag.check.rules import RulesVerifier
from harness.rag.check.types import STATEMENT_TYPES, Claim, Evidence, Finding, Verdict
from harness.rag.check.verify.evidence import Reading, Sentence, Source, read
from harness.rag.retrieve import Document

_LEAST = 0.65
"""Share of a sentence's content words, chosen on the tuning parts of five sets."""
_NEAREST = 5  # sentences by BM25 that are compared
_REMEMBERED = 256  # documents whose reading is kept


def closest_sentence(claim: Reading, source: Source) -> tuple[float, Sentence]:
    """The sentence that has most of a claim's content words, and the share of them that it has; 1
    of a claim without any."""
    wanted = claim.content_stems
    nearest = [source.sentences[place] for place in source.candidates(claim)[:_NEAREST]]
    counts = [sum(stem in each.reading.stems for stem in wanted) for each in nearest]
    most = max(counts)
    return most / len(wanted) if wanted else 1.0, nearest[counts.index(most)]


class OverlapVerifier:
    """Sentences without values are supported where one sentence of a document has most of their
    content words; values, names and differences of wording are judged by :class:`RulesVerifier`."""

    name = "overlap"

    def __init__(self) -> None:
        self._source = lru_cache(_REMEMBERED)(Source)

    def verify(self, claims: Sequence[Claim], documents: Sequence[Document]) -> list[Finding]:
        """One finding for every claim, in their order."""
        readable = [document for document in documents if document.text.strip()]
        return self.prose(claims, RulesVerifier().verify(claims, readable), readable)

    def prose(
        self, claims: Sequence[Claim], findings: Sequence[Finding], documents: Sequence[Document]
    ) -> list[Finding]:
        """Findings of the rules, those on sentences without values and differences replaced."""
        judged = list(findings)
        for number, claim in enumerate(claims):
            text = claim.sentence or claim.text
            undecided = judged[number].verdict in (Verdict.SUPPORTED, Verdict.NOT_FOUND)
            if undecided and claim.type in STATEMENT_TYPES and not read_values(text):
                best = (self._overlap(text, document) for document in documents)
                judged[number] = max(best, key=lambda each: each.verdict is Verdict.SUPPORTED)
        return judged

    def _overlap(self, text: str, document: Document) -> Finding:
        share, closest = closest_sentence(read(text), self._source(document.text))
        quote = Evidence(
            doc=document.id, start=closest.start, end=closest.end, quote=closest.text
        )  # fmt: skip
        return Finding(
            verdict=Verdict.SUPPORTED if share >= _LEAST else Verdict.NOT_FOUND,
            evidence=(quote,),
            reason=f"the closest sentence has {share:.0%} of the words",
            confidence=0.5 + abs(share - _LEAST) / 2,
        )
