"""Running the design: each rollout with its own subset of the skill, in one run folder."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core import Task
from harness.evals import Attempts, EvalPlan, Finished, gateway_of
from harness.receipts.plan import Rollout
from harness.receipts.units import Cut
from harness.sandbox import select
from harness.skills import Skill
from harness.tasks import family

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.models import Model
    from harness.receipts.audit import AuditSettings


@dataclass(frozen=True)
class AuditRun(EvalPlan):
    """An eval run of rollouts of one design.

    Attributes:
        rollouts: those to run; finished ones are kept.
        facts: of the audit, in the lock of its run folder.
    """

    rollouts: tuple[Rollout, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def attempts(self) -> list[tuple[Task, int]]:
        """The rollouts, in the order of the design."""
        tasks = {task.id: task for task in self.suite.tasks}
        return [(tasks[rollout.task], rollout.epoch) for rollout in self.rollouts]

    def lock(self, model: Model) -> dict[str, Any]:
        """What `run.json` records."""
        return super().lock(model) | {"kind": "audit", **self.facts}


@asynccontextmanager
async def open_subsets(
    run: AuditRun, parsed: Cut, settings: AuditSettings, model: Model, out: Path
) -> AsyncGenerator[Subsets]:
    """Makes the attempts of an audit, while a block runs."""
    sandbox = select(settings.sandbox)
    judge = partial(family, sandbox=None if settings.trust else sandbox)
    try:
        async with gateway_of(run, model) as gateway:

            def attempts(plan: EvalPlan) -> Attempts:
                return Attempts(plan, out, model, sandbox, judge, None, gateway)

            yield Subsets(run, attempts, parsed, out / "subsets")
    finally:
        shutil.rmtree(out / "subsets", ignore_errors=True)


class Subsets:
    """Attempts with the units that the design gives them; both of a pair share a seed.

    Attributes:
        limits: of every attempt.
    """

    def __init__(
        self,
        run: AuditRun,
        attempts: Callable[[EvalPlan], Attempts],
        parsed: Cut,
        folder: Path,
    ) -> None:
        whole = attempts(run)
        self.limits, self.resize = whole.limits, whole.resize
        self._run, self._attempts, self._parsed, self._folder = run, attempts, parsed, folder
        self._rollouts = {(rollout.task, rollout.epoch): rollout for rollout in run.rollouts}

    async def run(self, task: Task, epoch: int) -> Finished:
        """One attempt."""
        rollout = self._rollouts[task.id, epoch]
        folder = self._folder / rollout.id.replace("/", "_")
        skill = self._parsed.render(rollout.units)
        shutil.rmtree(folder, ignore_errors=True)
        write_files(skill, folder / skill.name)
        # An attempt adds its epoch to the seed: both of a pair get the same.
        seed = self._run.seed + rollout.pair - epoch
        single = self._attempts(replace(self._run, skill=folder / skill.name, seed=seed))
        single.limits = self.limits
        try:
            return await single.run(task, epoch)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def write_files(skill: Skill, folder: Path) -> None:
    """Write a skill's files as they are: a skill from elsewhere is judged unchanged."""
    for relative, data in skill.all_files.items():
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if relative in skill.executable:
            path.chmod(0o755)
