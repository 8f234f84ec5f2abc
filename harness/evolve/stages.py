"""The stages of Trace2Skill as functions of one evolution; `graphs/trace2skill.py` wires them.

What a stage makes stays in the evolution's store; graph state carries its digest.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.core import BadInput, Patch, Trajectory, Usage, Value, digest
from harness.evals.runner import Tally
from harness.evals.types import ItemRecord
from harness.evolve.analysts import analyse, map_records, teaches
from harness.evolve.assemble import assemble
from harness.evolve.evidence import outcome, task_id
from harness.evolve.exemplar import exemplar_patch
from harness.evolve.gate import gate, planned
from harness.evolve.merge import merge_deterministic
from harness.evolve.merge_model import merge_with_model
from harness.evolve.records import RecordedPatches, read_recorded, to_patch
from harness.evolve.types import (
    AnalystRecord,
    Discarded,
    EvolveOptions,
    GateResult,
    Loss,
    Merge,
)
from harness.evolve.wording import benchmark_terms
from harness.models.types import Model
from harness.skills import ApplyResult, Skill, apply_patch, new_skill, validate, write_skill

Evaluate = Callable[[Path | None], Awaitable[list[ItemRecord]]]
State = dict[str, Any]
HOW_TO = (
    "\n# {title}\n\n## How to use this skill\n\n"
    "Read the rules before you start and follow those that fit; what the task itself says comes "
    "first. Every rule was learned from the runs of {support}; within a section the best "
    "supported stands first.\n"
)
HOW_TO_EXAMPLES = (
    "\n# {title}\n\n## How to use this skill\n\nAnswer in the form that is shown here.\n"
)


class Event(Value):
    """Progress: `done` of `total` units of a stage (0 of 0 for a message alone)."""

    stage: str
    message: str = ""
    done: int = 0
    total: int = 0


def tally_event(label: str, tally: Tally) -> Event:
    """The state of an eval run as an event of the evolution."""
    state = f"{tally.failed} failed, {tally.invalid} invalid, {tally.usage.tokens:,} tokens"
    return Event(stage=label, done=tally.done, total=tally.total, message=state)


@dataclass
class Evolution:
    """One evolution: what it works on, and what its stages have made so far.

    Attributes:
        options: what was asked for.
        trajectories: the runs at hand.
        seed: the skill to start from.
        model: answers the analysts' requests; None where none is needed.
        merger: answers the merger's requests.
        evaluate: runs the gate's tasks with a skill directory (or none).
    """

    options: EvolveOptions
    trajectories: Sequence[Trajectory]
    seed: Skill
    model: Model | None = None
    merger: Model | None = None
    evaluate: Evaluate | None = None
    progress: Callable[[Event], None] = lambda event: None
    usage: Usage = field(default_factory=Usage)
    records: tuple[AnalystRecord, ...] = ()
    recorded: RecordedPatches | None = None
    patches: list[Patch] = field(default_factory=list[Patch])
    levels: list[tuple[Patch, ...]] = field(default_factory=list[tuple[Patch, ...]])
    merged: Merge = field(default_factory=lambda: Merge(patch=Patch()))
    final: Patch = field(default_factory=Patch)
    discarded: list[Discarded] = field(default_factory=list[Discarded])
    losses: list[Loss] = field(default_factory=list[Loss])
    applied: ApplyResult | None = None
    problems: list[str] = field(default_factory=list[str])
    verdict: GateResult = field(default_factory=lambda: GateResult(verdict="not gated"))

    @property
    def tasks(self) -> dict[str, str]:
        """Trajectory id -> task id."""
        known = {record.trajectory_id: record.task_id for record in self.records}
        return known | {one.trajectory_id: task_id(one) for one in self.trajectories}

    @property
    def skill_dir(self) -> Path:
        """Where the evolved skill is written."""
        return self.options.out / "skill" / self.seed.name

    async def analysts(self) -> State:
        """T- and T+ become records: recorded ones, a model's, or none for the exemplar."""
        options = self.options
        if options.patches is not None:
            outcomes = {task_id(t): (t.trajectory_id, outcome(t)) for t in self.trajectories}
            self.recorded = read_recorded(
                options.patches, outcomes, keep_unmatched=options.keep_unmatched
            )
            wanted = ("error", "success") if options.signal == "combined" else (options.signal,)
            self.records = tuple(r for r in self.recorded.records if r.kind in wanted)
            self.losses += self.recorded.losses
        elif options.analyst == "single":
            found = await analyse(
                self.trajectories,
                _needed(self.model, "an analyst"),
                signal=options.signal,
                skill=self.seed.text,
                concurrency=options.concurrency,
                on_done=lambda done, total: self.progress(
                    Event(stage="analysts", done=done, total=total)
                ),
            )
            self.records, self.usage = found.records, self.usage + found.usage
            self.losses += found.losses
        return {"records": digest([one.model_dump(mode="json") for one in self.records])}

    async def map(self) -> State:
        """One record becomes one patch."""
        options = self.options
        if options.analyst == "exemplar" and options.patches is None:
            signal = options.signal
            taught = [t for t in self.trajectories if teaches(t, signal) is not None]
            self.patches = [exemplar_patch(taught, options.examples)]
        elif options.merge == "model" and options.patches is None:
            self.patches, losses, usage = await map_records(
                self.records,
                _needed(self.model, "the map stage"),
                self.seed.text,
                concurrency=options.concurrency,
            )
            self.losses += losses
            self.usage += usage
        else:
            self.patches = [to_patch(r, index) for index, r in enumerate(self.records, start=1)]
        self.progress(Event(stage="map", message=f"{len(self.patches)} patches"))
        return {"patches": _digest(self.patches)}

    async def reduce(self) -> State:
        """Many patches become one, with `sources` and `support` on every edit."""
        options, terms = self.options, benchmark_terms(self.trajectories)
        if options.analyst == "exemplar" and options.patches is None:
            self.merged = Merge(patch=self.patches[0], method="exemplar (no merge)")
        elif options.merge == "model":
            result = await merge_with_model(
                self.patches,
                _needed(self.merger, "--merge model"),
                self.tasks,
                batch=options.merge_batch,
                terms=terms,
                concurrency=options.concurrency,
            )
            self.merged, self.levels = result.merge, list(result.levels)
            self.losses += result.losses
            self.usage += result.usage
        else:
            self.merged = merge_deterministic(self.patches, self.tasks, terms)
            self.levels = [(self.merged.patch,)]
        self.discarded += self.merged.discarded
        return {"merged": _digest([self.merged.patch])}

    async def apply(self) -> State:
        """The merged patch becomes edits of the seed, applied whole or not at all."""
        options, merged = self.options, self.merged.patch
        if options.analyst == "exemplar" and options.patches is None:
            edits = merged.edits
        else:
            edits, dropped = assemble(
                self.seed,
                merged.edits,
                self.tasks,
                min_support=options.min_support,
                max_rules=options.max_rules,
            )
            self.discarded += dropped
        self.final = merged.model_copy(update={"edits": edits, "batch_index": -1})
        self.applied = apply_patch(self.seed, self.final)
        for edit, reason in self.applied.withheld:
            self.discarded.append(
                Discarded(
                    content=edit.content, reason=reason, sources=edit.sources, support=edit.support
                )
            )
        return {"skill": self.applied.skill.digest}

    async def verify(self) -> State:
        """The skill is validated, and written only if it has no error."""
        assert self.applied is not None, "verify runs behind apply"
        skill = self.applied.skill
        found = validate(skill)
        errors = [str(one) for one in found if one.level == "error"]
        if errors:
            raise BadInput(f"the evolved skill is not valid, nothing was written: {errors[0]}")
        self.problems = [str(one) for one in found]
        write_skill(skill, self.skill_dir)
        return {"problems": self.problems}

    async def gate(self) -> State:
        """Before and after on tasks that no analyst saw; without them the skill is not gated."""
        if self.applied is None or not any(one.changed for one in self.applied.applied):
            reason = "nothing was learned: no edit came out of these runs"
            self.verdict = GateResult(verdict="not gated", reason=reason)
        elif self.evaluate is None:
            reason = "no gate was asked for: whether the skill helps is unknown"
            self.verdict = GateResult(verdict="not gated", reason=reason)
        else:
            self.progress(Event(stage="gate", message="without the new skill"))
            before = await self.evaluate(self.options.skill)
            self.progress(Event(stage="gate", message="with the new skill"))
            after = await self.evaluate(self.skill_dir)
            self.usage = sum((item.usage for item in (*before, *after)), self.usage)
            self.verdict = gate(before, after, self.options.margin)
        return {"gate": self.verdict.model_dump(mode="json")}

    def announce(self) -> None:
        """Say what the gate will be able to tell, before anything is spent."""
        if self.evaluate is not None and self.options.gate_tasks:
            text = planned(self.options.gate_tasks, self.options.expected_discordance)
            self.progress(Event(stage="gate", message=text))


