"""A task: what an agent is asked, with what files, and how the answer is judged."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from pydantic import Field, JsonValue, field_validator

from harness.core.values import Value


class Task(Value):
    """One row of a task file (DESIGN section 3).

    Attributes:
        id: unique within its suite.
        prompt: what the agent is asked.
        files: name in the agent's work folder -> path, relative to the task file or absolute. A
            list of paths is read as name = last path component.
        answer: the expected answer, for scorers that compare.
        check: a scorer's name, `file.py:function`, or a command whose exit 0 is a pass.
        meta: anything a task family needs (stratum, difficulty, answer range, ...).
    """

    id: str = Field(min_length=1)
    prompt: str
    files: dict[str, str] = {}
    answer: JsonValue = None
    check: str | None = None
    meta: dict[str, JsonValue] = {}

    @field_validator("id", mode="before")
    @classmethod
    def _numeric_id(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int) else value

    @field_validator("files", mode="before")
    @classmethod
    def _list_of_paths(cls, value: Any) -> Any:
        if isinstance(value, list):
            return {PurePosixPath(str(path)).name: str(path) for path in value}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]  # before-validators see raw JSON
        return value

    @field_validator("files")
    @classmethod
    def _names_stay_inside(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.parts:
                raise ValueError(f"file name must stay inside the work folder, got {name!r}")
        return value
