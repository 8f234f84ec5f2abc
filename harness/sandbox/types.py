"""Limits and results of an execution."""

from __future__ import annotations

from typing import Literal

from harness.core import BadInput, Value

LimitHit = Literal["time", "cpu", "memory", "processes", "output", "disk"]


class Limits(Value):
    """Limits of one execution; every back end enforces all of them.

    Attributes:
        wall_s: wall-clock seconds, after which the whole process group is killed.
        cpu_s: CPU seconds of each process.
        memory_mb: memory of the command, MiB.
        processes: processes and threads at one time.
        output_bytes: stdout and stderr together; more is cut off and the command killed.
        disk_mb: bytes that the work folder may grow by, MiB.
    """

    wall_s: float = 120.0
    cpu_s: int = 120
    memory_mb: int = 2048
    processes: int = 128
    output_bytes: int = 2_000_000
    disk_mb: int = 512


class Result(Value):
    """Result of a command.

    Attributes:
        exit_code: of the command; None if it was killed by a limit.
        stdout: decoded as UTF-8 with replacement.
        stderr: likewise.
        seconds: wall-clock time.
        limit: the limit that ended it, if one did.
        backend: the back end that ran it.
    """

    exit_code: int | None
    stdout: str
    stderr: str
    seconds: float
    limit: LimitHit | None = None
    backend: str

    @property
    def ok(self) -> bool:
        """True if the command ended by itself with exit code 0."""
        return self.exit_code == 0


class SandboxUnavailable(BadInput):
    """No requested back end can run here; the message says why. Not a failure of a command."""
