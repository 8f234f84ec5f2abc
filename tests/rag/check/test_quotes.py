"""A quote that is not in the documents is no evidence."""

from __future__ import annotations

from harness.rag.check.blind import locate
from harness.rag.check.checking import verbatim_only
from harness.rag.check.types import Evidence, Finding, Verdict
from harness.rag.retrieve import Document

TEXT = "First line.\nThe pump \u201cAlpha\u201d was\nreplaced in 2019."
DOCUMENTS = [Document("other", "Nothing here."), Document("doc", TEXT)]


def test_a_quote_is_found_with_other_spaces_and_marks() -> None:
    for quote in ('The pump "Alpha" was replaced', "the pump \u201cAlpha\u201d was\nreplaced..."):
        found = locate(quote, DOCUMENTS)
        assert found is not None
        assert (found.doc, TEXT[found.start : found.end]) == ("doc", found.quote)
        finding = Finding(
            verdict=Verdict.SUPPORTED, evidence=(found,), reason="it says so", confidence=0.9
        )
        assert verbatim_only(finding, DOCUMENTS) is finding


def test_what_is_not_there_is_not_found() -> None:
    assert locate("The pump was replaced in 2020", DOCUMENTS) is None
    assert locate("  ", DOCUMENTS) is None


def test_a_finding_without_true_evidence_becomes_invalid() -> None:
    false = Evidence(doc="doc", start=0, end=5, quote="Fists")
    finding = Finding(
        verdict=Verdict.SUPPORTED, evidence=(false,), reason="it says so", confidence=0.9
    )
    assert verbatim_only(finding, DOCUMENTS).verdict is Verdict.INVALID
    true = Evidence(doc="doc", start=0, end=5, quote="First")
    both = finding.model_copy(update={"evidence": (false, true)})
    kept = verbatim_only(both, DOCUMENTS)
    assert (kept.verdict, kept.evidence) == (Verdict.SUPPORTED, (true,))
