"""Work in many processes and on many machines: who starts workers, what they share, who writes."""

from __future__ import annotations

import os

from harness.core import BadInput
from harness.fleet.calls import CallService
from harness.fleet.channel import Channel, Gone, Methods
from harness.fleet.driver import Fleet, WorkersLost, open_fleet
from harness.fleet.processes import LocalExecutor
from harness.fleet.relay import relay_service
from harness.fleet.retelling import Retelling
from harness.fleet.sharing import SharedModelSpec, budget_terms, open_shared_model, shared_spec
from harness.fleet.telling import part, telling
from harness.fleet.types import Executor, Tree, Work


def local(workers: int, resources: dict[str, float]) -> LocalExecutor:
    """Worker processes on this machine (`--executor local`); 0 is one for every core.

    Raises:
        BadInput: for a negative number, or resources, which only Ray knows.
    """
    if workers < 0:
        raise BadInput(f"workers: expected 0 or more, got {workers!r}")
    if resources:
        raise BadInput("resources of a worker need --executor ray")
    return LocalExecutor(workers or os.cpu_count() or 1)


__all__ = [
    "CallService",
    "Channel",
    "Executor",
    "Fleet",
    "Gone",
    "LocalExecutor",
    "Methods",
    "Retelling",
    "SharedModelSpec",
    "Tree",
    "Work",
    "WorkersLost",
    "budget_terms",
    "local",
    "open_fleet",
    "open_shared_model",
    "part",
    "relay_service",
    "shared_spec",
    "telling",
]
