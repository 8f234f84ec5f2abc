"""Running the design: each rollout with its own subset of the skill, in one run folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.agents import AgentRun, open_agent
from harness.core import Task, Trajectory
from harness.core.rundir import RunWriter
from harness.evals import (
    Attempts,
    EvalPlan,
    ItemRecord,
    LoadedSuite,
    Pool,
    ProgressHook,
    Tally,
    attempt_id,
    collect,
    finished_items,
    gateway_of,
    open_agent_model,
)
from harness.models import CallStore
from harness.receipts.audit import AuditSettings
from harness.receipts.plan import Rollout
from harness.receipts.units import Cut
from harness.sandbox import select
from harness.skills import Skill
from harness.tasks import family

if TYPE_CHECKING:
    from harness.models import Gateway, Model


class Runner:
    """Runs rollouts of one design; finished ones are kept when it is started again.

    Use as an asynchronous context manager.
    """

    def __init__(
        self, settings: AuditSettings, suite: LoadedSuite, parsed: Cut, out: Path, lock: object
    ) -> None:
        by_user = settings.agent is not None
        base = Path.cwd() if by_user else suite.root
        spec = settings.agent or suite.suite.agent
        agent = open_agent(spec, base=base, trusted=by_user or settings.trust)
        self.plan = EvalPlan(
            suite=suite, agent=agent, skill_mode=settings.skill_mode, seed=settings.seed
        )
        self._settings, self._parsed, self._out, self._lock = settings, parsed, out, lock
        self._sandbox = select(settings.sandbox)
        self._calls = CallStore(out / "calls.sqlite")
        self.model = open_agent_model(settings.evaluation(), self._calls)
        self._tasks = {task.id: task for task in suite.tasks}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Runner:
        lock = self.plan.lock(self.model) | {
            "kind": "audit",
            "skill": self._parsed.skill.digest,
            "skill_name": self._parsed.skill.name,
            "audit": self._lock,
        }
        self._stack.callback(self._calls.close)
        self._stack.push_async_callback(self.model.aclose)
        self._run = self._stack.enter_context(RunWriter(self._out, lock))
        self._gateway = await self._stack.enter_async_context(gateway_of(self.plan, self.model))
        finished = finished_items(self._run)
        self.items = {item.id: item for item in finished if item.outcome != "invalid"}
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        shutil.rmtree(self._out / "subsets", ignore_errors=True)

    async def run(self, rollouts: Sequence[Rollout], total: int, show: ProgressHook | None) -> None:
        """Run those of these rollouts that are not finished yet."""
        tally = Tally(total=total)
        for item in self.items.values():
            tally.count(item)
        by_attempt = {(rollout.task, rollout.epoch): rollout for rollout in rollouts}
        attempts = _Subsets(self.plan, self._out, self.model, self._sandbox, self._family,
                            self._gateway, self._parsed, by_attempt)  # fmt: skip
        todo = [(self._tasks[r.task], r.epoch) for r in rollouts if r.id not in self.items]
        pool = Pool(attempts, todo, self._settings.concurrency)
        shown = None if show is None else partial(show, self._out.name)
        await collect(pool, self._run, dict(self.items), tally, shown)
        # A pool keeps what a report needs; a receipt needs answers and tokens, too.
        self.items = {item.id: item for item in finished_items(self._run)}

    def trajectories(self) -> Mapping[str, Trajectory]:
        """The trajectories so far, by id."""
        rows = (Trajectory.model_validate(row) for row in self._run.trajectories())
        return {row.trajectory_id: row for row in rows}

    def _family(self, task: Task) -> Any:
        return family(task, sandbox=None if self._settings.trust else self._sandbox)


class _Subsets(Attempts):
    """Attempts that bring their own subset of the skill and share the seed of their pair."""

    def __init__(
        self,
        plan: EvalPlan,
        out: Path,
        model: Model,
        sandbox: Any,
        family: Any,
        gateway: Gateway | None,
        parsed: Cut,
        design: Mapping[tuple[str, int], Rollout],
    ) -> None:
        super().__init__(plan, out, model, sandbox, family, None, gateway)
        self._shared = (out, model, sandbox, family, None, gateway)
        self._whole, self._folder = plan, out / "subsets"
        self._parsed, self._design = parsed, design

    async def run(self, task: Task, epoch: int) -> tuple[ItemRecord, AgentRun | None]:
        """One attempt with the units that the design gives it."""
        rollout = self._design[task.id, epoch]
        folder = self._folder / f"{attempt_id(task, epoch).replace('/', '_')}"
        skill = self._parsed.render(rollout.units)
        path = folder / skill.name
        shutil.rmtree(folder, ignore_errors=True)
        write_files(skill, path)
        # An attempt adds its epoch to the seed: both of a pair get the same.
        seed = self._whole.seed + rollout.pair - epoch
        try:
            single = Attempts(replace(self._whole, skill=path, seed=seed), *self._shared)
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
