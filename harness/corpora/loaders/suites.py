"""Long-document suites, whose tasks each have a metric: LongBench v1 and v2, InfiniteBench."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from harness.core import BadInput, digest
from harness.corpora.loaders.longdoc import reading_of
from harness.corpora.loaders.rows import Row, read_each, rows_of
from harness.corpora.reading import Metric, Reading

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


def longbench(path: Path) -> Iterator[Reading]:
    """LongBench v1 (Bai et al. 2023), English tasks of questions, summaries, counts and classes.

    Chinese tasks need a word segmenter and code tasks an edit distance that we do not bring.

    Raises:
        BadInput: if the file, a record or its task is another.
    """
    return read_each(rows_of(path), partial(_v1, path), "LongBench")


def longbench_v2(path: Path) -> Iterator[Reading]:
    """LongBench v2 (Bai et al. 2024): four choices.

    Raises:
        BadInput: if the file or a record has another form.
    """
    return read_each(rows_of(path), _v2, "LongBench v2")


def infinitebench(path: Path) -> Iterator[Reading]:
    """InfiniteBench (Zhang et al. 2024), one file of it; its name says which task it is.

    Raises:
        BadInput: if the file or a record has another form, or the task is not a known one.
    """
    if path.stem not in _INFINITE:
        raise BadInput(
            f"expected a file named after a task of InfiniteBench ({', '.join(_INFINITE)}), "
            f"found {path.name!r}"
        )
    return read_each(rows_of(path), partial(_infinite, path.stem), "InfiniteBench")


def _v1(path: Path, row: Row) -> Iterator[Reading]:
    question = row["input"] or "Summarise the document."
    task = str(row.get("dataset") or path.stem).removesuffix("_e")
    if task not in _V1:
        raise BadInput(f"{path}: expected a task of {', '.join(_V1)}, found {task!r}")
    classes: list[str] = row.get("all_classes") or []
    name = f"longbench-{task}-{row.get('_id') or digest([row['context'], question])[:12]}"
    choices = {str(number): one for number, one in enumerate(classes)}
    yield reading_of(
        name, question, list(row["answers"]), _V1[task], row["context"], choices=choices,
        meta={"stratum": task},
    )  # fmt: skip


def _v2(row: Row) -> Iterator[Reading]:
    choices = row.get("choices") or {letter: row[f"choice_{letter}"] for letter in "ABCD"}
    meta = {key: row[key] for key in ("domain", "difficulty", "length") if key in row}
    yield reading_of(
        f"longbench2-{row.get('_id') or row['id']}", row["question"], [row["answer"]], "choice",
        row["context"], choices=choices, meta={**meta, "stratum": row["domain"]},
    )  # fmt: skip


def _infinite(task: str, row: Row) -> Iterator[Reading]:
    answer: Any = row["answer"]
    given: list[Any] = answer if isinstance(answer, list) else [answer]  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
    answers = [str(one) for one in given]
    choices: dict[str, str] = {}
    if _INFINITE[task] == "choice":
        choices = dict(zip("ABCD", row["options"], strict=True))
        # Published answers are the option's text, sometimes followed by its letter.
        answers = [letter for letter, text in choices.items() if text == answers[0]]
    question = row["input"] or "Summarise the document."
    yield reading_of(
        f"infinitebench-{task}-{row['id']}", question, answers, _INFINITE[task], row["context"],
        choices=choices, meta={"stratum": task},
    )  # fmt: skip
