"""A question about images, and task files made of many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue

from harness.core import BadInput, Task, Value, digest, read_foreign, write_atomic
from harness.corpora import write_tasks

VisualMetric = Literal[
    "anls", "relaxed", "consensus", "mathvista", "tabmwp", "choice", "em", "fields", "printed"
]
"""How an answer is judged; `harness.vision.tasks` says what each one is."""


class VisualQuestion(Value):
    """A question about images.

    Attributes:
        id: unique within its set.
        question: as it is put to the agent.
        answers: accepted answers; for `fields` one JSON object as text.
        metric: how the answer is judged.
        images: their files; none for sets whose images are replaced by text.
        choices: options in order; the letters A, B, … are given when the task is made.
        meta: facts of the set (unit, precision, answer type, stratum, ...).
    """

    id: str
    question: str
    answers: tuple[str, ...] = Field(min_length=1)
    metric: VisualMetric
    images: tuple[Path, ...] = ()
    choices: tuple[str, ...] = ()
    meta: dict[str, JsonValue] = {}


def lettered(choices: Sequence[str]) -> dict[str, str]:
    """The options by letter.

    Raises:
        ValueError: for more than 26.
    """
    if len(choices) > 26:
        raise ValueError(f"expected at most 26 choices, found {len(choices)}")
    return {chr(ord("A") + index): text for index, text in enumerate(choices)}


def visual_task(question: VisualQuestion, files: dict[str, str]) -> Task:
    """The task of a question, over files that were put where they are named.

    Args:
        question: the question.
        files: name in the work folder -> path relative to the task file.
    """
    options: dict[str, JsonValue] = {**lettered(question.choices)}
    return Task(
        id=question.id,
        prompt=question.question,
        files=files,
        answer=list(question.answers),
        check="vqa",
        meta={
            "metric": question.metric,
            **({"choices": options} if options else {}),
            **question.meta,
        },
    )


def write_questions(questions: Iterable[VisualQuestion], out: Path, split: str) -> list[Task]:
    """Write `<split>.jsonl` and the images beside it; equal images are written once.

    Agents see the images as `image.png`, or as `image-1.png` and so on.

    Args:
        questions: taken one by one.
        out: folder; files of the same names are replaced.
        split: name of the task file.

    Raises:
        BadInput: if an image cannot be read, or the folder cannot be written.
    """
    tasks: list[Task] = []
    for question in questions:
        files: dict[str, str] = {}
        for number, path in enumerate(question.images, 1):
            try:
                data = read_foreign(path)
            except OSError as error:
                raise BadInput(f"{question.id!r}: cannot read its image: {error}") from error
            suffix = path.suffix.lower()
            relative = f"images/{digest(data)[:16]}{suffix}"
            if not (out / relative).is_file():
                write_atomic(out / relative, data)
            label = f"image-{number}" if len(question.images) > 1 else "image"
            files[label + suffix] = relative
        tasks.append(visual_task(question, files))
    write_tasks(tasks, out, split)
    return tasks
