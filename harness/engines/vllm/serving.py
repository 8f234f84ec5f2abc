"""A vLLM server from its start to its end: started, warmed, watched, drained.

It is not started again when it ends later: a supervisor of the machine (systemd, Kubernetes) does
that, and copies of a model stand behind vLLM's own data parallelism or router.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.core import BadInput, Unreachable, cache_root
from harness.engines.vllm.command import Launch, command_line
from harness.engines.vllm.server import Server, read_figures, warm
from harness.models import HOST, bind

WATCH_S = 0.5
READY_S = 1800.0
"""A large model is read from a slow disk."""
Say = Callable[[str], None]


def start_server(launch: Launch, logs: Path | None = None) -> Server:
    """Start the server of a launch; from the main thread, which it lives and dies with.

    Args:
        launch: what to start.
        logs: folder of the log file.

    Raises:
        BadInput: for a port that is taken, too few GPUs, an address that others reach without a
            key, or an interpreter or log that cannot be opened.
    """
    if launch.host not in (HOST, "localhost", "::1") and not os.environ.get("VLLM_API_KEY"):
        raise BadInput(
            f"--host {launch.host!r} lets other machines in: set VLLM_API_KEY to a key that they "
            f"must know, or listen on {HOST}"
        )
    environment = {"VLLM_NO_USAGE_STATS": "1", "PYTHONUNBUFFERED": "1"}
    if Path(launch.model).is_dir():  # no hub is asked for weights that are here
        environment |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    if launch.visible_gpus:
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(launch.visible_gpus)
    with bind(launch.port) as listener:
        port: int = listener.getsockname()[1]
    host = HOST if launch.host in ("0.0.0.0", "localhost") else launch.host
    return Server(
        command_line(launch, port),
        f"http://{f'[{host}]' if ':' in host else host}:{port}/v1",
        (logs or cache_root() / "logs") / f"vllm-{port}.log",
        environment,
    )


def serve(
    launch: Launch, logs: Path | None, bodies: list[dict[str, Any]], ready: Callable[[str], None],
    say: Say,
) -> None:  # fmt: skip
    """Serve until SIGINT or SIGTERM, then drain; a second signal ends the server at once.

    Args:
        launch: what to start.
        logs: folder of the log file.
        bodies: requests that warm the server.
        ready: called with the base URL once the server has answered them.
        say: called with a line about every event.

    Raises:
        KeyboardInterrupt: when SIGINT has ended it.
        BadInput: as :func:`start_server`.
        Unreachable: if it does not come up, or ends by itself.
    """
    stop, signals, is_ready = threading.Event(), list[int](), False

    def on_signal(number: int, frame: object) -> None:
        signals.append(number)
        stop.set()
        if not is_ready or len(signals) > 1:
            raise KeyboardInterrupt

    handled = (signal.SIGINT, signal.SIGTERM)
    handlers = {number: signal.signal(number, on_signal) for number in handled}
    server: Server | None = None
    try:
        server = start_server(launch, logs)
        say(f"waiting for {server.url} (log: {server.log})")
        server.wait_ready(READY_S)
        started = time.monotonic()
        warm(server.url, launch.served_name, launch.profile.task, bodies)
        say(f"warm after {time.monotonic() - started:.1f} s: {server.url}")
        is_ready = True
        ready(server.url)
        while not stop.wait(WATCH_S):
            if not server.alive:
                raise Unreachable(server.last_words("ended"))
        figures, cached = read_figures(server.url, direct=True), ""
        if figures.hit_rate is not None:
            prompts = f"{figures.cache_queries:,} prompt tokens"
            cached = f"; the prefix cache held {figures.hit_rate:.1%} of {prompts}"
        say(f"draining {figures.running + figures.waiting} requests under way{cached}")
        server.terminate()
        if not server.wait_drained(launch.drain_s):
            say("not all were done in time: the others were cut off")
    finally:
        if server is not None:
            server.kill()
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if signal.SIGINT in signals:
        raise KeyboardInterrupt
