"""Long-document sets with one shape of their own: L-Eval, QMSum, NarrativeQA, QuALITY."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from harness.core import BadInput, digest
from harness.corpora.loaders.rows import Row, read_each, rows_of
from harness.corpora.reading import Evidence, Metric, Reading, Source

DOCUMENT = "document.txt"
_OPTION = re.compile(r"^\s*(?:\(([A-Z])\)|([A-Z])[.)])\s", re.MULTILINE)
_GOLD = re.compile(r"\(?([A-Z]+)\)?(?=$|[.)\s])")


def reading_of(
    name: str, question: str, answers: list[str], metric: Metric, text: str, **more: object
) -> Reading:
    """A question over one document."""
    return Reading.model_validate(
        {
            "id": name,
            "family": "longdoc",
            "question": question,
            "answers": tuple(answers),
            "metric": metric,
            "sources": (Source(id=DOCUMENT, text=text),),
            **more,
        }
    )


def leval(path: Path) -> Iterator[Reading]:
    """L-Eval (An et al. 2023), one file of it: several questions a document.

    Questions with options are judged by their letters, of which coursera has several; others by
    the metric that the file names (exact match where it says `exam`, ROUGE without stemming).

    Raises:
        BadInput: if the file or a record has another form.
    """
    return read_each(rows_of(path), _leval, "L-Eval")


def qmsum(path: Path) -> Iterator[Reading]:
    """QMSum (Zhong et al. 2021): questions about meetings; the relevant turns are the evidence.

    Raises:
        BadInput: if the file or a record has another form.
    """
    return read_each(rows_of(path), _qmsum, "QMSum")


def quality(path: Path) -> Iterator[Reading]:
    """QuALITY (Pang et al. 2022): four options; the test set, which has no labels, is refused.

    Raises:
        BadInput: if the file or a record has another form.
    """
    return read_each(rows_of(path), _quality, "QuALITY (with gold_label)")


def narrativeqa(path: Path) -> Iterator[Reading]:
    """NarrativeQA (Kocisky et al. 2018): its folder with qaps.csv, or one row a question.

    Of the folder, whole stories (`tmp/<id>.content`) are read where they were downloaded, else
    the summaries (`third_party/wikipedia/summaries.csv`); questions without either are passed
    over.

    Raises:
        BadInput: if the folder, the file or a record has another form.
    """
    if not path.is_dir():
        return read_each(rows_of(path), _narrative, "NarrativeQA")
    texts = _stories(path)
    rows = (pair for pair in rows_of(path / "qaps.csv") if pair[1].get("document_id") in texts)
    return read_each(rows, lambda row: _pair(row, texts[row["document_id"]]), "NarrativeQA")


def _leval(row: Row) -> Iterator[Reading]:
    source, text = row["source"], row["input"]
    pairs = zip(row["instructions"], row["outputs"], strict=True)
    for number, (question, answer) in enumerate(pairs):
        # A document comes in several rows, judged by several metrics; so the metric is in the id.
        key = digest([text, row["evaluation"], number, question])
        name = f"leval-{source}-{key[:12]}"
        letters = [one or other for one, other in _OPTION.findall(question)]
        gold = _GOLD.match(answer.strip())
        if row["evaluation"] == "exam" and len(letters) > 1 and gold and {*gold[1]} <= {*letters}:
            metric: Metric = "exam" if "coursera" in source else "choice"
            choices = dict.fromkeys(letters, "")  # their texts stand in the question
            yield reading_of(
                name, question, [gold[1]], metric, text, choices=choices, meta={"stratum": source}
            )
        else:
            metric = {"f1": "f1", "exam": "em"}.get(row["evaluation"], "rouge")  # pyright: ignore[reportAssignmentType]  # values are metrics
            meta = {"stratum": source, "stemmer": False}
            yield reading_of(name, question, [answer], metric, text, meta=meta)


def _qmsum(row: Row) -> Iterator[Reading]:
    turns = [f"{turn['speaker']}: {turn['content']}" for turn in row["meeting_transcripts"]]
    starts = [0]
    for turn in turns:
        starts.append(starts[-1] + len(turn) + 1)
    text = "\n".join(turns)
    asked = [(one, "general") for one in row["general_query_list"]]
    asked += [(one, "specific") for one in row["specific_query_list"]]
    for one, kind in asked:
        spans = [(int(first), int(last)) for first, last in one.get("relevant_text_span", [])]
        evidence = [
            Evidence(
                doc=DOCUMENT, start=starts[first], end=starts[min(last, len(turns) - 1) + 1] - 1
            )
            for first, last in spans
            if first <= last and first < len(turns)
        ]
        yield reading_of(
            f"qmsum-{digest([text, one['query']])[:12]}", one["query"], [one["answer"]], "rouge",
            text, evidence=tuple(evidence), meta={"stratum": kind},
        )  # fmt: skip


def _quality(row: Row) -> Iterator[Reading]:
    for asked in row["questions"]:
        choices = dict(zip("ABCDEFGH", asked["options"], strict=False))
        answer = "ABCDEFGH"[int(asked["gold_label"]) - 1]
        hard = "hard" if int(asked.get("difficult", 0)) else "easy"
        yield reading_of(
            f"quality-{asked['question_unique_id']}", asked["question"], [answer], "choice",
            row["article"], choices=choices, meta={"stratum": hard},
        )  # fmt: skip


def _narrative(row: Row) -> Iterator[Reading]:
    document = row["document"]
    text = document.get("text") or document["summary"]["text"]
    question = row["question"]["text"]
    answers = [one["text"] for one in row["answers"]]
    name = f"narrativeqa-{digest([document['id'], question])[:12]}"
    yield reading_of(name, question, answers, "rouge", text, meta={"stratum": "narrativeqa"})


def _pair(row: Row, text: str) -> Iterator[Reading]:
    name = f"narrativeqa-{digest([row['document_id'], row['question']])[:12]}"
    meta = {"stratum": row["set"]}
    answers = [row["answer1"], row["answer2"]]
    yield reading_of(name, row["question"], answers, "rouge", text, meta=meta)


def _stories(folder: Path) -> dict[str, str]:
    summaries = folder / "third_party" / "wikipedia" / "summaries.csv"
    texts = (
        {row["document_id"]: row["summary"] for _, row in rows_of(summaries)}
        if summaries.is_file()
        else {}
    )
    stories = sorted((folder / "tmp").glob("*.content"))
    texts |= {file.stem: file.read_text("utf-8", errors="replace") for file in stories}
    if not texts:
        raise BadInput(
            f"expected stories (tmp/*.content) or {str(summaries)!r} beside qaps.csv, found neither"
        )
    return texts
