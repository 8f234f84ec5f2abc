"""Many answers at once, in rows as users of RAGAS and RAGChecker have them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from harness.core import BadInput, Value, read_rows
from harness.rag.check.checking import check, no_verdict
from harness.rag.check.rollouts import Rollout
from harness.rag.check.types import PolicyName, Report, Verifier
from harness.rag.retrieve import Document

# What others call the fields of a row.
_NAMES = {
    "answer": ("answer", "response", "output"),
    "question": ("question", "user_input", "query"),
    "contexts": ("contexts", "retrieved_contexts", "retrieved_context", "context", "documents"),
    "reference": ("reference", "ground_truth", "gt_answer"),
}


class Row(Value):
    """One row.

    Attributes:
        id: as the row gives it, else its line number.
        answer: the text to check; empty where the row has none.
        contexts: texts that it should rest on.
        question: what was asked.
        reference: the expected answer; kept for readers, never shown to a checker.
    """

    id: str
    answer: str
    contexts: tuple[str, ...]
    question: str = ""
    reference: str = ""

    @property
    def missing(self) -> str:
        """Name what a check of the row would need and it lacks; "" for nothing."""
        if not self.answer.strip():
            return "answer"
        return "" if any(text.strip() for text in self.contexts) else "context"

    @property
    def documents(self) -> list[Document]:
        """The contexts as documents `context-1`, `context-2`, ..."""
        return [Document(f"context-{n}", text) for n, text in enumerate(self.contexts, start=1)]


class BatchReport(Row):
    """A row with its report, and what the roles said on the way to it."""

    report: Report
    rollouts: tuple[Rollout, ...] = ()


def read_batch(path: Path) -> list[Row]:
    """Rows of a JSONL file; other common names of the fields are understood.

    Raises:
        BadInput: if a line is no object, or a field has the wrong type; the line is named.
    """
    rows: list[Row] = []
    for number, row in read_rows(path):
        values: dict[str, Any] = {
            field: next(
                (row[name] for name in names if row.get(name) is not None),
                list[Any]() if field == "contexts" else "",
            )
            for field, names in _NAMES.items()
        }
        contexts = values.pop("contexts")
        for field, value in values.items():
            if not isinstance(value, str):
                raise BadInput(f"{path}:{number}: {field}: expected text, got {value!r:.60}")
        if not isinstance(contexts, str | list):
            raise BadInput(f"{path}:{number}: contexts: expected texts, got {contexts!r:.60}")
        texts: list[str] = []
        for context in cast(list[Any], [contexts] if isinstance(contexts, str) else contexts):
            # a text, or an object with one (RAGChecker: {"doc_id": ..., "text": ...})
            text = cast(Any, context).get("text") if isinstance(context, dict) else context
            if not isinstance(text, str):
                raise BadInput(f"{path}:{number}: contexts: expected texts, got {context!r:.60}")
            texts.append(text)
        rows.append(Row(id=str(row.get("id", number)), contexts=tuple(texts), **values))
    return rows


def check_batch(
    rows: list[Row], policy: PolicyName, verifier: str | Verifier = "auto"
) -> Iterator[BatchReport]:
    """A report for each row, in order.

    A row without an answer or without a context is `INVALID`: neither a pass nor a fault.
    """
    for row in rows:
        if row.missing:
            report = no_verdict(f"the row has no {row.missing}", policy)
        else:
            report = check(
                row.answer,
                row.documents,
                question=row.question,
                policy=policy,
                verifier=verifier,
            )
        yield BatchReport(**dict(row), report=report)
