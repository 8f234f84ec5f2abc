"""Functions from programs, which are run at train tasks and judged by what they leave."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
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
from harness.evolve.scripts.functions import Function, allowed, function_of
from harness.evolve.scripts.library import FILE, TOKENS, Prove, drafted, learn, programs_of
from harness.evolve.scripts.naming import names
from harness.evolve.scripts.search import Kind, kinds_of
from harness.evolve.scripts.train_tasks import TrainTask
from harness.evolve.scripts.trials import Trials
from harness.evolve.settings import EvolveSettings
from harness.evolve.types import Draft
from harness.models import Budget, CallStore, Model, open_model, parse_roles
from harness.sandbox import Limits, select
from harness.tasks import family
from harness.tools import NO_OUTPUT, TOOLS, Bench
from harness.trajectories import open_trajectories, programs_run

SECONDS, AT_ONCE = 60, 2
Attempt = Callable[[str, str, str], Coroutine[None, None, tuple[bool, str]]]
"""As Prove, and what the program printed."""


async def write_functions(
    runs: Sequence[Trajectory],
    suite: LoadedSuite | None,
    settings: EvolveSettings,
    budget: Budget,
) -> tuple[Draft, Usage]:
    """The functions that the programs of runs give, as a patch; and what naming them took.

    Args:
        runs: of graph:program, or of any agent that solves tasks by the tool `python`.
        suite: of the train tasks.
        settings: of the evolution. The agent's model, where one is named, names the functions.
        budget: that its calls are booked on.

    Raises:
        BadInput: if the tasks are not known, or there is no such sandbox or model.
    """
    prove, programs = prover(suite, settings), programs_of(runs)
    assert suite is not None, "there are tasks to prove functions on"
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
        functions, tasks, usage = await functions_of(programs, suite, settings, user)
    learned = await learn(functions, tasks, prove, TOKENS[settings.size])
    account = (
        f"{len(programs)} programs passed, and none passed a second task once the values that its "
        "prompt states were exchanged: more tasks of each kind, or programs of passing runs of "
        "other agents, would help"
        if programs
        else "there is no program of a passing run: it is for agents that solve tasks by one "
        "(graph:program, or the tool python); --analyst single or exemplar for others"
    )
    return drafted(learned, runs, account), usage


async def functions_of(
    programs: Sequence[tuple[str, str]],
    suite: LoadedSuite,
    settings: EvolveSettings,
    user: Model | None = None,
) -> tuple[list[Function], dict[str, TrainTask], Usage]:
    """The functions of programs, not proven yet; the train tasks; and the use of the model.

    Args:
        programs: (task id, source) of passing attempts.
        suite: of the train tasks.
        settings: of the evolution.
        user: names the functions; None for words of the prompts.
    """
    kinds, tasks = await kinds_found(programs, suite, settings)
    prompts = [[tasks[task].prompt for task in kind.proofs] for kind in kinds]
    texts, usage = await names(prompts, [kind.varied_values for kind in kinds], user)
    functions = [function_of(kind, tasks, name) for kind, name in zip(kinds, texts, strict=True)]
    return functions, tasks, usage


async def kinds_found(
    programs: Sequence[tuple[str, str]], suite: LoadedSuite, settings: EvolveSettings
) -> tuple[list[Kind], dict[str, TrainTask]]:
    """The programs that pass several train tasks, and the train tasks."""
    tasks = {task.id: TrainTask.of(task, suite.base) for task in suite.tasks}
    folder = settings.out / "trials"
    trials = Trials(suite, select(settings.sandbox), folder, trusted=settings.trust_checks)
    trees = [(task, tree) for task, code in programs if task in tasks and (tree := allowed(code))]
    try:
        return await kinds_of(trees, tasks, trials), tasks
    finally:
        remove_tree(folder)


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
    prompts = {task.id: task.prompt for task in suite.tasks} if suite else {}
    lines: list[str] = []
    for run in open_trajectories(settings.trajectories):
        metadata = dict(run.harness)
        if not run.outcome:
            codes = programs_run(run)[-1:]
            passed = codes and await prove(run.task_id, codes[0], "")
            metadata |= {"outcome": "pass" if passed else "fail"}
            metadata.setdefault("task", {"prompt": prompts.get(run.task_id, "")})
        labelled = run.model_copy(update={"extra": {**(run.extra or {}), "harness": metadata}})
        lines.append(labelled.model_dump_json(exclude_none=True) + "\n")
    write_atomic(file, "".join(lines))
    return file, Usage()


def prover(suite: LoadedSuite | None, settings: EvolveSettings) -> Prove:
    """Runs programs in the sandbox, as an agent with the skill would, and has the task judge them.

    Args:
        suite: of the train tasks.
        settings: of the evolution.

    Raises:
        BadInput: if the tasks are not known, or there is no such sandbox.
    """
    attempt = attempts(suite, settings)

    async def prove(task_id: str, program: str, module: str) -> bool:
        return (await attempt(task_id, program, module))[0]

    return prove


def attempts(suite: LoadedSuite | None, settings: EvolveSettings) -> Attempt:
    """Runs programs as :func:`prover` does: whether each passes, and what it printed."""
    if suite is None:
        raise BadInput("--analyst programs runs them at train tasks: give --tasks SUITE")
    sandbox, folder = select(settings.sandbox), settings.out / "proofs"
    tasks, slots = {task.id: task for task in suite.tasks}, asyncio.Semaphore(AT_ONCE)

    async def attempt(task_id: str, program: str, module: str) -> tuple[bool, str]:
        if (task := tasks.get(task_id)) is None:
            return False, ""
        attempt_folder = folder / digest(f"{task_id} {program} {module}")[:12]
        skill, workdir = attempt_folder / "skill", attempt_folder / "work"
        judge = family(task, sandbox=sandbox, trusted=settings.trust_checks)
        async with slots:
            try:
                remove_tree(attempt_folder)  # a killed evolution leaves one
                private_folder(workdir)
                (skill / FILE).parent.mkdir(parents=True)
                (skill / FILE).write_text(module, "utf-8")
                judge.prepare(task, suite.base, workdir)
                bench = Bench(workdir, sandbox, Limits(wall_s=SECONDS), skill)
                output = await TOOLS["python"].run({"code": program}, bench)
                answer = "" if output == NO_OUTPUT else output
                passed = judge.score(task, suite.base, workdir, answer).outcome == "pass"
                return passed, answer
            finally:
                remove_tree(attempt_folder)

    return attempt
