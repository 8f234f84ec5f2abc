"""Recorded answers of other systems with the verdicts of the authors' own scorers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.core import BadInput, Value
from harness.corpora import Row, rows_of
from harness.vision.corpora import mathvista_question, tabmwp_question
from harness.vision.questions import VisualQuestion


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
    count = 0
    for where, row in rows_of(path):
        try:
            verdicts = _verdicts(row, path.parent)
        except (KeyError, TypeError, AttributeError) as error:
            raise BadInput(
                f"{where}: expected a row with recorded verdicts, found {row!r:.200} ({error})"
            ) from error
        count += len(verdicts)
        yield from verdicts
    if not count:
        raise BadInput(f"{str(path)!r}: expected recorded answers with 'true_false', found none")


def _verdicts(row: Row, folder: Path) -> list[RecordedVerdict]:
    nested: dict[str, Any] | None = row.get("_mathvista")
    if nested is not None:
        # A ChartQA row with choices is a multiple-choice question in MathVista.
        free = not nested.get("choices")
        numeric = free and str(nested["answer"]).lstrip("-").isdigit()
        record = {
            "question": row["query"],
            "question_type": "free_form" if free else "multi_choice",
            "_image": row.get("_image"),
            "answer_type": "integer" if numeric else nested.get("answer_type", "float"),
            **nested,
        }
        question, recorded = mathvista_question(record, folder), nested["recorded"]
    elif "_recorded" in row and ("pid" in row or "table" in row):
        question = (mathvista_question if "pid" in row else tabmwp_question)(row, folder)
        recorded = row["_recorded"]
    else:
        return []
    verdicts: list[RecordedVerdict] = []
    for system, record in recorded.items():
        if "true_false" in record:
            answer = record["extraction"] if "extraction" in record else record["output"]
            verdicts.append(
                RecordedVerdict(
                    system=system,
                    question=question,
                    answer=None if answer is None else str(answer),
                    right=record["true_false"],
                )
            )
    return verdicts
