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
from harness.rag.check.verify.evidence import Source, read
from harness.rag.retrieve import Document

_LEAST = 0.65
"""Share of a sentence's content words, chosen on the tuning parts of five sets."""
_NEAREST = 5  # sentences by BM25 that are compared
_REMEMBERED = 256  # documents whose reading is kept


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
        source, claim = self._source(document.text), read(text)
        wanted = claim.content_stems
        nearest = [source.sentences[place] for place in source.candidates(claim)[:_NEAREST]]
        shares = [
            sum(stem in each.reading.stems for stem in wanted) / max(1, len(wanted))
            for each in nearest
        ]
        share = max(shares) if wanted else 1.0
        closest = nearest[shares.index(max(shares))]
        quote = Evidence(
            doc=document.id, start=closest.start, end=closest.end, quote=closest.text
        )  # fmt: skip
        return Finding(
            verdict=Verdict.SUPPORTED if share >= _LEAST else Verdict.NOT_FOUND,
            evidence=(quote,),
            reason=f"the closest sentence has {share:.0%} of the words",
            confidence=0.5 + abs(share - _LEAST) / 2,
        )
