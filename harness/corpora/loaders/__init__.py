"""Public sets of questions over documents, read in the form in which they are published."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from harness.core import Task
from harness.corpora.loaders import longdoc, multihop, single, suites
from harness.corpora.loaders.published import load, load_some
from harness.corpora.loaders.recorded import (
    RecordedAnswer,
    SystemFigures,
    figures,
    recorded_answers,
)
from harness.corpora.reading import Reading, write_readings

__all__ = [
    "LOADERS",
    "RecordedAnswer",
    "SystemFigures",
    "convert",
    "figures",
    "load_readings",
    "recorded_answers",
]

LOADERS: dict[str, Callable[[Path], Iterator[Reading]]] = {
    "hotpotqa": multihop.hotpotqa,
    "twowiki": multihop.twowiki,
    "musique": multihop.musique,
    "bamboogle": multihop.bamboogle,
    "frames": multihop.frames,
    "strategyqa": multihop.strategyqa,
    "nq": single.natural_questions,
    "squad": single.squad,
    "leval": longdoc.leval,
    "qmsum": longdoc.qmsum,
    "quality": longdoc.quality,
    "narrativeqa": longdoc.narrativeqa,
    "longbench": suites.longbench,
    "longbench2": suites.longbench_v2,
    "infinitebench": suites.infinitebench,
}
"""Name of a set -> its loader."""


def load_readings(name: str, path: Path) -> Iterator[Reading]:
    """The questions of a public set, one by one.

    Args:
        name: of :data:`LOADERS`.
        path: its file (NarrativeQA: its folder).

    Raises:
        BadInput: for another name, or if the file or a record has another form.
    """
    return load(LOADERS, name, path)


def convert(
    name: str, path: Path, out: Path, split: str = "test", limit: int | None = None
) -> list[Task]:
    """Write a public set as a task file with its documents, ready for `harness eval`.

    Args:
        name: of :data:`LOADERS`.
        path: as :func:`load_readings`.
        out: folder for `<split>.jsonl` and `documents/`.
        split: name of the task file.
        limit: only the first so many questions.

    Raises:
        BadInput: as :func:`load_readings`, or if nothing was found.
    """
    return write_readings(load_some(LOADERS, name, path, limit), out, split)
