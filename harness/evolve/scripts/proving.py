"""Functions from runs: their programs are run at train tasks, and judged by what they leave."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack, aclosing

from harness.core import BadInput, Patch, Trajectory, Usage, digest, private_folder, remove_tree
from harness.evals import LoadedSuite
from harness.evolve.scripts.library import FILE, TOKENS, Name, Prove, learn, passing, scripts_patch
from harness.evolve.scripts.naming import names
from harness.evolve.scripts.prompts import Kind
from harness.evolve.settings import EvolveSettings
from harness.models import Budget, CallStore, open_model, parse_roles
from harness.sandbox import Limits, select
from harness.tasks import family
from harness.tools import NO_OUTPUT, TOOLS, Bench

SECONDS = 60


async def write_functions(
    runs: Sequence[Trajectory], suite: LoadedSuite | None, settings: EvolveSettings, budget: Budget
) -> tuple[Patch, Usage]:
    """The functions that the programs of runs give, as a patch; and what naming them took.

    Args:
        runs: of graph:program, or of any agent whose last call of the tool `python` passed; or
            replies without an outcome, whose programs must pass first.
        suite: of the train tasks.
        settings: of the evolution. The agent's model, where one is named, names the functions.
        budget: that its calls are booked on.

    Raises:
        BadInput: if the tasks are not known, or there is no such sandbox or model.
    """
    prove = prover(suite, settings)
    prompts = {task.id: task.prompt for task in suite.tasks} if suite else {}
    programs, usage = await passing(runs, prove), Usage()
    async with AsyncExitStack() as stack:
        name: Name | None = None
        if settings.models:
            opened = open_model(
                parse_roles(list(settings.models))["agent"],
                base_url=settings.base_url,
                calls=stack.enter_context(CallStore(settings.out / "names.sqlite")),
                budget=budget,
            )
            user = await stack.enter_async_context(aclosing(opened))

            async def by_user(every: Sequence[Kind]) -> list[str]:
                nonlocal usage
                chosen, usage = await names(every, prompts, user)
                return chosen

            name = by_user
        functions = await learn(programs, prompts, prove, TOKENS[settings.size], name)
    return scripts_patch(functions, runs), usage


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
