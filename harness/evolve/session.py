"""Putting the rooms together for an evolution: suite, trajectories, models and gate."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from harness.core import BadInput, Usage, write_atomic
from harness.evals.runner import Tally
from harness.evals.session import EvalSettings, Evaluator, agent_model_spec, records
from harness.evals.suite import LoadedSuite, Split, load_suite
from harness.evals.types import ItemRecord
from harness.evolve.baselines.types import BaselineName
from harness.evolve.evolution import Evaluate, Event, Read, Rollouts, Trials, tally_event
from harness.evolve.finished import Finished
from harness.evolve.gate import gate_plan
from harness.evolve.run import Compare, Transfer, evolve
from harness.evolve.seed import seed_skill
from harness.evolve.selection import CANDIDATES, most_trials
from harness.evolve.transfer import run_transfer
from harness.evolve.transfer_plan import TransferPlan, held_out
from harness.evolve.types import EvolveOptions, EvolveResult
from harness.models import CallStore, open_model, parse_roles, parse_spec
from harness.models.budget import Budget, Spend
from harness.models.types import Model, Role, Sampling
from harness.skills import Execute

INTERRUPTED = "interrupted_calls.json"
LOCAL_REPLY = 768
"""Tokens of one reply of an embedded analyst or merger: three lessons and their quotes."""
ROLLOUTS = ("suite", "agent", "limit", "epochs", "models", "seed")
"""Settings that decide which trajectories are made."""


class EvolveSettings(EvolveOptions):
    """Everything `harness evolve` takes: the options, and where models and tasks come from.

    Attributes:
        suite: makes the trajectories (split `train`), instead of `trajectories`.
        tasks: suite that holds the tasks of `trajectories`, for agentic analysts to prove on.
        agent: agent spec for the suite.
        gate: `auto` (the suite's `selection` split), a suite, or `none`.
        limit: take the first tasks of each split only.
        baselines: what else is made of the same trajectories and run on the gate's tasks.
        users: specs of models that will use the skill; default the agent's, with `transfer`.
        transfer: suites that the users run with the skill; default the gate's tasks.
        models: `[ROLE=]SPEC` strings.
    """

    suite: str | None = None
    tasks: str | None = None
    agent: str | None = None
    gate: str = "auto"
    limit: int | None = None
    baselines: tuple[BaselineName, ...] = ()
    users: tuple[str, ...] = ()
    transfer: tuple[str, ...] = ()
    epochs: int = 1
    models: tuple[str, ...] = ()
    base_url: str | None = None
    budget_usd: float | None = None
    budget_tokens: int | None = None
    budget_calls: int | None = None
    seed: int = 41
    sandbox: str = "auto"
    trust: bool = False


def plan_evolution(settings: EvolveSettings) -> dict[str, Any]:
    """What an evolution would do, without a model call: for `--dry-run`."""
    train = _suite(settings, settings.suite, "train") if settings.suite else None
    tasks = _gate_suite(settings)
    count = len(tasks.tasks[: settings.limit]) if tasks else 0
    users = _transfer_plan(settings, tasks)
    return {
        "seed": str(settings.skill or f"new skill {settings.create!r}"),
        "train_tasks": len(train.tasks[: settings.limit]) if train else None,
        "trajectories": str(settings.trajectories) if settings.trajectories else None,
        "patches": str(settings.patches) if settings.patches else None,
        "analyst": "recorded" if settings.patches else settings.analyst,
        "merge": settings.merge,
        "select": "all lessons"
        if settings.select == "all"
        else _selection_plan(settings, settings.select_tasks),
        "gate": str(gate_plan(settings, count)) if count else "none: not gated",
        "transfer": users.lines() if users else None,
    }


def run_evolution(
    settings: EvolveSettings, *, progress: Callable[[Event], None] | None = None
) -> EvolveResult:
    """Make or read the trajectories, evolve, gate.

    Running it again with the same `out` goes on: finished attempts and answered calls are kept.

    Raises:
        HarnessError: as :func:`evolve`, and as an eval run does.
    """
    return asyncio.run(_run(settings, progress or (lambda event: None)))


async def _run(settings: EvolveSettings, progress: Callable[[Event], None]) -> EvolveResult:
    if (settings.suite is None) == (settings.trajectories is None):
        raise BadInput("give either --suite S or --trajectories PATH")
    tasks = _gate_suite(settings)
    purse = Budget(
        usd=settings.budget_usd, tokens=settings.budget_tokens, calls=settings.budget_calls
    )
    fields = {name: getattr(settings, name) for name in EvolveOptions.model_fields}
    held_out = tasks.tasks[: settings.limit] if tasks else ()
    analyst, merger = _models(settings, purse)
    made = settings.suite is not None
    result = await evolve(
        EvolveOptions.model_validate(fields),
        model=analyst,
        merger=merger,
        read=_reader(settings, analyst),
        rollouts=_rollouts(settings, purse, progress) if made else None,
        trial=_trials(settings, purse, progress) if settings.select != "all" else None,
        evaluate=_evaluator(settings, tasks, purse, progress) if tasks else None,
        gate_tasks=tuple(task.id for task in held_out),
        execute=_execute(settings),
        compare=_comparison(settings, tasks, purse, merger or analyst, progress),
        transfer=_transfer(settings, tasks, purse, progress),
        inputs={name: getattr(settings, name) for name in ROLLOUTS} if made else None,
        progress=progress,
    )
    lost = interrupted_calls(settings.out)
    if lost:
        write_atomic(settings.out / INTERRUPTED, json.dumps(lost, indent=1) + "\n")
        progress(Event(stage="done", message=f"{len(lost)} interrupted calls: {INTERRUPTED}"))
    return result


def interrupted_calls(out: Path) -> list[dict[str, Any]]:
    """Calls that were sent and whose answer was never stored, since the process was killed.

    Each may have been paid for; one that was needed was sent again (`repeated`).
    """
    found: list[dict[str, Any]] = []
    for path in sorted([*out.glob("calls.sqlite"), *out.rglob("runs/**/calls.sqlite")]):
        with CallStore(path) as calls:
            rows = [one.model_dump(mode="json") for one in calls.in_flight()]
        found += [{"store": path.relative_to(out).as_posix(), **row} for row in rows]
    return found


def _rollouts(
    settings: EvolveSettings, purse: Budget, progress: Callable[[Event], None]
) -> Rollouts:
    """Attempts at the train split; finished ones are kept when it is called again."""
    train = _suite(settings, cast("str", settings.suite), "train")

    async def make() -> tuple[Path, Usage]:
        folder = settings.out / "runs" / "train"
        progress(Event(stage="train", message=f"{len(train.tasks[: settings.limit])} tasks"))
        found = await _attempts(settings, train, folder, settings.skill, purse, progress)
        return folder, sum((item.usage for item in found), Usage())

    return make


def _trials(settings: EvolveSettings, purse: Budget, progress: Callable[[Event], None]) -> Trials:
    """Runs a set of lessons on a seeded sample of the tasks that the analysts learned from."""
    reference = settings.tasks or settings.suite
    if reference is None:
        raise BadInput("--select runs tasks: give --suite, or --tasks SUITE")
    whole = load_suite(reference) if settings.tasks else _suite(settings, reference, "train")
    tasks = whole.tasks[: settings.limit]
    count = min(settings.select_tasks, len(tasks))
    chosen = random.Random(settings.select_seed).sample(tasks, count)
    part = whole.model_copy(update={"tasks": tuple(chosen)})
    progress(Event(stage="select", message=_selection_plan(settings, count)))

    async def trial(skill: Path | None, label: str) -> list[ItemRecord]:
        folder = settings.out / "runs" / "selection" / label
        return await _attempts(settings, part, folder, skill, purse, progress)

    return trial


def _selection_plan(settings: EvolveSettings, tasks: int) -> str:
    most = most_trials(settings.select, CANDIDATES[settings.select])
    return (
        f"{settings.select}: at most {most} sets of lessons on {tasks} trial tasks, "
        f"{most * tasks * settings.epochs} attempts"
    )


def _reader(settings: EvolveSettings, model: Model | None) -> Read | None:
    """The agentic analyst where it was asked for; None for the default."""
    if settings.analyst != "agentic" or settings.patches is not None or model is None:
        return None
    from harness.evolve.readers import agentic_reader
    from harness.sandbox import select

    reference = settings.tasks or settings.suite
    if reference is None:
        raise BadInput("--analyst agentic proves fixes on tasks: give --tasks SUITE or --suite")
    if settings.sandbox == "none":
        raise BadInput("--analyst agentic runs model-written code beside gold: it needs a sandbox")
    whole = load_suite(reference) if settings.tasks else _suite(settings, reference, "train")
    return agentic_reader(
        model,
        seed_skill(settings).text,
        tasks={task.id: task for task in whole.tasks},
        base=whole.base,
        sandbox=select(settings.sandbox),
        folder=settings.out / "analysts",
        max_turns=settings.analyst_turns,
    )


def _comparison(
    settings: EvolveSettings,
    suite: LoadedSuite | None,
    purse: Budget,
    model: Model | None,
    progress: Callable[[Event], None],
) -> Compare | None:
    """Baselines on all tasks of the gate; None where none was asked for."""
    if not settings.baselines:
        return None
    if suite is None:
        raise BadInput("--baselines are run on the gate's tasks: give --suite, or --gate SUITE")
    from harness.evolve.baselines import BaselineRow, Ground, run_baselines

    tasks = suite

    async def attempts(name: str, skill: Path | None, asked: LoadedSuite) -> list[ItemRecord]:
        folder = settings.out / "runs" / "baselines" / name
        return await _attempts(settings, asked, folder, skill, purse, progress)

    async def compare(done: Finished) -> list[BaselineRow]:
        # A gate that stopped early chose its moment: the comparison takes every task.
        chosen = tasks.model_copy(update={"tasks": tasks.tasks[: settings.limit]})
        evolved = await attempts("evolved", done.evolution.skill_dir, chosen)
        return await run_baselines(
            settings.baselines,
            Ground(done=done, model=model, seed=settings.seed),
            suite=chosen,
            evaluate=attempts,
            evolved=evolved,
        )

    return compare


def _transfer_plan(settings: EvolveSettings, gated: LoadedSuite | None) -> TransferPlan | None:
    """What the users of the skill will run; None where none was asked for."""
    if not (settings.users or settings.transfer):
        return None
    suites = [load_suite(one) for one in dict.fromkeys(settings.transfer)]
    if not suites and gated is None:
        raise BadInput("--user runs the gate's tasks or other suites: give --transfer SUITE")
    train = _suite(settings, settings.suite, "train").tasks if settings.suite else ()
    taught = {task.id: task.prompt for task in train}
    users = settings.users or (agent_model_spec(settings.models),)
    return TransferPlan(
        author=_author(settings),
        users=tuple(str(parse_spec(one)) for one in dict.fromkeys(users)),
        suites=tuple(held_out(one, taught, settings.limit) for one in suites or [gated] if one),
        epochs=settings.epochs,
        discordance=settings.expected_discordance,
        margin=settings.margin,
    )


def _author(settings: EvolveSettings) -> str:
    """The models that have a hand in the skill: of the runs, the analysts and the merger."""
    roles = parse_roles(list(settings.models))
    asks, merges = _asked(settings)
    names = [agent_model_spec(settings.models)] if settings.suite else []
    names += [str(roles["analyst"])] if asks else []
    names += [str(roles["merger"])] if merges else []
    return " + ".join(dict.fromkeys(names)) or "recorded"


def _transfer(
    settings: EvolveSettings,
    gated: LoadedSuite | None,
    purse: Budget,
    progress: Callable[[Event], None],
) -> Transfer | None:
    """Runs the skill with its users; the plan is told now, before anything is spent."""
    plan = _transfer_plan(settings, gated)
    if plan is None:
        return None
    with CallStore() as nothing:
        for user in plan.users:  # one that cannot be opened must not be found at the end
            limit = Budget(usd=settings.budget_usd)
            open_model(user, base_url=settings.base_url, calls=nothing, budget=limit)

    def tell(message: str) -> None:
        progress(Event(stage="transfer", message=message))

    for line in plan.lines():
        tell(line)

    async def attempts(
        user: str, folder: Path, skill: Path | None, suite: LoadedSuite
    ) -> list[ItemRecord]:
        by_user = settings.model_copy(update={"models": (user,)})
        return await _attempts(by_user, suite, folder, skill, purse, progress)

    return lambda done: run_transfer(plan, done, attempts, tell)


def _execute(settings: EvolveSettings) -> Execute | None:
    """Runs scripts of the skill in the sandbox, which is chosen when the first one is run."""
    from harness.sandbox import Limits, Result, select

    if settings.sandbox == "none":
        return None

    def execute(
        command: Sequence[str], *, workdir: Path, files: Mapping[str, bytes] | None = None
    ) -> Result:
        sandbox = select(settings.sandbox)
        return sandbox.exec(command, workdir=workdir, files=files, limits=Limits(wall_s=20))

    return execute


def _models(settings: EvolveSettings, purse: Budget) -> tuple[Model | None, Model | None]:
    """Models of analysts and merger; None where the evolution needs none."""
    analysts, merges = _asked(settings)
    if not (analysts or merges):
        return None, None
    settings.out.mkdir(parents=True, exist_ok=True)
    roles = parse_roles(list(settings.models))
    calls = CallStore(settings.out / "calls.sqlite")

    def opened(role: Role) -> Model:
        # A small embedded model that starts to repeat itself would go on to the end of its context.
        bound = LOCAL_REPLY if roles[role].kind == "local" else None
        return open_model(
            roles[role],
            sampling=Sampling(max_tokens=bound),
            base_url=settings.base_url,
            calls=calls,
            budget=purse,
            concurrency=settings.concurrency,
            role=role,
            hedge=True,
        )

    return opened("analyst") if analysts else None, opened("merger") if merges else None


def _asked(settings: EvolveSettings) -> tuple[bool, bool]:
    """Whether analysts ask a model, and whether the merge does."""
    without = settings.analyst == "exemplar"
    return settings.patches is None and not without, settings.merge == "model" and not without


def _gate_suite(settings: EvolveSettings) -> LoadedSuite | None:
    if settings.gate == "none" or (settings.gate == "auto" and settings.suite is None):
        return None
    reference = cast("str", settings.suite) if settings.gate == "auto" else settings.gate
    return _suite(settings, reference, "selection")


def _suite(settings: EvolveSettings, reference: str, split: Split) -> LoadedSuite:
    """The named split; a suite of one task file is taken whole where nothing else needs it."""
    whole = load_suite(reference)
    needs_no_split = reference != settings.suite or settings.gate == "none"
    if whole.split is None and needs_no_split:
        return whole
    return load_suite(reference, split)


async def _attempts(
    settings: EvolveSettings,
    suite: LoadedSuite,
    folder: Path,
    skill: Path | None,
    purse: Budget,
    progress: Callable[[Event], None],
) -> list[ItemRecord]:
    """Run a suite in `folder` with what is left of the budget, and book what it used."""
    shared = (
        "agent", "limit", "epochs", "models", "base_url", "concurrency", "seed", "sandbox", "trust",
    )  # fmt: skip
    spent = purse.spent
    left = {
        "budget_usd": None if purse.usd is None else max(0.0, purse.usd - spent.usd),
        "budget_tokens": None if purse.tokens is None else max(0, purse.tokens - spent.tokens),
        "budget_calls": None if purse.calls is None else max(0, purse.calls - spent.calls),
    }
    same = {name: getattr(settings, name) for name in shared}
    chosen = EvalSettings.model_validate({"suite": suite.suite.name, **same, **left})

    def show(label: str, tally: Tally) -> None:
        progress(tally_event(label, tally))

    await Evaluator(chosen, suite).run(folder, skill, show)
    found = records(folder)
    used = sum((item.usage for item in found), Usage())
    purse.spent += Spend(usd=used.cost_usd or 0.0, tokens=used.tokens, calls=used.calls)
    return found


def _evaluator(
    settings: EvolveSettings,
    suite: LoadedSuite,
    purse: Budget,
    progress: Callable[[Event], None],
) -> Evaluate:
    looks: Counter[str] = Counter()

    async def evaluate(skill: Path | None, tasks: tuple[str, ...]) -> list[ItemRecord]:
        evolved = skill is not None and skill.is_relative_to(settings.out / "skill")
        name = "gate-after" if evolved else "gate-before"
        looks[name] += 1
        folder = settings.out / "runs" / name / f"look-{looks[name]:02d}"
        chosen = tuple(task for task in suite.tasks if task.id in set(tasks))
        part = suite.model_copy(update={"tasks": chosen})
        return await _attempts(settings, part, folder, skill, purse, progress)

    return evaluate
