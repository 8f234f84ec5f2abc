"""Recorded answers that carry their authors' verdict: what a scorer of ours must agree with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.core import BadInput, Value
from harness.corpora.loaders.rows import Row, rows_of
from harness.vision.corpora.question import VisualQuestion
from harness.vision.corpora.sets import mathvista_question, tabmwp_question


class RecordedVerdict(Value):
    """One recorded answer.

    Attributes:
        system: who answered.
        question: what was asked.
        answer: what the authors' scorer was given; None where it found no answer.
        right: their verdict.
    """

    system: str
    question: VisualQuestion
    answer: str | None
    right: bool


def recorded_verdicts(path: Path) -> Iterator[RecordedVerdict]:
    """The recorded answers of a file of MathVista, TabMWP or ChartQA rows that carry a verdict.

    ChartQA rows count where they are part of MathVista; their answers were judged by its scorer.

    Raises:
        BadInput: if a row is none of these, or none carries a verdict.
    """
    found = False
    for where, row in rows_of(path):
        try:
            for one in _verdicts(row, path.parent):
                found = True
                yield one
        except (KeyError, TypeError, AttributeError) as error:
            raise BadInput(
                f"{where}: expected a row with recorded verdicts, found {row!r:.200} ({error})"
            ) from error
    if not found:
        raise BadInput(f"{str(path)!r}: expected recorded answers with 'true_false', found none")


def _verdicts(row: Row, folder: Path) -> Iterator[RecordedVerdict]:
    nested: dict[str, Any] | None = row.get("_mathvista")
    if nested is not None:
        # A ChartQA row with choices is a multiple-choice question in MathVista.
        kind = "multi_choice" if nested.get("choices") else "free_form"
        asked = {"question": row["query"], "question_type": kind, "_image": row.get("_image")}
        numeric = kind == "free_form" and str(nested["answer"]).lstrip("-").isdigit()
        asked["answer_type"] = "integer" if numeric else nested.get("answer_type", "float")
        yield from _of(mathvista_question({**asked, **nested}, folder), nested["recorded"])
    elif "pid" in row and "_recorded" in row:
        yield from _of(mathvista_question(row, folder), row["_recorded"])
    elif "table" in row and "_recorded" in row:
        yield from _of(tabmwp_question(row, folder), row["_recorded"])


def _of(question: VisualQuestion, recorded: dict[str, Any]) -> Iterator[RecordedVerdict]:
    for system, record in recorded.items():
        if "true_false" in record:
            said = record["extraction"] if "extraction" in record else record["output"]
            yield RecordedVerdict(
                system=system,
                question=question,
                answer=None if said is None else str(said),
                right=record["true_false"],
            )
