"""A matrix of eval runs from one file: suites x models x skills x context arms."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator

from harness.agents import SkillMode, ToolProtocol
from harness.core import BadInput, Value, digest, first_fault, read_json, read_yaml, write_atomic
from harness.evals.suite import LoadedSuite, Suite
from harness.models import SampleLimits, Sampling

FILE = "matrix.json"
AXES = ("suite", "model", "skill", "context")
MOST_CELLS = 500


class ContextArm(Value):
    """Tools and context that an arm gives to the agent, in place of the suite's own settings.

    None is what is not set; for `tools`, where it is written, what tasks of a kind are given.
    """

    agent: str | None = None
    skill_mode: SkillMode | None = None
    sampling: Sampling | None = None
    max_turns: int | None = Field(default=None, gt=0)
    limits: SampleLimits | None = None
    tools: tuple[str, ...] | None = None
    protocol: ToolProtocol | None = None

    def applied(self, suite: LoadedSuite) -> LoadedSuite:
        """The suite with these settings."""
        fields = {name: getattr(self, name) for name in self.model_fields_set}
        update = {name: v for name, v in fields.items() if v is not None or name == "tools"}
        changed: Suite = suite.suite.model_copy(update=update)
        return suite.model_copy(update={"suite": changed})


class ModelAt(Value):
    """A model spec, and its endpoint where it has one of its own."""

    spec: str
    base_url: str | None = None


class Cell(Value):
    """One eval run of a matrix; the fields are names on its axes."""

    suite: str
    model: str
    skill: str
    context: str

    @property
    def folder(self) -> str:
        """Name of its run folder: readable, and its own whatever the names."""
        names = [getattr(self, axis) for axis in AXES]
        words = [re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.")[:24] for name in names]
        return "--".join(word or "x" for word in words) + f"-{digest(names)[:6]}"


class MatrixFile(Value):
    """The file (YAML). Each axis is a list, or names with values.

    Attributes:
        name: of the matrix.
        suites: suite files or names.
        models: specs; a value may be `{spec, base_url}`.
        skills: skill directories; `none` is no skill.
        contexts: names with settings in place of the suite's (:class:`ContextArm`).
        base: names on the axes model, skill and context of the cell that others are compared
            with, suite by suite; the first of each axis where it is silent.
        epochs: attempts per task.
        limit: the first tasks of every suite only.
        seed: as in an eval run.
        sandbox: as in an eval run, but for `none`, which must be typed.
    """

    name: str = Field(min_length=1)
    suites: dict[str, str] = Field(min_length=1)
    models: dict[str, ModelAt] = Field(min_length=1)
    skills: dict[str, str | None] = Field(default={"none": None}, min_length=1)
    contexts: dict[str, ContextArm] = Field(default={"default": ContextArm()}, min_length=1)
    base: dict[str, str] = {}
    epochs: int = Field(default=1, gt=0)
    limit: int | None = Field(default=None, gt=0)
    seed: int = 41
    sandbox: str = "auto"

    @field_validator("models", mode="before")
    @classmethod
    def _specs(cls, value: Any) -> Any:
        # Validators run from the last one up: lists have their names by now.
        if not isinstance(value, Mapping):
            return value
        return {k: {"spec": v} if isinstance(v, str) else v for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType]  # raw YAML

    @field_validator("suites", "models", "skills", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        """A list names itself; a folder goes by its last part."""
        if not isinstance(value, list):
            return value
        rows = [str(entry) for entry in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # before-validators see raw YAML
        names = [
            # The last part of a path to a folder or file of ours; a spec stays what it is.
            Path(row).stem
            if row.startswith((".", "/")) or row.endswith((".yaml", ".jsonl")) or "skills/" in row
            else row
            for row in rows
        ]
        if len(set(names)) < len(names):
            names = rows
        if len(set(names)) < len(names):
            raise ValueError(f"names an entry twice: {rows}")
        return {name: None if row == "none" else row for name, row in zip(names, rows, strict=True)}

    def cells(self) -> list[Cell]:
        """All cells, suites outermost."""
        names = (self.suites, self.models, self.skills, self.contexts)
        return [
            Cell(suite=suite, model=model, skill=skill, context=context)
            for suite, model, skill, context in itertools.product(*names)
        ]

    def base_of(self, suite: str) -> Cell:
        """The cell that others of this suite are compared with."""
        axes = {"model": self.models, "skill": self.skills, "context": self.contexts}
        levels = {axis: self.base.get(axis, next(iter(names))) for axis, names in axes.items()}
        return Cell(suite=suite, **levels)


def read_matrix(path: Path) -> MatrixFile:
    """Read a matrix file.

    Raises:
        BadInput: if it cannot be read, has unknown fields, or its base is no cell.
    """
    try:
        matrix = MatrixFile.model_validate(read_yaml(path))
    except ValidationError as error:
        raise BadInput(f"{path}: {first_fault(error, 'matrix', MatrixFile)}") from error
    if unknown := sorted(matrix.base.keys() - {"model", "skill", "context"}):
        raise BadInput(f"{path}: base: expected model, skill or context, got {unknown[0]!r}")
    cells = matrix.cells()
    for suite in matrix.suites:
        if (base := matrix.base_of(suite)) not in cells:
            names = ", ".join(f"{axis} {getattr(base, axis)!r}" for axis in AXES[1:])
            raise BadInput(f"{path}: the base is no cell: {names}")
    if len(cells) > MOST_CELLS:
        raise BadInput(f"{path}: expected at most {MOST_CELLS} cells, got {len(cells)}")
    return matrix


class MatrixLock(Value):
    """Lock of a matrix folder: names only, so that it can be shared.

    Attributes:
        matrix: digest of the file's content.
        base: the base cell of every suite.
    """

    schema_version: int = 1
    name: str
    matrix: str
    cells: tuple[Cell, ...]
    base: dict[str, Cell]


def lock_of(matrix: MatrixFile) -> MatrixLock:
    """The lock of a matrix."""
    return MatrixLock(
        name=matrix.name, matrix=digest(matrix.model_dump(mode="json")),
        cells=tuple(matrix.cells()), base={suite: matrix.base_of(suite) for suite in matrix.suites},
    )  # fmt: skip


def read_lock(folder: Path) -> MatrixLock:
    """The lock of a matrix folder.

    Raises:
        BadInput: if there is none, or one of another version.
    """
    if not (folder / FILE).is_file():
        raise BadInput(f"no matrix at {str(folder)!r} (expected a folder with {FILE})")
    try:
        return MatrixLock.model_validate(read_json(folder / FILE))
    except ValidationError as error:
        raise BadInput(f"{str(folder / FILE)!r} cannot be read: {error}") from error


def write_lock(folder: Path, lock: MatrixLock) -> None:
    """Write the lock, or make sure that the folder holds the same matrix.

    Raises:
        BadInput: if it holds another one.
    """
    if not (folder / FILE).is_file():
        write_atomic(folder / FILE, lock.model_dump_json(indent=1) + "\n")
    elif read_lock(folder) != lock:
        raise BadInput(f"{str(folder)!r} holds another matrix: name another folder with --out")
