"""Scenes: a picture, questions about it, and all that is true of it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from pydantic import JsonValue

from harness.vision.questions import VisualMetric
from lab.corpora.folio.canvas import Canvas
from lab.corpora.folio.style import Style


class Asked(NamedTuple):
    """A question about a scene.

    Attributes:
        kind: what it takes (read, compare, add, count, place).
        text: the question.
        answer: the answer.
        metric: how it is judged.
    """

    kind: str
    text: str
    answer: str
    metric: VisualMetric = "printed"


class Scene(NamedTuple):
    """A drawn scene.

    Attributes:
        canvas: what was drawn.
        questions: about it.
        facts: what can be read off, one sentence each.
        truth: the same as values, for tools that read pictures.
    """

    canvas: Canvas
    questions: list[Asked]
    facts: tuple[str, ...]
    truth: dict[str, JsonValue]


Draw = Callable[[Random, Style], Scene]
