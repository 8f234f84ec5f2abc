"""The values of the baselines."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from harness.core import BadInput, Patch, Usage, Value
from harness.evals import ItemRecord, LoadedSuite
from harness.evolve.evidence import task_prompt
from harness.evolve.outcome import Finished
from harness.evolve.types import AnalystRecord
from harness.models import Model
from harness.rag.retrieve import EncoderKind
from harness.skills import ApplyResult, Skill, apply_patch

BaselineName = Literal[
    "none", "seed", "parametric", "sequential-1", "sequential-4", "random-half", "memory"
]
NAMES: tuple[BaselineName, ...] = get_args(BaselineName)
Evaluate = Callable[[str, Path | None, LoadedSuite], Coroutine[Any, Any, list[ItemRecord]]]
"""Runs a suite under a baseline's name, with a skill directory or with none."""
Memories = Callable[[LoadedSuite], LoadedSuite]
"""A suite with what is remembered in the prompts of its tasks."""


@dataclass(frozen=True)
class Baseline:
    """What one baseline made of the trajectories.

    Attributes:
        name: of the baseline.
        skill: the skill to run with; None to run without one.
        memories: puts memories into the prompts of tasks; None for a baseline of a skill alone.
        usage: calls made for this baseline alone.
        seconds: wall time of making it, without the shared records.
        shared_tokens: tokens of the analysts whose records it took over.
        losses: why replies or edits could not be used.
        note: what a reader of its number must know.
    """

    name: BaselineName
    skill: Skill | None = None
    memories: Memories | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    shared_tokens: int = 0
    losses: tuple[str, ...] = ()
    note: str = ""


class BaselineRow(Value):
    """One baseline against the evolved skill, paired by task.

    Attributes:
        name: of the baseline.
        pass_rate: over its valid attempts; None if none was valid.
        tasks: tasks with a valid attempt on both sides.
        difference: pass rate of the evolved skill minus that of the baseline, over `tasks`.
        ci95: 95 % interval of the difference.
        p: two-sided p-value of the difference; not corrected for the number of baselines.
        calls: model calls that made the baseline, without the attempts at tasks.
        tokens: of those calls.
        seconds: wall time of making it.
        shared_tokens: tokens of the evolution's analysts, whose work it took over.
        attempt_tokens: tokens of the attempts at tasks.
        skill: digest of the skill; None without one.
        losses: why replies or edits could not be used.
        note: what a reader of its number must know.
    """

    name: BaselineName
    pass_rate: float | None
    tasks: int
    difference: float | None
    ci95: tuple[float, float] | None
    p: float | None
    calls: int
    tokens: int
    seconds: float
    shared_tokens: int
    attempt_tokens: int
    skill: str | None
    losses: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Ground:
    """What every baseline starts from: the finished evolution.

    Attributes:
        done: the evolution, its shelf open.
        model: writes skills and edits; None where no baseline asks one.
        seed: of every random choice.
        encoder: how the memory finds similar tasks.
        nearest: earlier tasks that the memory gives a new one (ReasoningBank: 1).
    """

    done: Finished
    model: Model | None = None
    seed: int = 0
    encoder: EncoderKind = "lexical"
    nearest: int = 1

    @property
    def start(self) -> Skill:
        """The seed skill."""
        return self.done.evolution.seed

    @property
    def records(self) -> tuple[AnalystRecord, ...]:
        """The analysts' records, in their order."""
        return self.done.collected.records

    @cached_property
    def prompts(self) -> dict[str, str]:
        """Task id -> what was asked, of the trajectories in their order."""
        runs = self.done.runs
        loaded = runs.load(self.done.evolution.shelf)
        return {run.task_id: task_prompt(one) for run, one in zip(runs.runs, loaded, strict=True)}

    def needed(self, name: str) -> Model:
        """The model.

        Raises:
            BadInput: if there is none.
        """
        if self.model is None:
            raise BadInput(f"the baseline {name!r} asks a model: give --model")
        return self.model


def refined(skill: Skill, patch: Patch) -> tuple[Skill, str]:
    """(the skill with the whole patch and "", or the skill as it was and why)."""
    result: ApplyResult = apply_patch(skill, patch)
    if result.withheld:
        edit, reason = result.withheld[0]
        return (
            skill,
            f"{len(result.withheld)} of {len(patch.edits)} edits withheld, {edit.op}: "
            + (result.rolled_back or reason),
        )
    return replace(result.skill, warnings=()), ""