def _needed(model: Model | None, who: str) -> Model:
    if model is None:
        raise BadInput(
            f"{who} needs a model: give --model, or use --patches with --merge deterministic, or "
            "--analyst exemplar"
        )
    return model


def seed_skill(options: EvolveOptions) -> Skill:
    """The skill to start from.

    Raises:
        BadInput: if not exactly one of `skill` and `create` is given, or the name is none.
    """
    from harness.skills import load_skill

    if (options.skill is None) == (options.create is None):
        raise BadInput("give either --skill DIR (deepening) or --create NAME (creation)")
    if options.skill is not None:
        return load_skill(options.skill)
    name = options.create or ""
    if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name) or len(name) > 64:
        raise BadInput(f"expected a name of lower-case words and hyphens, got {name!r}")
    words = name.replace("-", " ")
    about = options.description or (
        f"Rules for {words}, distilled from many agent runs. Use for tasks of {words}."
    )
    exemplar = options.analyst == "exemplar" and options.patches is None
    tasks = f"at least {options.min_support} different tasks"
    body = (HOW_TO_EXAMPLES if exemplar else HOW_TO).format(title=words.capitalize(), support=tasks)
    return new_skill(name, about, body)


def _digest(patches: Sequence[Patch]) -> str:
    return digest([patch.model_dump(mode="json") for patch in patches])
