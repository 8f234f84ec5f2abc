"""Everything that `harness evolve` takes."""

from __future__ import annotations

from harness.evals import ModelSettings, WorkerSettings
from harness.evolve.baselines.types import BaselineName
from harness.evolve.types import EvolveOptions


class EvolveSettings(ModelSettings, WorkerSettings, EvolveOptions):
    """Everything `harness evolve` takes: the options, and where models and tasks come from.

    Workers make the attempts at tasks; analysts and merger work in this process.

    Attributes:
        suite: makes the trajectories (split `train`), instead of `trajectories`.
        tasks: suite that holds the tasks of `trajectories`, for agentic analysts to prove on.
        agent: agent spec for the suite.
        gate: `auto` (the suite's `selection` split), a suite, or `none`.
        limit: take the first tasks of each split only.
        baselines: what else is made of the same trajectories and run on the gate's tasks.
        users: specs of models that will use the skill; default the agent's, with `transfer`.
        transfer: suites that the users run with the skill; default the gate's tasks.
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
    trust: bool = False
