"""Long-document sets: L-Eval, QMSum, NarrativeQA, QuALITY, LongBench v1 and v2, InfiniteBench."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from harness.core import BadInput, digest, read_foreign
from harness.corpora.reading import Evidence, Metric, Reading, Source
from harness.corpora.records import Loader, Row, by_record, read_each, rows_of

DOCUMENT = "document.txt"
_OPTION = re.compile(r"^\s*(?:\(([A-Z])\)|([A-Z])[.)])\s", re.MULTILINE)
_GOLD = re.compile(r"\(?([A-Z]+)\)?(?=$|[.)\s])")
_V1: dict[str, Metric] = {
    **dict.fromkeys(
        ("narrativeqa", "qasper", "multifieldqa_en", "hotpotqa", "2wikimqa", "musique", "triviaqa"),
        "f1",
    ),
    **dict.fromkeys(("gov_report", "qmsum", "multi_news", "samsum"), "rouge"),
    **dict.fromkeys(("passage_count", "passage_retrieval_en"), "numbers"),
    "trec": "classes",
}
_INFINITE: dict[str, Metric] = {
    **dict.fromkeys(("passkey", "number_string", "kv_retrieval"), "all"),
    **dict.fromkeys(("longbook_choice_eng", "code_debug"), "choice"),
    **dict.fromkeys(("math_find", "code_run"), "em"),
    "longbook_qa_eng": "f1",
    "longbook_sum_eng": "rouge",
    "longdialogue_qa_eng": "part",
}


def _reading(
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


def narrativeqa(path: Path) -> Iterator[Reading]:
    """NarrativeQA (Kocisky et al. 2018): its folder with qaps.csv, or one row a question.

    Of the folder, whole stories (`tmp/<id>.content`) are read where they were downloaded, else
    the summaries (`third_party/wikipedia/summaries.csv`); questions without either are passed
    over.

    Raises:
        BadInput: if the folder, the file or a record has another form.
    """
    if not path.is_dir():
        return by_record(_narrative, "NarrativeQA")(path)
    summaries = path / "third_party" / "wikipedia" / "summaries.csv"
    rows = rows_of(summaries) if summaries.is_file() else ()
    texts = {row["document_id"]: row["summary"] for _, row in rows}
    for story in sorted((path / "tmp").glob("*.content")):
        texts[story.stem] = read_foreign(story).decode("utf-8", errors="replace")
    if not texts:
        raise BadInput(
            f"expected stories (tmp/*.content) or {str(summaries)!r} beside qaps.csv, found neither"
        )

    def read(row: Row) -> Iterator[Reading]:
        document = row.get("document_id")
        if document in texts:
            question = row["question"]
            name = f"narrativeqa-{digest([document, question])[:12]}"
            answers, meta = [row["answer1"], row["answer2"]], {"stratum": row["set"]}
            yield _reading(name, question, answers, "rouge", texts[document], meta=meta)

    return read_each(rows_of(path / "qaps.csv"), read, "NarrativeQA")


def leval(row: Row) -> Iterator[Reading]:
    """L-Eval (An et al. 2023), one file of it: several questions a document.

    Questions with options are judged by their letters, of which coursera has several; others by
    the metric that the file names (exact match where it says `exam`, ROUGE without stemming).
    """
    source, text = row["source"], row["input"]
    pairs = zip(row["instructions"], row["outputs"], strict=True)
    for number, (question, answer) in enumerate(pairs):
        # A document comes in several rows, judged by several metrics; so the metric is in the id.
        key = digest([text, row["evaluation"], number, question])
        name = f"leval-{source}-{key[:12]}"
        letters = [bracketed or plain for bracketed, plain in _OPTION.findall(question)]
        gold = _GOLD.match(answer.strip())
        if row["evaluation"] == "exam" and len(letters) > 1 and gold and {*gold[1]} <= {*letters}:
            metric: Metric = "exam" if "coursera" in source else "choice"
            choices = dict.fromkeys(letters, "")  # their texts stand in the question
            yield _reading(
                name, question, [gold[1]], metric, text, choices=choices, meta={"stratum": source}
            )
        else:
            metric = {"f1": "f1", "exam": "em"}.get(row["evaluation"], "rouge")  # pyright: ignore[reportAssignmentType]  # values are metrics
            meta = {"stratum": source, "stemmer": False}
            yield _reading(name, question, [answer], metric, text, meta=meta)


def qmsum(row: Row) -> Iterator[Reading]:
    """QMSum (Zhong et al. 2021): questions about meetings; the relevant turns are the evidence."""
    turns = [f"{turn['speaker']}: {turn['content']}" for turn in row["meeting_transcripts"]]
    starts = list(accumulate((len(turn) + 1 for turn in turns), initial=0))
    text = "\n".join(turns)
    for kind in ("general", "specific"):
        for query in row[f"{kind}_query_list"]:
            evidence: list[Evidence] = []
            for first, last in query.get("relevant_text_span", []):
                start, end = int(first), min(int(last), len(turns) - 1)
                if start <= end:
                    span = {"start": starts[start], "end": starts[end + 1] - 1}
                    evidence.append(Evidence(doc=DOCUMENT, **span))
            yield _reading(
                f"qmsum-{digest([text, query['query']])[:12]}", query["query"], [query["answer"]],
                "rouge", text, evidence=tuple(evidence), meta={"stratum": kind},
            )  # fmt: skip


def quality(row: Row) -> Iterator[Reading]:
    """QuALITY (Pang et al. 2022): four options; the test set, which has no labels, is refused."""
    for query in row["questions"]:
        choices = dict(zip("ABCDEFGH", query["options"], strict=False))
        answer = "ABCDEFGH"[int(query["gold_label"]) - 1]
        hard = "hard" if int(query.get("difficult", 0)) else "easy"
        yield _reading(
            f"quality-{query['question_unique_id']}", query["question"], [answer], "choice",
            row["article"], choices=choices, meta={"stratum": hard},
        )  # fmt: skip


def _narrative(row: Row) -> Iterator[Reading]:
    """A question of NarrativeQA as one row."""
    document = row["document"]
    text = document.get("text") or document["summary"]["text"]
    question = row["question"]["text"]
    answers = [answer["text"] for answer in row["answers"]]
    name = f"narrativeqa-{digest([document['id'], question])[:12]}"
    yield _reading(name, question, answers, "rouge", text, meta={"stratum": "narrativeqa"})


def longbench(path: Path, row: Row) -> Iterator[Reading]:
    """LongBench v1 (Bai et al. 2023), English tasks of questions, summaries, counts and classes.

    Chinese tasks need a word segmenter and code tasks an edit distance that we do not bring.
    """
    question = row["input"] or "Summarise the document."
    task = str(row.get("dataset") or path.stem).removesuffix("_e")
    if task not in _V1:
        raise BadInput(f"{path}: expected a task of {', '.join(_V1)}, found {task!r}")
    classes: list[str] = row.get("all_classes") or []
    name = f"longbench-{task}-{row.get('_id') or digest([row['context'], question])[:12]}"
    choices = {str(number): name for number, name in enumerate(classes)}
    yield _reading(
        name, question, list(row["answers"]), _V1[task], row["context"], choices=choices,
        meta={"stratum": task},
    )  # fmt: skip


def longbench_v2(row: Row) -> Iterator[Reading]:
    """LongBench v2 (Bai et al. 2024): four choices."""
    choices = row.get("choices") or {letter: row[f"choice_{letter}"] for letter in "ABCD"}
    meta = {key: row[key] for key in ("domain", "difficulty", "length") if key in row}
    yield _reading(
        f"longbench2-{row.get('_id') or row['id']}", row["question"], [row["answer"]], "choice",
        row["context"], choices=choices, meta={**meta, "stratum": row["domain"]},
    )  # fmt: skip


def infinitebench(path: Path) -> Iterator[Reading]:
    """InfiniteBench (Zhang et al. 2024), one file of it; its name says which task it is."""
    if path.stem not in _INFINITE:
        raise BadInput(
            f"expected a file named after a task of InfiniteBench ({', '.join(_INFINITE)}), "
            f"found {path.name!r}"
        )
    return by_record(partial(_infinite, path.stem), "InfiniteBench")(path)


def _infinite(task: str, row: Row) -> Iterator[Reading]:
    answer: Any = row["answer"]
    answers = list(map(str, answer if isinstance(answer, list) else [answer]))  # pyright: ignore[reportUnknownArgumentType]  # parsed JSON
    choices: dict[str, str] = {}
    if _INFINITE[task] == "choice":
        choices = dict(zip("ABCD", row["options"], strict=True))
        # Published answers are the option's text, sometimes followed by its letter.
        answers = [letter for letter, text in choices.items() if text == answers[0]]
    question = row["input"] or "Summarise the document."
    yield _reading(
        f"infinitebench-{task}-{row['id']}", question, answers, _INFINITE[task], row["context"],
        choices=choices, meta={"stratum": task},
    )  # fmt: skip


LONGDOC_LOADERS: dict[str, Loader[Reading]] = {
    "leval": by_record(leval, "L-Eval"),
    "qmsum": by_record(qmsum, "QMSum"),
    "quality": by_record(quality, "QuALITY (with gold_label)"),
    "narrativeqa": narrativeqa,
    "longbench": lambda path: by_record(partial(longbench, path), "LongBench")(path),
    "longbench2": by_record(longbench_v2, "LongBench v2"),
    "infinitebench": infinitebench,
}
