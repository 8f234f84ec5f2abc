"""math-verify out of this process: bounded in processor time and memory, many at a time."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from harness.core import BadInput, Value

SECONDS = 6
"""Processor time of one comparison."""
MEMORY = 2 << 30
"""Address space of a worker, bytes."""
HANGING_S = 300.0
"""On the wall, after which a worker is given up that uses no processor time either."""
MOST_WORKERS = max(1, min(4, os.cpu_count() or 1))
MOST_TEXT = 4000
"""Characters of a reply that are looked at: from its last box on, or else its end."""
_WORKER = Path(__file__).with_name("worker.py")


class Verified(Value):
    """What was found out about a reply.

    Attributes:
        ok: whether it is equal to the gold answer.
        gold: the gold answer as it was read, None if it could not be.
        answer: the reply's answer as it was read, None if there is none.
        error: why there is no comparison; "" if there is one.
    """

    ok: bool
    gold: str | None = None
    answer: str | None = None
    error: str = ""


class Worker:
    """One process that compares; ended and begun again when it reaches a limit."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self._process: subprocess.Popen[str] | None = None

    def compare(self, gold: str, text: str) -> Verified:
        """See :func:`verify`."""
        process = self._started()
        request = json.dumps({"gold": gold, "text": text})
        given_up = threading.Timer(HANGING_S, process.kill)
        given_up.start()
        try:
            _pipe(process.stdin).write(request + "\n")
            _pipe(process.stdin).flush()
            line = _pipe(process.stdout).readline()
        except BrokenPipeError:
            line = ""
        finally:
            given_up.cancel()
        if not line:
            self.close()
            limit = f"more than {self._seconds} s of processor time, or too much memory"
            return Verified(ok=False, error=limit)
        return Verified.model_validate_json(line)

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            _pipe(process.stdin).close()
            _pipe(process.stdout).close()

    def _started(self) -> subprocess.Popen[str]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        process = subprocess.Popen(
            [sys.executable, "-P", str(_WORKER), str(self._seconds), str(MEMORY)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            encoding="utf-8",
        )  # fmt: skip
        self._process = process
        if _pipe(process.stdout).readline() != "ready\n":
            self.close()
            raise BadInput("math-verify cannot be started: try `python -c 'import math_verify'`")
        return process


class Workers:
    """Workers that threads share; each is used by one thread at a time.

    Args:
        seconds: processor time of one comparison.
    """

    def __init__(self, seconds: int = SECONDS) -> None:
        self._seconds = seconds
        self._free: list[Worker] = []
        self._lock = threading.Lock()
        self._room = threading.BoundedSemaphore(MOST_WORKERS)

    def compare(self, gold: str, text: str) -> Verified:
        """See :func:`verify`."""
        with self._room:
            with self._lock:
                worker = self._free.pop() if self._free else Worker(self._seconds)
            try:
                return worker.compare(gold, text)
            finally:
                with self._lock:
                    self._free.append(worker)

    def close(self) -> None:
        """End all processes; the next comparison begins one again."""
        with self._lock:
            for worker in self._free:
                worker.close()


_workers = Workers()
atexit.register(_workers.close)


def require() -> None:
    """Find out whether math-verify is there, before a model call is paid for.

    Raises:
        BadInput: if it is not.
    """
    if find_spec("math_verify") is None:
        raise BadInput("math tasks need math-verify: pip install 'agent-skill-harness[math]'")


def verify(gold: str, reply: str) -> Verified:
    """Whether a reply's final answer equals the gold answer, by math-verify (Apache-2.0).

    Its last boxed answer counts, or else its last formula or number. May be called in any thread.

    Args:
        gold: LaTeX or a number.
        reply: of any length; the end of it is looked at.

    Raises:
        BadInput: if math-verify is missing.
    """
    require()
    return _workers.compare(gold, tail(reply))


def tail(reply: str) -> str:
    """The part of a reply in which its answer stands."""
    if len(reply) <= MOST_TEXT:
        return reply
    boxed = reply.rfind("\\boxed")
    return reply[boxed : boxed + MOST_TEXT] if boxed >= 0 else reply[-MOST_TEXT:]


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None  # all are opened
    return pipe
