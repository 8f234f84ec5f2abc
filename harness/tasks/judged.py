"""What a judge of a task family says of an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from harness.core import Task


class Judged(NamedTuple):
    """A value in [0, 1], whether it is a pass, and figures beside it."""

    value: float
    ok: bool
    detail: dict[str, JsonValue]


Judge = Callable[[Task, Sequence[str], str], Judged]
"""(task, accepted answers, reply) -> what it is worth."""
