"""One evolution: what it was asked, what it works with, and its way from options to a result."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from harness.core import BadInput, Patch, Trajectory, Usage, Value, assets, digest
from harness.core.segments import only_writer
from harness.evals import ItemRecord
from harness.evolve.analysts.exemplar import EXPECTED
from harness.evolve.analysts.single import Background, Read, checked, single_reader
from harness.evolve.artifacts import NAME, ArtifactStore, Runs
from harness.evolve.description import Described, describe_tasks
from harness.evolve.merge.deterministic import signs_of_rules
from harness.evolve.merge.similarity import warm
from harness.evolve.settings import WITHOUT_MODEL, EvolveOptions, seed_skill
from harness.evolve.types import Collected, Draft, EvolveResult, Merge, MergeStep, Patches
from harness.models import Model
from harness.skills import (
    Execute,
    Problem,
    Skill,
    admit_scripts,
    new_skill,
    validate,
)
from harness.stats import SequentialPlan, seen_at_least

Evaluate = Callable[[Path | None, tuple[str, ...]], Coroutine[Any, Any, list[ItemRecord]]]
"""Runs the gate's tasks of these ids with a skill directory, or with none."""
Write = Callable[[Sequence[Trajectory]], Coroutine[Any, Any, tuple[Draft, Usage]]]
Rollouts = Callable[[], Coroutine[Any, Any, tuple[Path, Usage]]]
Trials = Callable[[Path | None, str], Coroutine[Any, Any, list[ItemRecord]]]
"""Runs the trial tasks of a selection with a skill directory, or with none, under a label."""
Afterwards = Callable[[Any], Coroutine[Any, Any, Sequence[Any]]]
"""Measures a finished evolution (:class:`harness.evolve.report.Finished`), a row a comparison."""
if TYPE_CHECKING:
    from harness.evolve.acceptance import JudgeEdits
    from harness.evolve.merge.outcomes import Contrast

ResultT = TypeVar("ResultT")
State = Mapping[str, Any]
"""The state of `graphs/trace2skill.py`, JSON only."""
CHECKPOINTS = "checkpoints.sqlite"
# Tasks whose prompts the description of a new skill is made from.
DESCRIBED_TASKS = 400
# Supersteps: more than any evolution takes; the library's own limit is for agents that loop.
SUPERSTEPS = 10_000
# Shares of the runs in which a cause makes an attempt fail, for what is said beforehand.
RATES = (0.01, 0.02, 0.05, 0.1)


class Event(Value):
    """Progress: `done` of `total` units of a stage (0 of 0 for a message alone)."""

    stage: str
    message: str = ""
    done: int = 0
    total: int = 0


def ignore_event(event: Event) -> None:
    """Progress that nobody watches."""


