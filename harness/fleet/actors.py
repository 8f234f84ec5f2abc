"""Workers as actors of a Ray cluster.

Ray chooses the nodes by the resources that a worker asks for, restarts workers that die, and brings
the files of the run to each node once (one object, put once). Everything else goes over the
worker's own connection to the driver, as with processes of this machine.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from harness.core import BadInput, Unreachable
from harness.fleet.types import (
    GRACE_S,
    HOST,
    Arrivals,
    Executor,
    Invitation,
    Work,
    keep_running,
    pack,
    unpack,
)
from harness.fleet.worker import serve


class RayWorker:
    """One actor: an event loop with several parts of the job at once."""

    async def serve(self, invitation: dict[str, Any], files: bytes) -> None:
        """Work until the driver closes the connection.

        Args:
            invitation: fields of an :class:`Invitation`.
            files: as :func:`harness.fleet.types.pack` made them.
        """
        with tempfile.TemporaryDirectory(prefix="harness-worker-") as folder:
            await serve(Invitation(**invitation), unpack(files, Path(folder)))


@dataclass(frozen=True)
class RayExecutor(Executor):
    """So many actors in the cluster that this process has joined.

    Attributes:
        resources: of a worker: `CPU`, `GPU`, `memory` (bytes), or names that nodes of the cluster
            offer, such as `sandbox`.
    """

    workers: int
    host: str
    resources: Mapping[str, float]
    shares_disk: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """Return the demands of a worker in Ray's words."""
        standard = ("CPU", "GPU", "memory")
        own = {name: amount for name, amount in self.resources.items() if name not in standard}
        return {
            "num_cpus": self.resources.get("CPU", 1.0),
            "num_gpus": self.resources.get("GPU", 0.0),
            "memory": self.resources.get("memory"),
            "resources": own or None,
        }

    async def place(self, work: Work, invitation: Invitation, arrivals: Arrivals) -> None:
        """Keep the actors running until it is cancelled; then they end."""
        import ray
        from ray.exceptions import RayActorError, RayError

        library: Any = ray
        files = library.put(pack(work.trees))
        kind = library.remote(RayWorker).options(**self.options, max_restarts=-1)
        actors = [kind.remote() for _ in range(self.workers)]

        async def run(actor: Any) -> str:
            """Let an actor serve; Ray restarts it when it dies."""
            try:
                # Until Ray has found room for it again, an actor refuses calls: no failure.
                ready = actor.__ray_ready__.options(max_task_retries=-1)
                await asyncio.wrap_future(ready.remote().future())
                serving = asyncio.wrap_future(
                    actor.serve.remote(asdict(invitation), files).future()
                )
                try:
                    await asyncio.shield(serving)
                except asyncio.CancelledError:
                    # It has a moment to remove its files; how it ends is no matter.
                    with suppress(Exception):
                        await asyncio.wait_for(serving, GRACE_S)
                    raise
            except RayActorError as error:
                return str(error)
            except RayError as error:
                raise Unreachable(f"a worker of the Ray cluster failed: {error}") from error
            return "the connection ended"

        try:
            await keep_running([partial(run, actor) for actor in actors], arrivals)
        finally:
            for actor in actors:
                library.kill(actor)


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
        import ray
    except ImportError as error:
        raise BadInput("--executor ray needs the extra `ray`: pip install ray") from error
    library: Any = ray
    if not library.is_initialized():
        address = os.environ.get("RAY_ADDRESS", "local")
        alone = {"include_dashboard": False, "_node_ip_address": HOST} if address == "local" else {}
        on_main_thread = threading.current_thread() is threading.main_thread()
        handler = signal.getsignal(signal.SIGTERM)
        try:
            library.init(address=address, logging_level=logging.ERROR, log_to_driver=False, **alone)
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
    return RayExecutor(workers or int(room), library.util.get_node_ip_address(), resources)
