"""Math problems with one final answer: GSM8K, MATH, AIME and DAPO-Math, as tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.core import Task, digest
from harness.corpora.records import Loader, Row, by_record

_FINAL = re.compile(r"^\s*(?:####|A:)\s*(.+?)\s*$", re.MULTILINE)
_FRAMES = (re.compile(r"Solve the following math problem\b"), re.compile(r"Remember to put your\b"))
"""How the paragraphs begin that DAPO-Math puts around every problem."""


_BRACES = re.compile(r"(\\(?:boxed|framebox|fbox)\s*\{)|(?<!\\)\\[{}]|[{}]")
"""A box that begins, a brace that is a character (skipped), or one that groups."""
_BARE = re.compile(r"\\(?:boxed|framebox|fbox)[ \t]+([^\s{$][^\n$]*)")
"""`\\boxed 5$`: up to the end of the formula or the line, as MATH's own evaluation reads it."""
_FORMULA_ENDS = re.compile(r"\\[\])]")


def _problem(kind: str, problem: str, answer: Any, name: str = "", **meta: Any) -> Task:
    text = str(answer).strip()
    if not problem.strip() or not text:
        raise ValueError("an empty problem or answer")
    fields = {key: value for key, value in meta.items() if value is not None}
    return Task(
        id=f"{kind}-{name or digest(problem)[:12]}", prompt=problem.strip(), answer=text,
        check="math", meta=fields,
    )  # fmt: skip


def gsm8k(row: Row) -> Iterator[Task]:
    """GSM8K (Cobbe et al. 2021): word problems; the result stands behind `####`."""
    solution = row["answer"] if "answer" in row else row["ground_truth"]
    final = _FINAL.findall(solution)[-1]
    yield _problem("gsm8k", row["question"], final.replace(",", ""))


def competition(row: Row) -> Iterator[Task]:
    """MATH (Hendrycks et al. 2021) or a part of it; without `answer`, the solution's last box."""
    answer = row.get("answer") or last_box(row["solution"])
    if answer is None:
        raise ValueError("a solution without a boxed answer")
    subject = row.get("subject") or row.get("type")
    name = str(row.get("unique_id") or "").replace("/", "-").removesuffix(".json")
    yield _problem("math", row["problem"], answer, name, stratum=subject, level=row.get("level"))


def aime(row: Row) -> Iterator[Task]:
    """AIME of any year: whole numbers from 0 to 999, with or without leading zeros."""
    fields = {key.lower(): value for key, value in row.items()}
    number = int(float(fields["answer"]))  # "045", "45.0" and 45 are the same answer
    contest = fields.get("contest") or fields.get("year")
    yield _problem("aime", fields["problem"], number, stratum=contest and str(contest))


def dapo(row: Row) -> Iterator[Task]:
    """A row of DAPO-Math (Yu et al. 2025), published or cleaned.

    The published file has each problem within two paragraphs that say how to answer: these are
    taken off, because the family brings its own prompt.
    """
    prompt = row["prompt"]
    text: str = prompt if isinstance(prompt, str) else prompt[-1]["content"]
    answer = row["solution"] if "solution" in row else row["reward_model"]["ground_truth"]
    parts = text.strip().split("\n\n")
    if len(parts) > 1 and _FRAMES[0].match(parts[0]):
        parts = parts[1:]
    if len(parts) > 1 and _FRAMES[1].match(parts[-1]):
        parts = parts[:-1]
    yield _problem("dapo", "\n\n".join(parts), answer)


def dapo_math(path: Path) -> Iterator[Task]:
    """DAPO-Math, each problem once: the published file repeats it about a hundred times."""
    seen: set[str] = set()
    for task in by_record(dapo, "DAPO-Math")(path):
        if task.id not in seen:
            seen.add(task.id)
            yield task


PROBLEM_LOADERS: dict[str, Loader[Task]] = {
    "gsm8k": by_record(gsm8k, "GSM8K"),
    "math": by_record(competition, "MATH"),
    "aime": by_record(aime, "AIME"),
    "dapo-math": dapo_math,
}


def last_box(text: str) -> str | None:
    """The content of the last closed box of a text, braces matched.

    Where no box has braces, one without counts. None if there is neither.
    """
    open_at: list[int | None] = []  # where the inside of a box begins; None for other braces
    last = (-1, 0)
    for brace in _BRACES.finditer(text):
        if brace[1] or brace[0] == "{":
            open_at.append(brace.end() if brace[1] else None)
        elif brace[0] == "}" and open_at and (begin := open_at.pop()) is not None:
            last = max(last, (begin, brace.start()))
    if last[0] >= 0:
        return text[slice(*last)]
    bare = [_FORMULA_ENDS.split(box)[0].strip() for box in _BARE.findall(text)]
    return bare[-1] or None if bare else None
