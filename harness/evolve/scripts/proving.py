"""Running a program at a train task, and judging what it leaves: the proof of a function."""

from __future__ import annotations

from harness.core import BadInput, digest, private_folder, remove_tree
from harness.evals import LoadedSuite
from harness.evolve.scripts.library import FILE, Prove
from harness.evolve.settings import EvolveSettings
from harness.sandbox import Limits, select
from harness.tasks import family
from harness.tools import NO_OUTPUT, TOOLS, Bench

SECONDS = 60


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
