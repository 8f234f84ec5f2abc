"""`--executor local` and `--executor ray`: processes of this machine, actors of a Ray cluster."""

from __future__ import annotations

import logging
import os
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import harness
from harness.core import BadInput, Unreachable
from harness.fleet.trees import Tree, pack
from harness.fleet.workers import Actors, Ask, Processes

if TYPE_CHECKING:
    from harness.evals import Attempter, Judge, JudgingSpec, LoadedSuite, RemoteRun

HOST = "127.0.0.1"


@dataclass(frozen=True)
class WorkerExecutor(ABC):
    """Starts workers, and others in place of those that die.

    Attributes:
        workers: how many.
        host: address of this machine that they reach.
        shares_disk: whether workers see the driver's files where they are.
    """

    workers: int
    host: str = HOST
    shares_disk: bool = False

    @property
    def slots(self) -> int | None:
        """Attempts at a time; None where a worker makes many."""
        return self.workers if self.shares_disk else None

    @abstractmethod
    def open(
        self, entry: str, spec: Any, trees: Mapping[str, Tree]
    ) -> AbstractAsyncContextManager[Ask]:
        """Workers for as long as a block runs; gives the function that asks one of them.

        Args:
            entry: see :mod:`harness.fleet.workers`.
            spec: for the entry.
            trees: files for it, by name; those on a shared disk are read where they lie.
        """

    def attempts(self, run: RemoteRun) -> AbstractAsyncContextManager[Attempter]:
        """See :class:`harness.evals.pool.Executor`."""
        from harness.fleet.attempts import open_attempts

        return open_attempts(self, run)

    def judge(self, suite: LoadedSuite, spec: JudgingSpec) -> Judge:
        """See :class:`harness.evals.pool.Executor`."""
        from harness.fleet.bulk import remote_judge

        return remote_judge(self, suite, spec)


@dataclass(frozen=True)
class LocalExecutor(WorkerExecutor):
    """So many worker processes on this machine, which read the driver's files where they lie."""

    shares_disk: bool = True

    @asynccontextmanager
    async def open(self, entry: str, spec: Any, trees: Mapping[str, Tree]) -> AsyncGenerator[Ask]:
        """See :class:`WorkerExecutor`."""
        folders = {name: tree.root.absolute() for name, tree in trees.items()}
        processes = Processes(self.workers, (harness.__version__, entry, spec, folders))
        try:
            yield processes.ask
        finally:
            await processes.close()


@dataclass(frozen=True)
class RayExecutor(WorkerExecutor):
    """So many actors in the cluster that this process has joined.

    Attributes:
        resources: of a worker: `CPU`, `GPU`, `memory` (bytes), or names that nodes of the cluster
            offer, such as `sandbox`.
    """

    resources: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def options(self) -> dict[str, Any]:
        """Return the demands of a worker in Ray's words."""
        standard = ("CPU", "GPU", "memory")
        custom = {name: amount for name, amount in self.resources.items() if name not in standard}
        return {
            "num_cpus": self.resources.get("CPU", 1.0),
            "num_gpus": self.resources.get("GPU", 0.0),
            "memory": self.resources.get("memory"),
            "resources": custom or None,
        }

    @asynccontextmanager
    async def open(self, entry: str, spec: Any, trees: Mapping[str, Tree]) -> AsyncGenerator[Ask]:
        """See :class:`WorkerExecutor`."""
        arguments = (harness.__version__, entry, spec, pack(trees))
        actors = Actors(self.workers, self.options, arguments)
        try:
            yield actors.ask
        finally:
            await actors.close()


def local(workers: int, resources: dict[str, float]) -> LocalExecutor:
    """Worker processes on this machine (`--executor local`); 0 is one for every core.

    Raises:
        BadInput: for resources, which only Ray knows.
    """
    if resources:
        raise BadInput("resources of a worker need --executor ray")
    return LocalExecutor(workers or os.cpu_count() or 1)


def open_ray(workers: int, resources: Mapping[str, float]) -> RayExecutor:
    """Join the cluster of RAY_ADDRESS, or begin one of this machine alone.

    Args:
        workers: how many; 0 is as many as the cluster has room for.
        resources: of each worker.

    Raises:
        BadInput: if Ray is not installed, or the cluster has no room for a worker.
        Unreachable: if the cluster cannot be joined.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anybody
    try:
        library: Any = import_module("ray")
    except ImportError as error:
        raise BadInput("--executor ray needs the extra `ray`: pip install ray") from error
    if not library.is_initialized():
        address = os.environ.get("RAY_ADDRESS", "local")
        local_options = (
            {"include_dashboard": False, "_node_ip_address": HOST} if address == "local" else {}
        )
        on_main_thread = threading.current_thread() is threading.main_thread()
        handler = signal.getsignal(signal.SIGTERM)
        try:
            library.init(
                address=address, logging_level=logging.ERROR, log_to_driver=False, **local_options
            )
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise Unreachable(f"cannot join the Ray cluster {address!r}: {error}") from error
        finally:
            if on_main_thread:  # Ray puts a handler of its own in place of the program's
                signal.signal(signal.SIGTERM, handler)
    offered: dict[str, float] = library.cluster_resources()
    needed = {"CPU": 1.0, **resources}
    room = min(offered.get(name, 0.0) // amount for name, amount in needed.items() if amount > 0)
    if room < 1:
        raise BadInput(f"a worker asks for {needed}, and the whole Ray cluster offers {offered}")
    return RayExecutor(
        workers or int(room), library.util.get_node_ip_address(), resources=resources
    )
