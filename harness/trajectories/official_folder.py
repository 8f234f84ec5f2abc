"""Folders of official Trace2Skill output: logs, their labels, and the two result files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, JsonValue, ValidationError

from harness.core import BadInput, Trajectory, Value
from harness.core.jsonl import read_json
from harness.core.values import first_fault
from harness.trajectories.official import LogFormat, from_log
from harness.trajectories.official_log import (
    dump_jsonl,
    dump_markdown,
    parse_jsonl,
    parse_with_sidecar,
)

_NAME = re.compile(
    r"(?P<agent>[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*_agent)_(?P<task>.+?)"
    r"(?:_(?P<label>SUCCEED|FAILED))?"
)
_SEED = re.compile(r"seed_(\d+)")
_OUTCOMES = {"SUCCEED": "pass", "FAILED": "fail"}
SIDECAR_SUFFIX = ".sidecar.json"


class _Open(Value):
    """A record of the official code: further fields are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class InstanceScore(_Open):
    """One instance of `eval_official_results.json`: soft: share of passed cases."""

    id: str
    instruction_type: str = ""
    soft_score: float
    hard_score: float


class OfficialScores(Value):
    """Scores of a run: means over its instances."""

    instances: tuple[InstanceScore, ...]

    @property
    def soft(self) -> float:
        """Mean soft score."""
        return mean_soft(self.instances)

    @property
    def hard(self) -> float:
        """Mean hard score."""
        return mean_hard(self.instances)


class RunInstance(_Open):
    """One instance of `results.json`: `success` says only that an output file was made."""

    id: str
    instruction: str = ""
    success: bool
    error: str = ""
    test_cases: tuple[dict[str, JsonValue], ...] = ()


class OfficialRun(_Open):
    """`results.json`."""

    agent_name: str
    model: str
    seed: int | None = None
    total_instances: int
    successful_instances: int
    results: tuple[RunInstance, ...]


def mean_soft(instances: Sequence[InstanceScore]) -> float:
    """Mean share of passed test cases (SpreadsheetBench "soft restriction").

    Raises:
        BadInput: if there is no instance.
    """
    return _mean([instance.soft_score for instance in instances])


def mean_hard(instances: Sequence[InstanceScore]) -> float:
    """Share of instances whose every test case passed ("hard restriction").

    Raises:
        BadInput: if there is no instance.
    """
    return _mean([instance.hard_score for instance in instances])


def _mean(values: list[float]) -> float:
    if not values:
        raise BadInput("expected at least one scored instance, got none")
    return sum(values) / len(values)


def read_scores(path: Path) -> OfficialScores:
    """Read `eval_official_results.json`.

    Raises:
        BadInput: if the file is missing or of another shape.
    """
    document = _read_json(path)
    try:
        return OfficialScores.model_validate({"instances": document.get("results")})
    except ValidationError as error:
        raise BadInput(
            f"{path}: expected official evaluation results: {first_fault(error)}"
        ) from error


def read_run(path: Path) -> OfficialRun:
    """Read `results.json`.

    Raises:
        BadInput: if the file is missing or of another shape.
    """
    try:
        return OfficialRun.model_validate(_read_json(path))
    except ValidationError as error:
        raise BadInput(f"{path}: expected official run results: {first_fault(error)}") from error


def _read_json(path: Path) -> dict[str, Any]:
    document = read_json(path)
    if not isinstance(document, dict):
        raise BadInput(f"{path}: expected a JSON object, got {type(document).__name__}")
    return document  # pyright: ignore[reportUnknownVariableType]  # raw JSON


def log_files(path: Path) -> list[Path]:
    """The official logs in a folder and below it, sorted."""
    found = [*path.rglob("*.md"), *path.rglob("*.jsonl")]
    return sorted(file for file in found if file.is_file() and is_log(file))


def is_log(path: Path) -> bool:
    """Whether a file starts like an official log."""
    with path.open("rb") as handle:
        head = handle.read(200)
    if path.suffix == ".md":
        return head.startswith(b"# Chat History: ")
    return path.suffix == ".jsonl" and b'"type": "session_start"' in head.replace(b'":"', b'": "')


def read_logs(path: Path, scores: OfficialScores | None = None) -> Iterator[Trajectory]:
    """Convert one log or a folder of logs.

    Args:
        path: log file or folder.
        scores: labels for logs whose names carry none.

    Raises:
        BadInput: if a log is damaged (the file is named).
    """
    base = path if path.is_dir() else path.parent
    outcomes = (
        {row.id: "pass" if row.hard_score >= 1 else "fail" for row in scores.instances}
        if scores
        else {}
    )
    for file in log_files(path) if path.is_dir() else [path]:
        yield read_log(file, file.relative_to(base).as_posix(), outcomes)


def read_log(file: Path, relative: str, outcomes: dict[str, str]) -> Trajectory:
    """Convert one log file; `relative` names it when it is exported again."""
    text = _read_text(file)
    log_format: LogFormat = "jsonl" if file.suffix == ".jsonl" else "md"
    if log_format == "md":
        beside = file.with_name(file.name + SIDECAR_SUFFIX)
        log = parse_with_sidecar(text, _read_json(beside) if beside.exists() else None, str(file))
        same = dump_markdown(log) == text
    else:
        log = parse_jsonl(text, str(file))
        same = dump_jsonl(log) == text
    if not log.messages:
        raise BadInput(f"{file}: a log without messages cannot be a trajectory")
    facts, trajectory_id = _facts(relative, outcomes)
    return from_log(log, trajectory_id, log_format, facts, None if same else text)


def _read_text(file: Path) -> str:
    try:
        return file.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {str(file)!r} as UTF-8 text: {error}") from error


def _facts(relative: str, outcomes: dict[str, str]) -> tuple[dict[str, JsonValue], str]:
    facts: dict[str, JsonValue] = {"source": "trace2skill", "path": relative}
    stem = relative.rsplit(".", 1)[0]
    name = _NAME.fullmatch(stem.rsplit("/", 1)[-1])
    if name is None:
        return facts, stem
    facts["task_id"] = name["task"]
    outcome = _OUTCOMES.get(name["label"] or "") or outcomes.get(name["task"])
    if outcome is not None:
        facts["outcome"] = outcome
    seed = _SEED.search(stem)
    if seed is None:
        return facts, name["task"]
    facts["seed"] = int(seed[1])
    return facts, f"{name['task']}_seed_{seed[1]}"
