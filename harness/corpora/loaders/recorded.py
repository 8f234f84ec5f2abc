"""Recorded LangGraph agents on HotpotQA: what others' systems said to the same questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from harness.core import BadInput, Value
from harness.corpora.loaders.rows import rows_of


class RecordedAnswer(Value):
    """What one recorded system said to one question.

    Attributes:
        system: its name in the records.
        question: id of the question, as :func:`harness.corpora.loaders.multihop.hotpotqa` gives.
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
    found: list[RecordedAnswer] = []
    for where, row in rows_of(path):
        recorded = row.get("_recorded")
        if not isinstance(recorded, dict):
            raise BadInput(f"{where}: expected recorded answers in '_recorded', found {recorded!r}")
        records: dict[str, dict[str, Any]] = recorded  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
        found += [_answer(name, row["id"], record) for name, record in records.items()]
    return found


def figures(answers: Iterable[RecordedAnswer]) -> list[SystemFigures]:
    """Means by system, best F1 first: rows of a comparison with runs of ours."""
    by_system: dict[str, list[RecordedAnswer]] = {}
    for answer in answers:
        by_system.setdefault(answer.system, []).append(answer)
    rows = [_means(name, given) for name, given in by_system.items()]
    return sorted(rows, key=lambda row: -row.f1)


def _answer(system: str, question: str, record: dict[str, Any]) -> RecordedAnswer:
    return RecordedAnswer(
        system=system,
        question=f"hotpotqa-{question}",
        prediction=record["prediction"],
        em=record["em"],
        f1=record["f1"],
        recall=record.get("ctx_recall"),
        queries=tuple(record.get("queries_used") or ()),
    )


def _means(system: str, answers: Sequence[RecordedAnswer]) -> SystemFigures:
    recalls = [one.recall for one in answers if one.recall is not None]
    return SystemFigures(
        system=system,
        questions=len(answers),
        em=sum(one.em for one in answers) / len(answers),
        f1=sum(one.f1 for one in answers) / len(answers),
        recall=sum(recalls) / len(recalls) if recalls else None,
    )
