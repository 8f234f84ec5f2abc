"""Visual question answering: loaders of public sets, and recorded answers with verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from harness.core import Task
from harness.corpora.loaders.published import load, load_some
from harness.vision.corpora import sets
from harness.vision.corpora.question import VisualQuestion, visual_task, write_questions
from harness.vision.corpora.verdicts import RecordedVerdict, recorded_verdicts

__all__ = [
    "VISUAL_LOADERS",
    "RecordedVerdict",
    "VisualQuestion",
    "convert_visual",
    "load_questions",
    "recorded_verdicts",
    "visual_task",
    "write_questions",
]

VISUAL_LOADERS: dict[str, Callable[[Path], Iterator[VisualQuestion]]] = {
    "docvqa": sets.docvqa,
    "infographicvqa": sets.infographicvqa,
    "textvqa": sets.textvqa,
    "chartqa": sets.chartqa,
    "tabmwp": sets.tabmwp,
    "mathvista": sets.mathvista,
    "scienceqa": sets.scienceqa,
    "sroie": sets.sroie,
}
"""Name of a set -> its loader."""


def load_questions(name: str, path: Path) -> Iterator[VisualQuestion]:
    """The questions of a public set, one by one.

    Args:
        name: of :data:`VISUAL_LOADERS`.
        path: its file; images are looked for beside it.

    Raises:
        BadInput: for another name, or if the file or a record has another form.
    """
    return load(VISUAL_LOADERS, name, path)


def convert_visual(
    name: str, path: Path, out: Path, split: str = "test", limit: int | None = None
) -> list[Task]:
    """Write a public set as a task file with its images, ready for `harness eval`.

    Args:
        name: of :data:`VISUAL_LOADERS`.
        path: as :func:`load_questions`.
        out: folder for `<split>.jsonl` and `images/`.
        split: name of the task file.
        limit: only the first so many questions.

    Raises:
        BadInput: as :func:`load_questions`, or if nothing was found.
    """
    return write_questions(load_some(VISUAL_LOADERS, name, path, limit), out, split)
