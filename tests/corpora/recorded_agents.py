"""Recorded answers of LangGraph agents on HotpotQA, as rows of a comparison."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import Any

from harness.core import BadInput, Value
from harness.corpora import rows_of


class RecordedAnswer(Value):
    """The answer of one recorded system (LangGraph agents on HotpotQA) to one question.

    Attributes:
        system: its name in the records.
        question: id of the question, as its reading has it.
        prediction: its answer.
        em: exact match, as recorded.
        f1: token F1, as recorded.
        recall: share of the gold paragraphs that it had in its context; None where not recorded.
        queries: what it searched for.
    """

    system: str
    question: str
    prediction: str
    em: float
    f1: float
    recall: float | None = None
    queries: tuple[str, ...] = ()


class SystemFigures(Value):
    """Means of one system: questions, EM, F1 and recall of the gold paragraphs, each in [0, 1]."""

    system: str
    questions: int
    em: float
    f1: float
    recall: float | None


def recorded_answers(path: Path) -> list[RecordedAnswer]:
    """All recorded answers of a file of agent runs, question by question.

    Raises:
        BadInput: if a row has no recorded answers.
    """
    answers: list[RecordedAnswer] = []
    for where, row in rows_of(path):
        recorded = row.get("_recorded")
        if not isinstance(recorded, dict):
            raise BadInput(f"{where}: expected recorded answers in '_recorded', found {recorded!r}")
        records: dict[str, dict[str, Any]] = recorded  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
        answers += [
            RecordedAnswer(
                system=system,
                question=f"hotpotqa-{row['id']}",
                prediction=record["prediction"],
                em=record["em"],
                f1=record["f1"],
                recall=record.get("ctx_recall"),
                queries=tuple(record.get("queries_used") or ()),
            )
            for system, record in records.items()
        ]
    return answers


def figures(answers: Iterable[RecordedAnswer]) -> list[SystemFigures]:
    """Means by system, best F1 first: rows of a comparison with runs of ours."""
    by_system: dict[str, list[RecordedAnswer]] = {}
    for answer in answers:
        by_system.setdefault(answer.system, []).append(answer)
    rows: list[SystemFigures] = []
    for system, group in by_system.items():
        recalls = [answer.recall for answer in group if answer.recall is not None]
        em, f1 = fmean(answer.em for answer in group), fmean(answer.f1 for answer in group)
        recall = fmean(recalls) if recalls else None
        rows.append(SystemFigures(system=system, questions=len(group), em=em, f1=f1, recall=recall))
    return sorted(rows, key=lambda row: -row.f1)
