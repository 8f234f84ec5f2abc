"""Answers, patterns, schemas and templates of others, worked out within limits.

A pattern of a few characters matches for hours, a template fills the memory: see
`docs/decisions/0020-foreign-patterns.md`.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from queue import LifoQueue
from typing import Any, Literal

from harness.core import BadInput, LimitReached

Kind = Literal["math", "patterns"]
SECONDS = 6
"""Processor time of one call."""
MEMORY: dict[Kind, int] = {"math": 2 << 30, "patterns": 512 << 20}
"""Address space of a worker, bytes."""
HANGING_S = 300.0
"""On the wall, after which a worker is given up that uses no processor time either."""
MOST_WORKERS = max(1, min(4, os.cpu_count() or 1))
_WORKER = Path(__file__).with_name("bounded_worker.py")


class Unusable(BadInput):
    """A call failed on what it was given."""


class Overlong(Unusable, LimitReached):
    """A call took more processor time or memory than it may (exit code 2)."""


class Workers:
    """Processes that work; threads share them, each is used by one thread at a time.

    A process that reaches a limit is ended, and begun again when it is needed.

    Args:
        kind: what they work out.
        seconds: processor time of one call.
    """

    def __init__(self, kind: Kind, seconds: int = SECONDS) -> None:
        self._kind: Kind = kind
        self._seconds = seconds
        self._idle: LifoQueue[subprocess.Popen[str] | None] = LifoQueue()
        for _ in range(MOST_WORKERS):
            self._idle.put(None)
        atexit.register(self.close)

    def call(self, name: str, *arguments: Any, about: str = "it") -> Any:
        """Return what a function of `bounded_worker.py` returns.

        Args:
            name: of the function.
            arguments: JSON values; others are given as text.
            about: what is worked out, for messages.

        Raises:
            Overlong: if it takes too much processor time or memory.
            Unusable: if the function fails.
            BadInput: if no worker can be started.
        """
        request, process, line = json.dumps([name, *arguments], default=str), self._idle.get(), ""
        try:
            if process is None or process.poll() is not None:
                _end(process)
                process = None  # what cannot be begun is not given back
                process = self._begin()
            assert process.stdin is not None and process.stdout is not None
            given_up = threading.Timer(HANGING_S, process.kill)
            given_up.start()
            try:
                with suppress(BrokenPipeError):
                    process.stdin.write(request + "\n")
                    process.stdin.flush()
                    line = process.stdout.readline()
            finally:
                given_up.cancel()
            if not line:
                _end(process)
                process = None
        finally:
            self._idle.put(process)
        reply = json.loads(line or '{"error": "MemoryError"}')
        if reply.get("error") == "MemoryError":
            limit = f"more than {self._seconds} s of processor time, or too much memory"
            raise Overlong(f"{about}: {limit}")
        if "error" in reply:
            raise Unusable(f"{about} cannot be used: {reply['error']}: {reply['says']}")
        return reply["value"]

    def close(self) -> None:
        """End the processes that do nothing; the next call begins one again."""
        for process in [self._idle.get_nowait() for _ in range(self._idle.qsize())]:
            _end(process)
            self._idle.put(None)

    def _begin(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-P", str(_WORKER), self._kind, str(self._seconds),
             str(MEMORY[self._kind])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            encoding="utf-8",
        )  # fmt: skip
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            _end(process)
            raise BadInput(f"no worker for {self._kind} can be started: try {_WORKER} by hand")
        return process


@cache
def workers(kind: Kind) -> Workers:
    """Return the workers of this process."""
    return Workers(kind)


def _end(process: subprocess.Popen[str] | None) -> None:
    if process is not None:
        with suppress(BrokenPipeError), process:  # closes its pipes and waits for it
            process.kill()
