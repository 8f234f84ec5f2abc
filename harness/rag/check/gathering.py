"""The documents of an index that an answer is to be checked against."""

from __future__ import annotations

from pathlib import Path

from harness.core import BadInput
from harness.rag.check.claims.detect import statements
from harness.rag.retrieve import Document

PASSAGES, MOST = 5, 20
"""Passages of each statement that are looked up; documents that are read in the end."""


def gather(folder: Path, answer: str, question: str = "") -> list[Document]:
    """Whole documents, by the passages closest to each statement of the answer, best first.

    Raises:
        BadInput: if the folder holds no index.
    """
    from harness.rag.retrieve import open_index

    index = open_index(folder)
    try:
        queries = [answer[start:end] for start, end in statements(answer)] or [answer]
        if question.strip():
            queries.insert(0, question)
        best: dict[str, float] = {}
        for query in queries:
            for rank, hit in enumerate(index.search(query, PASSAGES), start=1):
                best[hit.doc] = best.get(hit.doc, 0.0) + 1 / rank
        chosen = sorted(best, key=lambda doc: -best[doc])[:MOST]
        if not chosen:
            raise BadInput(f"the index in {str(folder)!r} holds no document to check against")
        return [index.document(doc) for doc in chosen]
    finally:
        index.close()
