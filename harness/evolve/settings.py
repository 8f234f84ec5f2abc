"""Everything that `harness evolve` takes."""

from __future__ import annotations

from typing import Annotated, Any

from harness.core import BadInput, Option
from harness.evals import ModelSettings, WorkerSettings
from harness.evolve.baselines.types import NAMES, BaselineName
from harness.evolve.types import EvolveOptions


def read_names(context: Any, parameter: Any, text: str | None) -> list[str]:
    """Names of baselines with commas between them."""
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    if unknown := [name for name in names if name not in NAMES]:
        raise BadInput(f"--baselines: expected some of {', '.join(NAMES)}, got {unknown}")
    return names


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

    suite: Annotated[str | None, Option("Make the trajectories: run the suite's train split.")] = (
        None
    )
    tasks: Annotated[
        str | None, Option("Suite of the tasks of --trajectories, to prove fixes on.")
    ] = None
    agent: Annotated[
        str | None, Option("graph:FILE.py:NAME, cmd:COMMAND or py:FILE.py:FUNCTION.")
    ] = None
    gate: Annotated[str, Option("auto, none, or a suite.")] = "auto"
    limit: Annotated[int | None, Option("Take the first tasks of each split only.")] = None
    baselines: Annotated[
        tuple[BaselineName, ...],
        Option(
            "Run these too, commas between: " + ", ".join(NAMES) + ".",
            metavar="NAMES",
            callback=read_names,
        ),
    ] = ()
    users: Annotated[
        tuple[str, ...],
        Option(
            "A model that will use the skill; runs it too, against its seed. May repeat.",
            names=("--user",),
            metavar="SPEC",
        ),
    ] = ()
    transfer: Annotated[
        tuple[str, ...],
        Option(
            "What users run: out-of-domain suites. May repeat. Default: the gate's tasks.",
            metavar="SUITE",
        ),
    ] = ()
    epochs: Annotated[int, Option("Attempts per task.")] = 1
    trust: Annotated[bool, Option("Run code that comes with the suite unsandboxed.")] = False
