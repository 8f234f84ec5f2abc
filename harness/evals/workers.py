"""Contract of `--executor`: attempts that are made outside this process.

An executor is a plugin of `harness.executors`: a function `(workers, resources) -> Executor`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from harness.core import Task
from harness.evals.report import ItemRecord

if TYPE_CHECKING:
    from harness.agents import AgentRun
    from harness.evals.plan import EvalPlan
    from harness.evals.regrade import Judge, JudgingSpec
    from harness.evals.settings import SuiteSettings
    from harness.evals.suite import LoadedSuite
    from harness.models import ChatModel, LiveLimits

Attempt = tuple[Task, int]
"""A task and the number of the attempt at it, from 0."""
Finished = tuple[ItemRecord, "AgentRun | None"]
EventHook = Callable[[dict[str, Any]], None]


class Attempter(Protocol):
    """Makes single attempts: in this process, or in workers.

    Attributes:
        limits: of every attempt, from its next call on.
    """

    limits: LiveLimits

    async def run(self, task: Task, epoch: int) -> Finished:
        """One attempt.

        Raises:
            LimitReached: when a budget is spent.
        """
        ...

    def resize(self, concurrency: int) -> None:
        """Allow that many model calls in flight from now on."""
        ...


@dataclass(frozen=True)
class RemoteRun:
    """A run whose attempts are made by workers.

    Attributes:
        plan: what to run.
        out: the run folder, which this process alone writes.
        model: answers the workers.
        settings: sandbox and trust of the run.
        agent_base: folder that files of the agent start at.
        agent_trusted: whether the agent's code may run outside the sandbox.
        on_event: called with every event of every attempt.
    """

    plan: EvalPlan
    out: Path
    model: ChatModel
    settings: SuiteSettings
    agent_base: Path
    agent_trusted: bool
    on_event: EventHook | None = None


class Executor(Protocol):
    """Starts workers, here or on other machines.

    Attributes:
        workers: how many.
        shares_disk: whether workers see this machine's files where they are.
    """

    @property
    def workers(self) -> int: ...

    @property
    def shares_disk(self) -> bool: ...

    def attempts(self, run: RemoteRun) -> AbstractAsyncContextManager[Attempter]:
        """Makes the attempts of a run, while a block runs."""
        ...

    def judge(self, suite: LoadedSuite, spec: JudgingSpec) -> Judge:
        """Judges answers to the tasks of a suite."""
        ...
