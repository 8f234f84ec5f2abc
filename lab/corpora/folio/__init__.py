"""The folio: pictures drawn by us with questions and exact truth: charts, papers, diagrams.

Two renderers, four style families. The family `newsprint` is in the test split alone, so that a
reader of pictures meets there a look that nothing was tuned on.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import NamedTuple

from harness.core import BadInput, Task, write_atomic
from harness.corpora import check_limit, write_tasks
from harness.vision.questions import VisualQuestion, visual_task
from lab.corpora.folio.charts import chart
from lab.corpora.folio.diagrams import flow, shapes
from lab.corpora.folio.papers import page, receipt
from lab.corpora.folio.scene import Draw, Scene
from lab.corpora.folio.style import KNOWN, UNSEEN, Family, draw_style, finished

# Questions of each split.
SIZES = {"train": 60, "selection": 60, "test": 160}
SEED = 20261121
# Scenes in turn; charts come twice as often as the others.
SCENES: tuple[tuple[str, Draw], ...] = (
    ("chart", chart),
    ("receipt", receipt),
    ("page", page),
    ("chart", chart),
    ("flow", flow),
    ("shapes", shapes),
)


class Picture(NamedTuple):
    """A drawn picture as a file.

    Attributes:
        id: of the picture; its questions are numbered behind it.
        kind: of the scene.
        family: of its style.
        suffix: `.png` or `.jpg`.
        data: the file.
        scene: what was drawn.
    """

    id: str
    kind: str
    family: Family
    suffix: str
    data: bytes
    scene: Scene


def pictures(split: str, seed: int = SEED) -> Iterator[Picture]:
    """The pictures of a split, without end; scenes take turns, families are dealt.

    Args:
        split: train, selection or test.
        seed: another seed gives other pictures.
    """
    families: tuple[Family, ...] = (*KNOWN, UNSEEN) if split == "test" else KNOWN
    for number in count():
        turn, index = divmod(number, len(SCENES))
        kind, draw = SCENES[index]
        family = families[(turn + index) % len(families)]
        name = f"folio-{split}-{number:03}"
        rng = Random(f"{seed}:{name}")
        style = draw_style(family, rng)
        scene = draw(rng, style)
        suffix, data = finished(scene.canvas.image(), style, rng)
        yield Picture(name, kind, family, suffix, data, scene)


def folio_tasks(split: str, seed: int = SEED) -> Iterator[tuple[Task, Picture]]:
    """Every question of a split as a task, with the picture that it is about.

    Raises:
        BadInput: for an unknown split.
    """
    if split not in SIZES:
        raise BadInput(f"expected a split out of {', '.join(SIZES)}, got {split!r}")
    count = 0
    for picture in pictures(split, seed):
        for number, drawn in enumerate(picture.scene.questions):
            if count == SIZES[split]:
                return
            count += 1
            question = VisualQuestion(
                id=f"{picture.id}-{number}",
                question=drawn.text,
                answers=(drawn.answer,),
                metric=drawn.metric,
                meta={
                    "kind": drawn.kind,
                    "scene": picture.kind,
                    "family": picture.family,
                    "stratum": f"{picture.kind}/{drawn.kind}",
                    "facts": list(picture.scene.facts),
                    "truth": picture.scene.truth,
                },
            )
            path = f"images/{picture.id}{picture.suffix}"
            yield visual_task(question, {f"image{picture.suffix}": path}), picture


def write_split(split: str, out: Path, limit: int | None = None, seed: int = SEED) -> list[Task]:
    """Write `<split>.jsonl` with `images/` beside it; the same bytes with the same libraries.

    Args:
        split: train, selection or test.
        out: folder; files of the same names are replaced.
        limit: only so many questions.
        seed: another seed gives another corpus.

    Raises:
        BadInput: if `limit` is below 1, a library is missing, or the folder cannot be written.
    """
    check_limit(limit)
    tasks: list[Task] = []
    for task, picture in folio_tasks(split, seed):
        if len(tasks) == limit:
            break
        (path,) = task.files.values()
        if not tasks or path not in tasks[-1].files.values():
            write_atomic(out / path, picture.data)
        tasks.append(task)
    write_tasks(tasks, out, split)
    return tasks
