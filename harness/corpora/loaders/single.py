"""Questions that one passage answers: SQuAD and Natural Questions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.core import digest
from harness.corpora.loaders.rows import Documents, Row, read_each, rows_of
from harness.corpora.reading import Evidence, Reading


def squad(path: Path) -> Iterator[Reading]:
    """SQuAD 1.1 and 2.0 (Rajpurkar et al. 2016, 2018), XQuAD; published, or one row a question.

    In the published form all paragraphs of an article are the documents. Questions without an
    answer (2.0) are passed over.

    Raises:
        BadInput: if the file or a record has another form.
    """
    return read_each(rows_of(path), _squad, "SQuAD")


def natural_questions(path: Path) -> Iterator[Reading]:
    """Natural Questions: NQ-open (no documents), or with passages (`ctxs`, or one `context`).

    Raises:
        BadInput: if the file or a record has another form.
    """
    return read_each(rows_of(path), _natural, "Natural Questions")


def _squad(row: Row) -> Iterator[Reading]:
    if "paragraphs" not in row:
        if found := _row_question(row, "squad"):
            yield found
        return
    documents = Documents()
    title = row.get("title") or "article"
    names = [documents.add(title, paragraph["context"]) for paragraph in row["paragraphs"]]
    for name, paragraph in zip(names, row["paragraphs"], strict=True):
        for asked in paragraph["qas"]:
            answers = [(one["text"], int(one["answer_start"])) for one in asked["answers"]]
            if answers:
                yield _answered("squad", asked["id"], asked["question"], documents, name, answers)


def _natural(row: Row) -> Iterator[Reading]:
    if "context" in row:
        if found := _row_question(row, "nq"):
            yield found
        return
    question = row["question"]
    answers = row.get("answers") or row["answer"]
    documents = Documents()
    gold: list[Evidence] = []
    for passage in row.get("ctxs", []):
        name = documents.add(passage.get("title", ""), passage["text"])
        if passage.get("isgold"):
            gold.append(documents.whole(name))
    yield Reading(
        id=f"nq-{row.get('id') or digest(question)[:12]}",
        family="search",
        question=question,
        answers=tuple(answers),
        metric="em",
        sources=documents.sources,
        evidence=tuple(gold),
        meta={"stratum": "nq"},
    )


def _row_question(row: Row, kind: str) -> Reading | None:
    """One row with its one passage; answers as columns, or as texts beside spans."""
    documents = Documents()
    name = documents.add(row.get("title", ""), row["context"])
    answers: Any = row["answers"]
    if isinstance(answers, dict):
        columns: dict[str, list[Any]] = answers  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
        pairs = list(zip(columns["text"], columns["answer_start"], strict=True))
    else:
        spans = row.get("spans") or [(row["context"].find(text), 0) for text in answers]
        # Some sets give more spans than answers, or fewer: every answer keeps a place.
        starts = [int(start) for start, _ in spans] + [int(spans[0][0])] * len(answers)
        pairs = list(zip(answers, starts, strict=False))
    question = row.get("question") or row["query"]
    return _answered(kind, row["id"], question, documents, name, pairs) if pairs else None


def _answered(
    kind: str, name: str, question: str, documents: Documents, doc: str,
    answers: list[tuple[str, int]],
) -> Reading:  # fmt: skip
    text = next(source.text for source in documents.sources if source.id == doc)
    places = {(start, start + len(answer)) for answer, start in answers}
    return Reading(
        id=f"{kind}-{name}",
        family="search",
        question=question,
        answers=tuple(dict.fromkeys(answer for answer, _ in answers)),
        metric="em",
        sources=documents.sources,
        evidence=tuple(
            Evidence(doc=doc, start=start, end=end)
            for start, end in sorted(places)
            if 0 <= start < end <= len(text)
        ),
        meta={"stratum": kind},
    )
