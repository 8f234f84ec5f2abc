"""Math problems with one final answer: GSM8K, MATH, AIME and DAPO-Math, as tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.core import Task, digest
from harness.corpora.boxes import last_box
from harness.corpora.loaders.rows import Row, read_each, rows_of

_FINAL = re.compile(r"^\s*(?:####|A:)\s*(.+?)\s*$", re.MULTILINE)
_FRAMES = (re.compile(r"Solve the following math problem\b"), re.compile(r"Remember to put your\b"))
"""How the paragraphs begin that DAPO-Math puts around every problem."""


def gsm8k(path: Path) -> Iterator[Task]:
    """GSM8K (Cobbe et al. 2021): word problems; the result stands behind `####`.

    Raises:
        BadInput: if the file or a record has another form.
    """
    return read_each(rows_of(path), _gsm8k, "GSM8K")


def competition(path: Path) -> Iterator[Task]:
    """MATH (Hendrycks et al. 2021) or a part of it; without `answer`, the solution's last box.

    Raises:
        BadInput: if the file or a record has another form.
    """
    return read_each(rows_of(path), _competition, "MATH")


def aime(path: Path) -> Iterator[Task]:
    """AIME of any year: whole numbers from 0 to 999, with or without leading zeros.

    Raises:
        BadInput: if the file or a record has another form.
    """
    return read_each(rows_of(path), _aime, "AIME")


def dapo_math(path: Path) -> Iterator[Task]:
    """DAPO-Math (Yu et al. 2025), its published rows or the cleaned ones, each problem once.

    The published file repeats its problems about a hundred times, each within two paragraphs that
    say how to answer: these are taken off, because the family brings its own prompt.

    Raises:
        BadInput: if the file or a record has another form.
    """
    seen: set[str] = set()
    for task in read_each(rows_of(path), _dapo, "DAPO-Math"):
        if task.id not in seen:
            seen.add(task.id)
            yield task


def _problem(kind: str, problem: str, answer: Any, name: str = "", **meta: Any) -> Task:
    text = str(answer).strip()
    if not problem.strip() or not text:
        raise ValueError("an empty problem or answer")
    known = {key: value for key, value in meta.items() if value is not None}
    return Task(
        id=f"{kind}-{name or digest(problem)[:12]}", prompt=problem.strip(), answer=text,
        check="math", meta=known,
    )  # fmt: skip


def _gsm8k(row: Row) -> Iterator[Task]:
    solution = row["answer"] if "answer" in row else row["ground_truth"]
    final = _FINAL.findall(solution)[-1]
    yield _problem("gsm8k", row["question"], final.replace(",", ""))


def _competition(row: Row) -> Iterator[Task]:
    answer = row.get("answer") or last_box(row["solution"])
    if answer is None:
        raise ValueError("a solution without a boxed answer")
    subject = row.get("subject") or row.get("type")
    name = str(row.get("unique_id") or "").replace("/", "-").removesuffix(".json")
    yield _problem("math", row["problem"], answer, name, stratum=subject, level=row.get("level"))


def _aime(row: Row) -> Iterator[Task]:
    fields = {key.lower(): value for key, value in row.items()}
    number = int(float(fields["answer"]))  # "045", "45.0" and 45 are the same answer
    contest = fields.get("contest") or fields.get("year")
    yield _problem("aime", fields["problem"], number, stratum=contest and str(contest))


def _dapo(row: Row) -> Iterator[Task]:
    prompt = row["prompt"]
    text: str = prompt if isinstance(prompt, str) else prompt[-1]["content"]
    answer = row["solution"] if "solution" in row else row["reward_model"]["ground_truth"]
    parts = text.strip().split("\n\n")
    if len(parts) > 1 and _FRAMES[0].match(parts[0]):
        parts = parts[1:]
    if len(parts) > 1 and _FRAMES[1].match(parts[-1]):
        parts = parts[:-1]
    yield _problem("dapo", "\n\n".join(parts), answer)
