"""Replicas of one vLLM server: started together, restarted when one dies, drained together."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from harness.core import BadInput, HarnessError, Unreachable, cache_root
from harness.engines.vllm.command import Launch, command_line
from harness.engines.vllm.server import Figures, Server, read_figures, warm
from harness.models import HOST, bind

RESTARTS = 3
"""Of one replica, before it is given up."""
WATCH_S = 0.5
READY_S = 1800.0
"""A large model is read from a slow disk."""
Say = Callable[[str], None]


class Fleet:
    """The servers of one launch. Start it from the main thread, which they live and die with.

    Attributes:
        ready: whether all have taken their first request.

    Args:
        launch: what to start.
        logs: folder of the log files.
        say: gets a line about what happens.
        bodies: requests that warm every replica.
        ready_s: seconds that a replica may take to start.

    Raises:
        BadInput: for a port that is taken, too few GPUs, or an address that others reach without
            a key.
    """

    def __init__(
        self,
        launch: Launch,
        logs: Path | None = None,
        say: Say = lambda _: None,
        bodies: list[dict[str, Any]] | None = None,
        ready_s: float = READY_S,
    ) -> None:
        if launch.host not in (HOST, "localhost", "::1") and not os.environ.get("VLLM_API_KEY"):
            raise BadInput(
                f"--host {launch.host!r} lets other machines in: set VLLM_API_KEY to a key that "
                f"they must know, or listen on {HOST}"
            )
        self._launch, self._say, self._ready_s = launch, say, ready_s
        self._bodies = bodies or []
        self._logs = logs or cache_root() / "logs"
        self._gpus = [launch.gpus_of(replica) for replica in range(launch.replicas)]
        with ExitStack() as stack:  # ports that are chosen here are all different
            ports = (launch.port and launch.port + replica for replica in range(launch.replicas))
            listeners = [stack.enter_context(bind(port)) for port in ports]
            self._ports: list[int] = [listener.getsockname()[1] for listener in listeners]
        self._servers: list[Server] = []
        self._restarts = [0] * launch.replicas
        self._cold: set[str] = set()
        self.ready = False

    @property
    def urls(self) -> tuple[str, ...]:
        """Base URLs of the replicas, for clients on this machine."""
        return tuple(server.url for server in self._servers)

    def start(self) -> None:
        """Start all replicas, wait until they take requests, and warm them.

        Raises:
            Unreachable: if one does not come up.
            BadInput: if the interpreter or the log cannot be opened.
        """
        for replica in range(self._launch.replicas):
            self._servers.append(self._open(replica))
        for server in self._servers:
            self._say(f"waiting for {server.url} (log: {server.log})")
            server.wait_ready(self._ready_s)
            self._warm(server)
        self.ready = True

    def watch(self, stop: threading.Event) -> None:
        """Restart replicas that die, until `stop` is set.

        Raises:
            Unreachable: when one is given up and none is left.
        """
        while not stop.wait(WATCH_S):
            for replica, server in enumerate(self._servers):
                if not server.alive and self._restarts[replica] <= RESTARTS:
                    self._restart(replica)
                elif server.url in self._cold and server.healthy():
                    # It came back with an empty prefix cache; clients may use it meanwhile.
                    self._cold.discard(server.url)
                    try:
                        self._warm(server)
                    except HarnessError as error:
                        self._say(f"{server.url} came back, and was not warmed: {error}")

    def figures(self) -> Figures:
        """Counters of the replicas that answer, since each was started."""
        total = Figures()
        for server in self._servers:
            try:
                total += read_figures(server.url, direct=True)
            except Unreachable:
                continue
        return total

    def stop(self) -> bool:
        """Drain all replicas at the same time; what is not done within the limit is cut off.

        Returns:
            Whether all ended by themselves.
        """
        for server in self._servers:
            server.terminate()
        ends = time.monotonic() + self._launch.drain_s
        drained = [
            server.wait_drained(max(0.0, ends - time.monotonic())) for server in self._servers
        ]
        return all(drained)

    def kill(self) -> None:
        """End all replicas at once."""
        for server in self._servers:
            server.kill()

    def _open(self, replica: int) -> Server:
        added = {"VLLM_NO_USAGE_STATS": "1", "PYTHONUNBUFFERED": "1"}
        if Path(self._launch.model).is_dir():  # no hub is asked for weights that are here
            added |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
        if self._gpus[replica]:
            added["CUDA_VISIBLE_DEVICES"] = ",".join(self._gpus[replica])
        port = self._ports[replica]
        host = HOST if self._launch.host in ("0.0.0.0", "localhost") else self._launch.host
        return Server(
            command_line(self._launch, port),
            f"http://{f'[{host}]' if ':' in host else host}:{port}/v1",
            self._logs / f"vllm-{port}.log",
            added,
        )

    def _warm(self, server: Server) -> None:
        started = time.monotonic()
        warm(server.url, self._launch.served_name, self._launch.profile.task, self._bodies)
        self._say(f"warm after {time.monotonic() - started:.1f} s: {server.url}")

    def _restart(self, replica: int) -> None:
        dead = self._servers[replica]
        dead.kill()  # what is left of its group holds memory
        self._restarts[replica] += 1
        words = dead.last_words("ended")
        if self._restarts[replica] > RESTARTS:
            self._say(f"{words}\ngiven up after {RESTARTS} restarts")
            if not any(server.alive for server in self._servers):
                raise Unreachable(words)
            return
        self._say(f"{words}\nstarting it again ({self._restarts[replica]} of {RESTARTS})")
        self._servers[replica] = self._open(replica)
        self._cold.add(self._servers[replica].url)


def serve(fleet: Fleet, ready: Callable[[Fleet], None], say: Say) -> None:
    """Run a fleet until SIGINT or SIGTERM, then drain it; a second signal ends it at once.

    Raises:
        KeyboardInterrupt: when SIGINT has ended it.
        Unreachable: if it does not come up, or is given up.
    """
    stop = threading.Event()
    signals: list[int] = []

    def on_signal(number: int, frame: object) -> None:
        signals.append(number)
        stop.set()
        if not fleet.ready or len(signals) > 1:
            raise KeyboardInterrupt

    before = {
        number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        fleet.start()
        ready(fleet)
        fleet.watch(stop)
        figures = fleet.figures()
        cached = ""
        if figures.hit_rate is not None:
            prompts = f"{figures.cache_queries:,} prompt tokens"
            cached = f"; the prefix cache held {figures.hit_rate:.1%} of {prompts}"
        say(f"draining {figures.running + figures.waiting} requests under way{cached}")
        if not fleet.stop():
            say("not all were done in time: the others were cut off")
    finally:
        fleet.kill()
        for number, handler in before.items():
            signal.signal(number, handler)
    if signal.SIGINT in signals:
        raise KeyboardInterrupt