async def detached(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Await `work` outside of the graph that is running.

    A graph that is started inside a node counts as a part of it and would write its checkpoints
    among those of the evolution. Agents and analysts are graphs of their own.
    """
    return await asyncio.create_task(work, context=contextvars.Context())


@dataclass
class Evolution:
    """The runtime context of `graphs/trace2skill.py`: what the stages work with. What they make
    lies in the artifact store, so that another process can resume a checkpoint.

    Attributes:
        options: what was asked for.
        seed: the frozen skill that every analyst reads and the result starts from.
        store: values that the state names by digest.
        kept: where the trajectories lie, if not there.
        rollouts: makes the trajectories; None where they are given.
        read: the analyst; None where none is needed.
        mapper: writes patches from records; None for the records' own lessons.
        judge: accepts proposed edits; None merges them all.
        merger: merges patches; None for the deterministic merge.
        describer: writes and chooses the description of a new skill; None for words alone.
        trial: runs the tasks that sets of lessons are selected on.
        evaluate: runs tasks of the gate.
        execute: runs a command in a sandbox, to try the scripts of a skill.
        write: makes the patch of all runs that teach, in place of worked examples.
        gate_tasks: ids of the tasks that the gate has at hand.
        gate_groups: task -> its group, of those that have one.
        simulated: whether a model that is asked is a simulated one.
        progress: called with every event.
        done: analysts that have finished, of `total`, for the progress.
        unanswered: analysts in a row whose model did not answer.
        contrasts: by the keys of runs and records: reading the runs again takes long.
    """

    options: EvolveOptions
    seed: Skill
    store: ArtifactStore = field(default_factory=ArtifactStore)
    kept: ArtifactStore | None = None
    rollouts: Rollouts | None = None
    read: Read | None = None
    mapper: Model | None = None
    judge: JudgeEdits | None = None
    merger: Model | None = None
    describer: Model | None = None
    trial: Trials | None = None
    evaluate: Evaluate | None = None
    execute: Execute | None = None
    write: Write | None = None
    gate_tasks: tuple[str, ...] = ()
    gate_groups: Mapping[str, str] = field(default_factory=dict[str, str])
    simulated: bool = False
    progress: Callable[[Event], None] = ignore_event
    done: int = 0
    total: int = 0
    unanswered: int = 0
    contrasts: dict[tuple[str, str], Contrast | None] = field(
        default_factory=dict[tuple[str, str], "Contrast | None"]
    )

    def tell(self, stage: str, message: str = "", count: int = 0, total: int = 0) -> None:
        """Report progress."""
        self.progress(Event(stage=stage, message=message, done=count, total=total))

    def count_reading(self) -> None:
        """Report that one more analyst has finished; the first one leaves time for imports."""
        if not self.done:
            threading.Thread(target=warm, name="imports", daemon=True).start()
        self.done += 1
        self.tell("analysts", count=self.done, total=max(self.done, self.total))

    def runs(self, state: State) -> Runs:
        """The trajectories that the state names."""
        return self.store.hold(state["runs"], Runs)

    def tasks(self, state: State) -> Mapping[str, str]:
        """Trajectory id -> task id, of records without a trajectory too."""
        records = self.store.hold(state["collected"], Collected).records
        taught = {record.trajectory_id: record.task_id for record in records}
        return taught | {run.id: run.task_id for run in self.runs(state).runs}

    def contrast(self, state: State) -> Contrast | None:
        """Contrast failed and passed runs by what varies; None where no lesson quotes its run."""
        key = state["runs"], state["collected"]
        if key not in self.contrasts:
            from harness.evolve.merge.outcomes import Contrast

            records = self.store.hold(state["collected"], Collected).records
            store = self.kept or self.store
            self.contrasts[key] = Contrast.where_quoted(records, self.runs(state).runs, store)
        return self.contrasts[key]

    def citations(self, state: State) -> dict[tuple[str, str], tuple[str, ...]]:
        """Quotes of each lesson and of each rule so far, by a trajectory and the text."""
        records = self.store.hold(state["collected"], Collected).records
        quotes = {
            (record.trajectory_id, item.line): item.evidence
            for record in records
            for item in record.items
        }
        return quotes | signs_of_rules(step.merge for step in self.steps(state))

    def steps(self, state: State) -> list[MergeStep]:
        """Every merge of every level, in order."""
        return [self.store.get(key, MergeStep) for _, _, key in sorted(state["merged"])]

    def merged(self, state: State) -> Merge:
        """The final patch, best supported edits first, with what all merges left out."""
        steps = self.steps(state)
        last = self.store.hold(state["levels"][-1], Patches).patches
        final = last[0] if last else Patch(reasoning="no patches")
        method = steps[-1].merge.method if steps else ""
        if not self.options.lessons:
            expected = ", from expected answers" * (EXPECTED in final.changelog_entries)
            method = f"{self.options.analyst}{expected} (no merge)"
        elif self.merger is not None:
            method = f"model {self.merger.spec}, batches of {self.options.merge_batch}"
        edits = tuple(sorted(final.edits, key=lambda edit: -edit.support))
        return Merge(
            patch=final.model_copy(update={"edits": edits}),
            discarded=tuple(row for step in steps for row in step.merge.discarded),
            conflicts=tuple(row for step in steps for row in step.merge.conflicts),
            rules=tuple(row for step in steps for row in step.merge.rules),
            method=method,
        )

    async def describe(self, state: State) -> Described:
        """The description of a new skill, from one run of every task that teaches.

        A skill that was given, and a description that was given, stay as they are.
        """
        if self.options.skill is not None or self.options.description:
            return Described()
        runs = self.runs(state)
        tasks = {run.task_id: run for run in runs.runs if self.options.teaches(run.outcome)}
        taught = list(tasks.values())[:: -(-len(tasks) // DESCRIBED_TASKS) or 1]
        loaded = self.store.load(taught)
        return await describe_tasks(self.seed.name, loaded, frozenset(runs.terms), self.describer)

    def start(self, state: State) -> Skill:
        """The seed, with the description that a new skill got."""
        text = self.store.hold(state["described"], Described).text
        return new_skill(self.seed.name, text, self.seed.body) if text else self.seed

    def final(self, state: State) -> Patch:
        """The patch as it is applied."""
        return self.store.hold(state["final"], Draft).patch

    @property
    def plan(self) -> SequentialPlan | None:
        """Return the plan of the gate; None where nothing is gated."""
        if self.evaluate is None or not self.gate_tasks:
            return None
        from harness.evolve.gate import gate_plan

        return gate_plan(self.gate_tasks, self.options, self.gate_groups)

    @property
    def skill_dir(self) -> Path:
        """Folder of the evolved skill."""
        return self.options.out / "skill" / self.seed.name


def horizon(runs: int, min_support: int) -> str:
    """Say in one sentence what so many runs can show and what they cannot."""
    times = {1: "once", 2: "twice"}.get(min_support, f"{min_support} times")
    (rate, chance), *more = [(rate, seen_at_least(min_support, runs, rate)) for rate in RATES]
    rarer = "".join(f", with {chance:.0%} if {rate:.0%} do" for rate, chance in more)
    first = f"with {chance:.0%} probability if {rate:.0%} of all runs make it"
    return f"{runs} runs show a mistake at least {times} {first}{rarer}"


def check_skill(skill: Skill, execute: Execute | None) -> list[Problem]:
    """Warnings of the validator, and of running the skill's scripts in the sandbox.

    Raises:
        BadInput: if the skill has an error, or a script cannot be run, or there is no sandbox.
    """
    problems = validate(skill)
    if errors := [problem for problem in problems if problem.level == "error"]:
        raise BadInput(f"the evolved skill is not valid, nothing was written: {errors[0]}")
    if skill.scripts:
        if execute is None:
            raise BadInput(f"{skill.scripts[0]!r} is a script, and there is no sandbox for it")
        problems = [*problems, *admit_scripts(skill, execute)]
        if errors := [problem for problem in problems if problem.level == "error"]:
            raise BadInput(f"a script of the evolved skill does not run: {errors[0]}")
    return problems


async def evolve(
    options: EvolveOptions,
    *,
    model: Model | None = None,
    merger: Model | None = None,
    read: Read | None = None,
    judge: JudgeEdits | None = None,
    rollouts: Rollouts | None = None,
    trial: Trials | None = None,
    evaluate: Evaluate | None = None,
    gate_tasks: tuple[str, ...] = (),
    gate_groups: Mapping[str, str] | None = None,
    execute: Execute | None = None,
    write: Write | None = None,
    inputs: Mapping[str, Any] | None = None,
    compare: Afterwards | None = None,
    transfer: Afterwards | None = None,
    progress: Callable[[Event], None] = ignore_event,
) -> EvolveResult:
    """Distil trajectories into one skill directory under `options.out`, and gate it.

    Called again with the same options and inputs, an evolution that was stopped resumes after its
    last checkpoint; of one that had ended the skill and the verdict stand, and what `compare` and
    `transfer` measure is measured of them.

    Args:
        options: what to evolve from, and how.
        model: analysts' model; none is needed for recorded patches or the exemplar analyst.
        merger: model of the merge; default `model`.
        read: the analyst, in place of the single-call analyst.
        judge: accepts proposed edits.
        rollouts: makes the trajectories, in place of `options.trajectories`.
        trial: runs the tasks that sets of lessons are selected on, where `options.select` asks.
        evaluate: runs tasks of the gate with a skill directory, or with none.
        gate_tasks: ids of its tasks.
        gate_groups: task -> its group, of those that have one.
        execute: runs a command in a sandbox, to try scripts.
        write: makes the patch of all runs that teach, in place of worked examples.
        inputs: what decides the trajectories of `rollouts`, the same when it is resumed.
        compare: makes and runs baselines after the gate.
        transfer: runs the skill with other models and suites, last of all.
        progress: called with every event.

    Raises:
        BadInput: for options, trajectories or patches that cannot be used; nothing is written.
        Unreachable, LimitReached: from a model; answered calls stay in its request cache.
    """
    from harness.evolve.gate import refuse_other
    from harness.evolve.report import check_out, finished, result_of, write_all

    started = time.monotonic()
    check_out(options.out)
    seed = seed_skill(options)
    if rollouts is None and options.trajectories is None:
        raise BadInput("no trajectories: give --trajectories PATH, or --suite to make some")
    asks, merges = options.asking
    if asks and read is None:
        read = single_reader(_needed(model, "an analyst"), seed.text, Background.of(options))
    merging = _needed(merger or model, "--merge model") if merges else None
    if read is not None and options.check_conclusions:
        read = checked(read)
    content = options.given_content()
    with only_writer(options.out):
        evolution = Evolution(
            options=options,
            seed=seed,
            store=ArtifactStore(options.out / NAME),
            rollouts=rollouts,
            read=read if asks else None,
            mapper=model if merges and asks else None,
            judge=judge,
            merger=merging,
            describer=None if model is None or model.simulated else model,
            trial=trial,
            evaluate=evaluate,
            execute=execute,
            write=write,
            gate_tasks=gate_tasks,
            gate_groups=gate_groups or {},
            simulated=any(client is not None and client.simulated for client in (model, merger)),
            progress=progress,
        )
        if evolution.plan is not None:
            evolution.tell("gate", str(evolution.plan))
        identity = digest(  # what a stopped evolution must share with this one to be resumed
            {
                "options": options.fingerprint(),
                "inputs": dict(inputs or {}),
                "given": content,
                "gate": [evaluate is not None, sorted(gate_tasks)],
                "seed": seed.digest,
                "models": [client.spec if client else None for client in (model, merger)],
            }
        )
        try:
            refuse_other(options.out, identity)
            evolved = finished(evolution, await _run_graph(evolution, identity))
            baselines = await compare(evolved) if compare is not None else ()
            users = await transfer(evolved) if transfer is not None else ()
            result = result_of(evolved, identity, time.monotonic() - started, baselines, users)
            result = result.model_copy(update={"given": content})
            write_all(evolved, result)
            return result
        finally:
            evolution.store.close()


def _needed(model: Model | None, who: str) -> Model:
    if model is None:
        unasked = " or ".join(WITHOUT_MODEL)
        raise BadInput(f"{who} needs a model: give --model, or --patches, or --analyst {unasked}")
    return model


async def _run_graph(evolution: Evolution, thread: str) -> dict[str, Any]:
    """Run the graph, from its last checkpoint if it was stopped; the state that it ends with."""
    from harness.checkpoints import open_saver

    options = evolution.options
    config: Any = {
        "configurable": {"thread_id": thread},
        "max_concurrency": options.concurrency,
        "recursion_limit": SUPERSTEPS,
    }
    async with open_saver(options.out / CHECKPOINTS) as saver:
        graph: Any = assets.load_graph("trace2skill").builder.compile(checkpointer=saver)
        state = await graph.aget_state(config)
        if state.next:
            evolution.tell("resume", f"at {', '.join(set(state.next))}")
        elif state.values:
            evolution.tell("resume", "it had ended: its skill and the verdict on it stand")
            return state.values
        start = None if state.next else dict[str, Any]()
        return await graph.ainvoke(start, config, context=evolution, durability="sync")
