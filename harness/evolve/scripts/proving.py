"""Functions from programs, which are run at train tasks and judged by what they leave."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

from harness.core import (
    BadInput,
    Trajectory,
    Usage,
    digest,
    private_folder,
    remove_tree,
    write_atomic,
)
from harness.evals import LoadedSuite
from harness.evolve.scripts.fitting import AGENT, Attempts, Fitted, fitted
from harness.evolve.scripts.library import (
    FILE,
    TOKENS,
    Prove,
    drafted,
    learn,
    programs_of,
    taught_kinds,
)
from harness.evolve.scripts.naming import names
from harness.evolve.settings import EvolveSettings
from harness.evolve.types import Draft
from harness.models import Budget, CallStore, open_model, parse_roles
from harness.sandbox import Limits, select
from harness.tasks import family
from harness.tools import NO_OUTPUT, TOOLS, Bench
from harness.trajectories import open_trajectories, programs_run

SECONDS = 60


async def write_functions(
    runs: Sequence[Trajectory],
    suite: LoadedSuite | None,
    settings: EvolveSettings,
    budget: Budget,
    attempts: Attempts,
) -> tuple[Draft, Usage]:
    """The functions that the programs of runs give, as a patch; and what naming them took.

    Args:
        runs: of graph:program, or of any agent that solves tasks by the tool `python`.
        suite: of the train tasks.
        settings: of the evolution. The agent's model, where one is named, names the functions, and
            chooses the form of their examples.
        budget: that its calls are booked on.
        attempts: runs train tasks with a skill, by that model.

    Raises:
        BadInput: if the tasks are not known, or there is no such sandbox or model.
    """
    prove, prompts = prover(suite, settings), prompts_of(suite)
    programs = programs_of(runs)
    async with AsyncExitStack() as stack:
        user = None
        if settings.models:
            folder = settings.out / "runs" / "names"
            opened = open_model(
                parse_roles(list(settings.models))["agent"],
                base_url=settings.base_url,
                calls=stack.enter_context(CallStore(folder / "calls.sqlite")),
                budget=budget,
            )
            user = await stack.enter_async_context(aclosing(opened))
        every = taught_kinds(programs, prompts)
        called, usage = await names(every, prompts, user)
    named = zip(every, called, strict=True)
    files = {task.id: tuple(task.files) for task in suite.tasks} if suite else {}
    learned = await learn(programs, named, files, prove, TOKENS[settings.size])
    form = Fitted()
    asked = user and suite and (settings.agent or suite.suite.agent) == AGENT
    if suite and asked and settings.fit_tasks:
        place = settings.out / "runs" / "forms"
        form = await fitted(
            learned.functions, suite, settings.fit_tasks, settings.seed, place, attempts
        )
    tried = [str(form)] if form.passed else ()
    return drafted(learned, runs, prompts, form.form, tried), usage + form.usage


async def judged(suite: LoadedSuite | None, settings: EvolveSettings) -> tuple[Path, Usage]:
    """The trajectories of an evolution; what claims no outcome is tried, and passes or fails.

    Args:
        suite: of the train tasks.
        settings: of the evolution.

    Returns:
        A file of trajectories, and what judging them took: no model is asked.

    Raises:
        BadInput: if the tasks are not known, there is no such sandbox, or there are no such
            trajectories.
    """
    assert settings.trajectories is not None, "trajectories are given"
    prove, file = prover(suite, settings), settings.out / "trajectories.jsonl"
    prompts, lines = prompts_of(suite), list[str]()
    for run in open_trajectories(settings.trajectories):
        facts = dict(run.harness)
        if not run.outcome:
            codes = programs_run(run)[-1:]
            passed = codes and await prove(run.task_id, codes[0], "")
            facts |= {"outcome": "pass" if passed else "fail"}
            facts.setdefault("task", {"prompt": prompts.get(run.task_id, "")})
        labelled = run.model_copy(update={"extra": {**(run.extra or {}), "harness": facts}})
        lines.append(labelled.model_dump_json(exclude_none=True) + "\n")
    write_atomic(file, "".join(lines))
    return file, Usage()


def prompts_of(suite: LoadedSuite | None) -> dict[str, str]:
    """Task id -> prompt; no tasks, no prompts."""
    return {task.id: task.prompt for task in suite.tasks} if suite else {}


def prover(suite: LoadedSuite | None, settings: EvolveSettings) -> Prove:
    """Runs programs in the sandbox, as an agent with the skill would, and has the task judge them.

    Args:
        suite: of the train tasks.
        settings: of the evolution.

    Raises:
        BadInput: if the tasks are not known, or there is no such sandbox.
    """
    if suite is None:
        raise BadInput("--analyst programs runs them at train tasks: give --tasks SUITE")
    sandbox, folder = select(settings.sandbox), settings.out / "proofs"
    tasks = {task.id: task for task in suite.tasks}

    async def prove(task_id: str, program: str, module: str) -> bool:
        if (task := tasks.get(task_id)) is None:
            return False
        place = folder / digest(f"{task_id} {program} {module}")[:12]
        skill, workdir = place / "skill", place / "work"
        judge = family(task, sandbox=sandbox, trusted=settings.trust_checks)
        try:
            remove_tree(place)  # a killed evolution leaves one
            private_folder(workdir)
            (skill / FILE).parent.mkdir(parents=True)
            (skill / FILE).write_text(module, "utf-8")
            judge.prepare(task, suite.base, workdir)
            bench = Bench(workdir, sandbox, Limits(wall_s=SECONDS), skill)
            output = await TOOLS["python"].run({"code": program}, bench)
            answer = "" if output == NO_OUTPUT else output
            return judge.score(task, suite.base, workdir, answer).outcome == "pass"
        finally:
            remove_tree(place)

    return prove
