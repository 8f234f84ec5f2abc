"""Plan of an evolution, with its expected cost and power: before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.agents import is_foreign
from harness.core import Task
from harness.core.terminal import dollars
from harness.evals import (
    LoadedSuite,
    agent_model_spec,
    estimate,
    judged_by,
    plan_steps,
    time_words,
)
from harness.evolve.evolution import horizon
from harness.evolve.gate import gate_plan
from harness.evolve.settings import FEW_TASKS, REPEATS, EvolveSettings, seed_skill
from harness.evolve.suite_runs import (
    ANALYST_TOKENS,
    SuiteRuns,
    earlier_run,
    eval_settings,
    taken_over,
)
from harness.models import Budget, parse_roles
from harness.stats import SequentialPlan
from harness.trajectories import open_trajectories


def plan_evolution(requested: EvolveSettings) -> dict[str, Any]:
    """Return the plan of an evolution, without a model call: for `--dry-run`.

    Raises:
        BadInput: as :func:`harness.evolve.run_evolution`, where the settings alone show it.
    """
    seed, runs = seed_skill(requested), SuiteRuns(requested, Budget())
    train, gated = runs.train, runs.gated
    runs.refuse_lost(seed.name)
    runs.settings = settings = requested.settled(train)
    users, selects = runs.transfer_plan, settings.select != "all"
    taught = train.tasks[: settings.limit] if train else ()
    held_out = gated.tasks[: settings.limit] if gated else ()
    attempts = len(taught) * settings.epochs
    if settings.trajectories is not None:
        attempts = sum(1 for _ in open_trajectories(settings.trajectories))
    return {
        "seed": str(settings.skill or f"new skill {seed.name!r}"),
        "train_tasks": len(taught) if train else None,
        "trajectories": str(settings.trajectories) if settings.trajectories else None,
        "patches": str(settings.patches) if settings.patches else None,
        "analyst": "recorded" if settings.patches else settings.analyst,
        "epochs": settings.epochs,
        "judged_by": judged_by(taught) if taught else None,
        "finds": horizon(attempts, settings.min_support) if settings.lessons else None,
        "judge": settings.judge or "none: every proposed edit is merged",
        "merge": settings.merge,
        "select": runs.selection_plan(settings.select_tasks) if selects else "all lessons",
        "gate": str(planned(held_out, settings)) if held_out else "none: not gated",
        "transfer": users.lines() if users else None,
        "notes": plan_notes(requested),
    }


def planned(tasks: Sequence[Task], settings: EvolveSettings) -> SequentialPlan:
    """Return the plan of the gate on these tasks."""
    return gate_plan(
        [task.id for task in tasks],
        settings,
        {task.id: task.group for task in tasks if task.group},
    )


def _analysts(settings: EvolveSettings, train: LoadedSuite, runs: Sequence[Path]) -> str:
    """Estimate what reading every attempt will use, where attempts were made before."""
    roles = parse_roles(list(settings.models))
    tasks, agent = train.tasks[: settings.limit] * settings.epochs, str(roles["agent"])
    expected = estimate(train, tasks, model=agent, skill=settings.skill, runs=runs)
    used = expected.prompt_tokens + expected.completion_tokens
    if expected.seconds is None or not used or roles["analyst"] != roles["agent"]:
        return ""
    tokens = used + ANALYST_TOKENS * len(tasks)
    return f": about {tokens:,} tokens, {time_words(expected.seconds * tokens / used)}"


def plan_notes(requested: EvolveSettings) -> list[str]:
    """Sentences on what was chosen where nothing was asked for, and on what will be spent.

    Raises:
        BadInput: if a suite cannot be read.
    """
    runs = SuiteRuns(requested, Budget())
    train = runs.train
    runs.settings = settings = requested.settled(train)
    notes: list[str] = []
    tasks = settings.tasks_to_learn_from(train)
    gated = runs.gated
    if train is not None and train.halved and gated is not None:
        notes.append(
            f"one task file: {tasks} tasks to learn from, {len(gated.tasks[: settings.limit])} for "
            "the gate, divided by the digests of their ids (`tasks` or `split_by` in suite.yaml "
            "divide otherwise)"
        )
    few = f"only {tasks} tasks to learn from"
    if requested.analyst == "auto" and not settings.lessons:
        analyst = parse_roles(list(settings.models))["analyst"]
        notes.append(
            f"{few}: a format rule and worked examples from attempts that pass, or from expected "
            f"answers if fewer than {settings.examples} tasks are passed, without a model "
            f"(--analyst single has {analyst} read every run)"
        )
    foreign = train is not None and is_foreign(settings.agent or train.suite.agent or "")
    if not requested.epochs and settings.epochs > 1:
        unless_cold = ", or one if the agent asks for temperature 0" * foreign
        notes.append(f"{few}: {settings.epochs} attempts at each{unless_cold} (--epochs 1 for one)")
    elif not requested.epochs and train is not None and tasks < FEW_TASKS:
        why = "the suite's temperature is 0, which would make several alike"
        if foreign or train.suite.sampling.temperature != 0:
            why = "--select, --baselines, --user or --transfer multiplies them"
        notes.append(f"one attempt at each task: {why} (--epochs {REPEATS} for {REPEATS})")
    earlier = earlier_run(settings)
    runs_before = [*([earlier] if earlier else []), Path("runs")]
    for suite, sides in ((train, 1), (gated, 2)):
        if suite is None:
            continue
        tasks = suite.tasks[: settings.limit] * (settings.epochs * sides)
        if sides == 1 and earlier is not None:
            steps = plan_steps(
                eval_settings(settings, suite, settings.skill, earlier=earlier), suite
            )
            notes.append(taken_over(steps, earlier))
            tasks = tuple(
                task for task, step in zip(tasks, steps, strict=True) if step.action == "RERUN"
            )
        if not tasks:
            continue
        expected = estimate(
            suite, tasks, model=agent_model_spec(settings.models), base_url=settings.base_url,
            skill=settings.skill, runs=runs_before,
        )  # fmt: skip
        which = "attempts to learn from" if sides == 1 else "attempts of the gate at most"
        notes.append(
            f"{expected.attempts} {which}: about {expected.calls:,} calls, "
            f"{expected.prompt_tokens:,} + {expected.completion_tokens:,} tokens, "
            f"cost {dollars(expected.cost_usd)}, {time_words(expected.seconds)}"
        )
    notes += judged_by(train.tasks[: settings.limit]) if train is not None else []
    if settings.asking[0]:
        text = "analysts: one call for every run that teaches, more with --analyst agentic"
        if train is not None:
            text += _analysts(settings, train, runs_before)
        notes.append(text)
    if settings.judge is not None:
        notes.append(
            "judge: two calls for every proposed edit (three lessons a run at most), and for every "
            "edit of --skill that was reviewed"
        )
    return notes
