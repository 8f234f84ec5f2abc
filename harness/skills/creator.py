"""The files of Anthropic's skill-creator: `evals.json`, `benchmark.json`, `history.json`.

Field names are those that its viewer reads; what we do not know of is kept when a file is read
and written again. Source: anthropics/skills, skill-creator/references/schemas.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.core import BadInput
from harness.core.values import first_fault

Configuration = Literal["with_skill", "without_skill"]
Grading = Literal["baseline", "won", "lost", "tie"]


class _Open(BaseModel):
    """A record that others write too: fields that we do not know are kept."""

    model_config = ConfigDict(frozen=True, extra="allow")


class EvalCase(_Open):
    """One task. `files` are relative to the skill; `name` is our task id, "" in other files."""

    id: int
    prompt: str
    expected_output: str = ""
    files: tuple[str, ...] = ()
    expectations: tuple[str, ...] = ()
    name: str = ""


class Evals(_Open):
    """`evals/evals.json` inside a skill."""

    skill_name: str
    evals: tuple[EvalCase, ...]


class Expectation(_Open):
    """A statement that was checked, with what it was checked by."""

    text: str
    passed: bool
    evidence: str = ""


class RunResult(_Open):
    """One run: counts of expectations, `pass_rate` in [0, 1], wall-clock seconds, tokens."""

    pass_rate: float
    passed: int
    failed: int
    total: int
    time_seconds: float = 0.0
    tokens: int = 0
    errors: int = 0


class BenchmarkRun(_Open):
    """One run of one eval under one configuration; `run_number` from 1."""

    eval_id: int
    eval_name: str = ""
    configuration: Configuration
    run_number: int = 1
    result: RunResult
    expectations: tuple[Expectation, ...] = ()
    notes: tuple[str, ...] = ()


class Spread(_Open):
    """Mean, sample standard deviation (0 for one value), smallest and largest."""

    mean: float
    stddev: float
    min: float | None = None
    max: float | None = None


class Summary(_Open):
    """The spread of one configuration."""

    pass_rate: Spread
    time_seconds: Spread
    tokens: Spread


class RunSummary(_Open):
    """Both configurations, where they were run, and signed differences of the means as text."""

    with_skill: Summary | None = None
    without_skill: Summary | None = None
    delta: dict[str, str] = {}


class Metadata(_Open):
    """What was run; `timestamp` is "" where nobody noted it."""

    skill_name: str
    skill_path: str = ""
    executor_model: str = ""
    analyzer_model: str = ""
    timestamp: str = ""
    evals_run: tuple[int | str, ...] = ()
    runs_per_configuration: int = 1


class Benchmark(_Open):
    """`benchmark.json`."""

    metadata: Metadata
    runs: tuple[BenchmarkRun, ...] = ()
    run_summary: RunSummary = RunSummary()
    notes: tuple[str, ...] = ()


class Iteration(_Open):
    """One version of the skill; `expectation_pass_rate` in [0, 1]."""

    version: str
    parent: str | None = None
    expectation_pass_rate: float
    grading_result: Grading
    is_current_best: bool = False


class History(_Open):
    """`history.json`; `started_at` is "" where nobody noted it."""

    started_at: str = ""
    skill_name: str
    current_best: str = ""
    iterations: tuple[Iteration, ...] = ()


CreatorFile = TypeVar("CreatorFile", Evals, Benchmark, History)


def read_creator(path: Path, kind: type[CreatorFile]) -> CreatorFile:
    """Read one of the files, whoever wrote it.

    Raises:
        BadInput: if it is missing or of another shape.
    """
    try:
        return kind.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BadInput(f"cannot read {str(path)!r}: {error.strerror}") from error
    except ValidationError as error:
        reason = first_fault(error)
        raise BadInput(f"{str(path)!r} is no {kind.__name__} file: {reason}") from error


def creator_text(value: Evals | Benchmark | History) -> str:
    """The file's text; a configuration that was not run is left out, as the viewer expects."""
    plain = value.model_dump(mode="json")
    summary = plain.get("run_summary")
    if isinstance(value, Benchmark) and summary:
        plain["run_summary"] = {key: one for key, one in summary.items() if one is not None}
    return json.dumps(plain, ensure_ascii=False, indent=2) + "\n"
