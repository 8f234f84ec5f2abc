"""Many answers at once, in rows as users of RAGAS and RAGChecker have them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from harness.core import BadInput, Value, read_rows
from harness.rag.check.checking import check, no_verdict
from harness.rag.check.types import PolicyName, Report, Verifier
from harness.rag.retrieve import Document

_ANSWER = ("answer", "response", "output")
_QUESTION = ("question", "user_input", "query")
_CONTEXTS = ("contexts", "retrieved_contexts", "retrieved_context", "context", "documents")
_REFERENCE = ("reference", "ground_truth", "gt_answer")


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


class BatchReport(Value):
    """A row's report."""

    id: str
    question: str
    answer: str
    report: Report


def read_batch(path: Path) -> list[Row]:
    """Rows of a JSONL file; other common names of the fields are understood.

    Raises:
        BadInput: if a line is no object, or a field has the wrong type; the line is named.
    """
    return [_row(row, number, f"{path}:{number}") for number, row in read_rows(path)]


def _row(row: dict[str, Any], number: int, where: str) -> Row:
    contexts = _first(row, _CONTEXTS)
    if contexts is not None and not isinstance(contexts, str | list):
        raise BadInput(f"{where}: contexts: expected a list of texts, got {contexts!r:.60}")
    texts: list[str] = []
    for context in cast(list[Any], [contexts] if isinstance(contexts, str) else contexts or []):
        # a text, or an object with one (RAGChecker: {"doc_id": ..., "text": ...})
        text = cast(Any, context).get("text") if isinstance(context, dict) else context
        if not isinstance(text, str):
            raise BadInput(f"{where}: contexts: expected texts, got {context!r:.60}")
        texts.append(text)
    return Row(
        id=str(row.get("id", number)),
        answer=_text(row, _ANSWER, where),
        question=_text(row, _QUESTION, where),
        reference=_text(row, _REFERENCE, where),
        contexts=tuple(texts),
    )


def _first(row: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if row.get(name) is not None), None)


def _text(row: dict[str, Any], names: tuple[str, ...], where: str) -> str:
    value = _first(row, names)
    if value is not None and not isinstance(value, str):
        raise BadInput(f"{where}: {names[0]}: expected text, got {value!r:.60}")
    return value or ""


def check_batch(
    rows: list[Row], policy: PolicyName, verifier: str | Verifier = "auto"
) -> Iterator[BatchReport]:
    """A report for each row, in order.

    A row without an answer or without a context is `INVALID`: neither a pass nor a fault.
    """
    for row in rows:
        report = unusable(row, policy) or check(
            row.answer, documents_of(row), question=row.question, policy=policy, verifier=verifier
        )
        yield BatchReport(id=row.id, question=row.question, answer=row.answer, report=report)


def unusable(row: Row, policy: PolicyName) -> Report | None:
    """The `INVALID` report of a row without an answer or a context; None for any other."""
    if not row.answer.strip() or not any(text.strip() for text in row.contexts):
        missing = "answer" if not row.answer.strip() else "context"
        return no_verdict(f"the row has no {missing}", policy)
    return None


def documents_of(row: Row) -> list[Document]:
    """The contexts of a row as documents `context-1`, `context-2`, ..."""
    return [
        Document(f"context-{number}", text) for number, text in enumerate(row.contexts, start=1)
    ]
