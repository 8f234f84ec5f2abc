"""What the sandbox takes and gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from harness.core import BadInput, Value

LimitHit = Literal["time", "cpu", "memory", "processes", "output", "disk"]


class Limits(Value):
    """Limits of one execution; all are enforced by every rung of the ladder.

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
    """What a command did.

    Attributes:
        exit_code: of the command; None if it was killed by a limit.
        stdout: decoded as UTF-8 with replacement.
        stderr: likewise.
        seconds: wall-clock time.
        limit: the limit that ended it, if one did.
        backend: the rung that ran it.
    """

    exit_code: int | None
    stdout: str
    stderr: str
    seconds: float
    limit: LimitHit | None = None
    backend: str

    @property
    def ok(self) -> bool:
        """Whether the command ended by itself with exit code 0."""
        return self.exit_code == 0


class SandboxUnavailable(BadInput):
    """No rung that was asked for can run here; the message says why. No failure of a command."""


class Sandbox(Protocol):
    """Runs a command with no network, and no access outside its work folder."""

    name: str

    def exec(
        self,
        command: Sequence[str],
        *,
        workdir: Path,
        files: Mapping[str, bytes] | None = None,
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
        readable: Sequence[Path] = (),
    ) -> Result:
        """Run `command` in `workdir`, blocking.

        Args:
            command: argument vector; no shell is added.
            workdir: the only writable place; HOME and TMPDIR point inside it.
            files: relative path -> content, written into `workdir` first.
            limits: default `Limits()`.
            env: variables beyond the fixed safe ones; the host's environment never leaks in.
            readable: further paths that may be read.
        """
        ...
