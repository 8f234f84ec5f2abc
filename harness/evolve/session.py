"""Putting the rooms together for an evolution: suites, models, sandbox, gate and comparisons."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.core import BadInput, loops, write_atomic
from harness.evals import LoadedSuite, agent_model_spec, budget_of, load_suite
from harness.evolve.analysts.single import Read, agentic_reader
from harness.evolve.baselines import BaselineRow, Ground, run_baselines
from harness.evolve.baselines.transfer import TransferPlan, TransferRow, held_out, run_transfer
from harness.evolve.evolution import Afterwards, Event, evolve, ignore_event, seed_skill
from harness.evolve.report import Finished
from harness.evolve.rollouts import SuiteRuns, gate_suite, selection_plan, split_of, train_suite
from harness.evolve.settings import EvolveOptions, EvolveSettings
from harness.evolve.types import EvolveResult
from harness.models import (
    Budget,
    CallStore,
    ChatModel,
    Model,
    Role,
    Sampling,
    open_model,
    parse_roles,
    parse_spec,
)
from harness.sandbox import Limits, Result, select
from harness.skills import Execute
from harness.stats import SequentialPlan

INTERRUPTED = "interrupted_calls.json"
# Settings that decide which trajectories are made.
ROLLOUTS = ("suite", "agent", "limit", "epochs", "models", "seed")
# Tokens of one reply of an embedded analyst or merger: three lessons and their quotes.
LOCAL_REPLY = 768


def plan_evolution(settings: EvolveSettings) -> dict[str, Any]:
    """What an evolution would do, without a model call: for `--dry-run`.

    Raises:
        BadInput: as :func:`run_evolution`, where the settings alone show it.
    """
    seed = seed_skill(settings)
    train = split_of(settings, settings.suite, "train") if settings.suite else None
    gated = gate_suite(settings)
    count = len(gated.tasks[: settings.limit]) if gated else 0
    users = transfer_plan(settings, gated)
    select = selection_plan(settings, settings.select_tasks) if settings.select != "all" else ""
    gate = SequentialPlan(tasks=count, discordance=settings.expected_discordance) if count else None
    return {
        "seed": str(settings.skill or f"new skill {seed.name!r}"),
        "train_tasks": len(train.tasks[: settings.limit]) if train else None,
        "trajectories": str(settings.trajectories) if settings.trajectories else None,
        "patches": str(settings.patches) if settings.patches else None,
        "analyst": "recorded" if settings.patches else settings.analyst,
        "merge": settings.merge,
        "select": select or "all lessons",
        "gate": str(gate or "none: not gated"),
        "transfer": users.lines() if users else None,
    }


def run_evolution(
    settings: EvolveSettings, *, progress: Callable[[Event], None] = ignore_event
) -> EvolveResult:
    """Make or read the trajectories, evolve, gate.

    Running it again with the same `out` resumes: finished attempts and answered calls are kept.

    Raises:
        HarnessError: as :func:`evolve`, and as an eval run does.
    """
    return loops.run(_run(settings, progress))


async def _run(settings: EvolveSettings, progress: Callable[[Event], None]) -> EvolveResult:
    if (settings.suite is None) == (settings.trajectories is None):
        raise BadInput("give either --suite S or --trajectories PATH")
    # What cannot begin is found before anything is paid for.
    settings.open_executor()
    seed = seed_skill(settings)
    gated = gate_suite(settings)
    runs = SuiteRuns(settings, budget_of(settings), gated, progress)
    trial = runs.trial if settings.select != "all" else None
    if trial is not None:
        tasks = len(runs.trial_suite.tasks)
        progress(Event(stage="select", message=selection_plan(settings, tasks)))
    rollouts = runs.rollouts if settings.suite else None
    inputs: dict[str, Any] | None = None
    if rollouts is not None:
        _ = runs.train  # a suite without such a split
        inputs = {name: getattr(settings, name) for name in ROLLOUTS}
    options = {name: getattr(settings, name) for name in EvolveOptions.model_fields}
    analyst, merger = open_models(settings, runs.budget)
    try:
        result = await evolve(
            EvolveOptions.model_validate(options),
            model=analyst,
            merger=merger,
            read=_agentic_reader(settings, analyst, seed.text),
            rollouts=rollouts,
            trial=trial,
            evaluate=runs.evaluate if gated else None,
            gate_tasks=tuple(task.id for task in gated.tasks[: settings.limit]) if gated else (),
            execute=_sandboxed(settings),
            compare=_comparison(settings, runs, merger or analyst),
            transfer=_transfer(settings, runs),
            inputs=inputs,
            progress=progress,
        )
    finally:
        for model in (analyst, merger):
            if model is not None:
                await model.aclose()
    if interrupted := interrupted_calls(settings.out):
        write_atomic(settings.out / INTERRUPTED, json.dumps(interrupted, indent=1) + "\n")
        message = f"{len(interrupted)} interrupted calls: {INTERRUPTED}"
        progress(Event(stage="done", message=message))
    return result


def interrupted_calls(out: Path) -> list[dict[str, Any]]:
    """Calls that were sent and whose answer was never stored, since the process was killed.

    Each may have been paid for; one that was needed was sent again (`repeated`).
    """
    rows: list[dict[str, Any]] = []
    for path in sorted([*out.glob("calls.sqlite"), *out.rglob("runs/**/calls.sqlite")]):
        store = path.relative_to(out).as_posix()
        with CallStore(path) as calls:
            sent = calls.in_flight()
        rows += [{"store": store, **call.model_dump(mode="json")} for call in sent]
    return rows


def open_models(
    settings: EvolveSettings, budget: Budget
) -> tuple[ChatModel | None, ChatModel | None]:
    """Models of analysts and merger; None where the evolution needs none."""
    analysts, merges = settings.asking
    if not (analysts or merges):
        return None, None
    settings.out.mkdir(parents=True, exist_ok=True)
    roles = parse_roles(list(settings.models))
    calls = CallStore(settings.out / "calls.sqlite")

    def opened(role: Role) -> ChatModel:
        # A small embedded model that starts to repeat itself would go on to the end of its context.
        bound = LOCAL_REPLY if roles[role].kind == "local" else None
        return open_model(
            roles[role],
            sampling=Sampling(max_tokens=bound),
            base_url=settings.base_url,
            calls=calls,
            budget=budget,
            concurrency=settings.concurrency,
            role=role,
            hedge=True,
        )

    return opened("analyst") if analysts else None, opened("merger") if merges else None


def _agentic_reader(settings: EvolveSettings, model: Model | None, skill: str) -> Read | None:
    """The agentic analyst where it was asked for; None for the default."""
    if settings.analyst != "agentic" or settings.patches is not None or model is None:
        return None
    suite = train_suite(settings)
    if suite is None:
        raise BadInput("--analyst agentic proves fixes on tasks: give --tasks SUITE or --suite")
    if settings.sandbox == "none":
        raise BadInput("--analyst agentic runs model-written code beside gold: it needs a sandbox")
    return agentic_reader(
        model,
        skill,
        tasks={task.id: task for task in suite.tasks},
        base=suite.base,
        sandbox=select(settings.sandbox),
        folder=settings.out / "analysts",
        max_turns=settings.analyst_turns,
    )


def _sandboxed(settings: EvolveSettings) -> Execute | None:
    """Runs scripts of the skill in the sandbox, which is chosen when the first one is run."""

    def execute(
        command: Sequence[str], *, workdir: Path, files: Mapping[str, bytes] | None = None
    ) -> Result:
        sandbox = select(settings.sandbox)
        return sandbox.exec(command, workdir=workdir, files=files, limits=Limits(wall_s=20))

    return None if settings.sandbox == "none" else execute


def _comparison(
    settings: EvolveSettings, runs: SuiteRuns, model: Model | None
) -> Afterwards | None:
    """Baselines on all tasks of the gate; None where none was asked for."""
    if not settings.baselines:
        return None
    if runs.gated is None:
        raise BadInput("--baselines are run on the gate's tasks: give --suite, or --gate SUITE")
    # A gate that stopped early chose its moment: the comparison takes every task.
    tasks = runs.gated.tasks[: settings.limit]
    suite = runs.gated.model_copy(update={"tasks": tasks})

    async def compare(finished: Finished) -> list[BaselineRow]:
        evolved = await runs.baseline("evolved", finished.evolution.skill_dir, suite)
        ground = Ground(done=finished, model=model, seed=settings.seed)
        return await run_baselines(
            settings.baselines, ground, suite=suite, evaluate=runs.baseline, evolved=evolved
        )

    return compare


def transfer_plan(settings: EvolveSettings, gated: LoadedSuite | None) -> TransferPlan | None:
    """What the users of the skill will run; None where none was asked for."""
    if not (settings.users or settings.transfer):
        return None
    suites = [load_suite(name) for name in dict.fromkeys(settings.transfer)]
    if not suites and gated is None:
        raise BadInput("--user runs the gate's tasks or other suites: give --transfer SUITE")
    train = split_of(settings, settings.suite, "train").tasks if settings.suite else ()
    taught = {task.id: task.prompt for task in train}
    users = settings.users or (agent_model_spec(settings.models),)
    # The models that have a hand in the skill: of the runs, the analysts and the merger.
    roles = parse_roles(list(settings.models))
    asks, merges = settings.asking
    authors = [agent_model_spec(settings.models)] if settings.suite else []
    authors += [str(roles["analyst"])] if asks else []
    authors += [str(roles["merger"])] if merges else []
    return TransferPlan(
        author=" + ".join(dict.fromkeys(authors)) or "recorded",
        users=tuple(str(parse_spec(user)) for user in dict.fromkeys(users)),
        suites=tuple(
            held_out(suite, taught, settings.limit) for suite in suites or [gated] if suite
        ),
        epochs=settings.epochs,
        discordance=settings.expected_discordance,
        margin=settings.margin,
    )


def _transfer(settings: EvolveSettings, runs: SuiteRuns) -> Afterwards | None:
    """Runs the skill with its users; the plan is announced now, before anything is spent."""
    plan = transfer_plan(settings, runs.gated)
    if plan is None:
        return None
    with CallStore() as calls:
        for user in plan.users:  # one that cannot be opened must not be found at the end
            limit = Budget(usd=settings.budget_usd)
            open_model(user, base_url=settings.base_url, calls=calls, budget=limit)

    def tell(message: str) -> None:
        runs.progress(Event(stage="transfer", message=message))

    for line in plan.lines():
        tell(line)

    async def transfer(evolved: Finished) -> list[TransferRow]:
        return await run_transfer(plan, evolved, runs.transfer, tell)

    return transfer
