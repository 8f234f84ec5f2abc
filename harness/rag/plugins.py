"""Plugins of the wing for the evolution: a verifier, a compressor and encoders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.rag.retrieve import Encoder


def contradiction(conclusion: str, text: str) -> str:
    """Explain why a text contradicts a conclusion drawn from it; "" where nothing speaks against
    it.

    Without a model: values by the numeric engine, sentences by rule. The policy is
    review-on-single: one wrong value, order or date, or two contradictions, refuse it.
    """
    from harness.rag.check import Outcome, Verdict, check

    report = check(conclusion, text, policy="review-on-single", verifier="rules")
    denied = [claim for claim in report.claims if claim.verdict is Verdict.CONTRADICTED]
    if report.verdict is not Outcome.FAIL or not denied:
        return ""
    return f"{denied[0].text[:60]!r}: {denied[0].reason}"


def relevant_spans(
    texts: Mapping[str, str], query: str, instruction: str, ratio: float
) -> dict[str, list[tuple[int, int]]]:
    """The spans of each text that matter for a query, (start, end) in characters, in order.

    Args:
        texts: name -> text.
        query: what is asked.
        instruction: what to keep and how it relates to the query.
        ratio: share of all texts together that is kept.
    """
    from harness.rag.compress import compress
    from harness.rag.retrieve import Document

    result = compress(
        [Document(id=name, text=text) for name, text in texts.items()],
        query,
        instruction=instruction,
        ratio=ratio,
        critic="lexical",
        markers="none",
        reversible=False,
    )
    spans: dict[str, list[tuple[int, int]]] = {name: [] for name in texts}
    for span in result.spans:
        spans[span.doc].append((span.start, span.end))
    return spans


def sentence_encoder() -> Encoder:
    """The packaged sentence encoder."""
    from harness.rag.retrieve import open_encoder

    return open_encoder("encoder")


def lexical_encoder() -> Encoder:
    """Hashed character n-grams, without a model."""
    from harness.rag.retrieve import open_encoder

    return open_encoder("lexical")
