"""Work of a fleet, the files it needs, and the programs that start its workers."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ormsgpack
import zstandard

from harness.core import BadInput, Unreachable, digest, inside, read_foreign

if TYPE_CHECKING:
    from harness.evals import Attempter, Judge, JudgingSpec, LoadedSuite, RemoteRun

HOST = "127.0.0.1"
GRACE_S = 5.0
"""Seconds that a worker has to end by itself."""
MOST_STARTS = 5
"""No other worker is started after so many in a row that ended before any has become ready.

Those that became ready do not count: what kills them is a part of the job, which the driver gives
up by itself.
"""


@dataclass(frozen=True)
class Tree:
    """Files that workers need.

    Attributes:
        root: folder.
        only: paths below it that count; None takes all.
    """

    root: Path
    only: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Work:
    """Work of every worker of a fleet.

    Attributes:
        entry: `module:function`, called once in every worker as `async with function(channel,
            spec, trees)`; it gives the methods that the driver may ask for.
        spec: JSON values for it.
        trees: files for it, by name; a worker gets the folder in which they lie there.
    """

    entry: str
    spec: dict[str, Any]
    trees: dict[str, Tree] = field(default_factory=dict[str, Tree])


@dataclass(frozen=True)
class Invitation:
    """Address and key by which a worker finds its driver.

    Attributes:
        host: address of the driver.
        port: TCP port there.
        token: shows that a worker is one of this fleet's; never in a command line or a log.
    """

    host: str
    port: int
    token: str = field(repr=False)


Arrivals = Callable[[], int]
"""How many workers of a fleet have become ready so far, those that died since included."""


class Executor(ABC):
    """Starts the worker processes of a fleet, and others in place of those that die.

    Attributes:
        workers: how many.
        host: address to which the driver listens, so that its workers can reach it.
        shares_disk: whether workers see the driver's files where they are.
    """

    workers: int
    host: str
    shares_disk: bool

    @abstractmethod
    async def place(self, work: Work, invitation: Invitation, arrivals: Arrivals) -> None:
        """Keep the workers running until it is cancelled; then they end.

        Args:
            work: what they do.
            invitation: how they find the driver.
            arrivals: how many have become ready so far.

        Raises:
            HarnessError: if they cannot be kept running.
        """

    def attempts(self, run: RemoteRun) -> AbstractAsyncContextManager[Attempter]:
        """See :class:`harness.evals.workers.Executor`."""
        from harness.fleet.attempts import open_attempts

        return open_attempts(self, run)

    def judge(self, suite: LoadedSuite, spec: JudgingSpec) -> Judge:
        """See :class:`harness.evals.workers.Executor`."""
        from harness.fleet.bulk import remote_judge

        return remote_judge(self, suite, spec)


@dataclass(frozen=True)
class LocalExecutor(Executor):
    """So many worker processes on this machine, which read the driver's files where they lie."""

    workers: int
    host: str = HOST
    shares_disk: bool = True

    async def place(self, work: Work, invitation: Invitation, arrivals: Arrivals) -> None:
        """Keep the workers running until it is cancelled; then they end."""
        trees = {name: str(tree.root.absolute()) for name, tree in work.trees.items()}
        line = (json.dumps({**asdict(invitation), "trees": trees}) + "\n").encode()

        async def run() -> str:
            starting = asyncio.create_task(
                asyncio.create_subprocess_exec(
                    sys.executable, "-P", "-m", "harness.fleet.worker",
                    stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C is the driver's: it ends them
                )
            )  # fmt: skip
            try:
                worker = await asyncio.shield(starting)
                await worker.communicate(line)
            finally:
                worker = await starting  # cancelling its start would leave it behind
                if worker.stdin is not None:
                    worker.stdin.close()
                try:
                    await asyncio.wait_for(worker.wait(), GRACE_S)
                except TimeoutError:
                    with suppress(ProcessLookupError):
                        worker.kill()
                    await worker.wait()
            return f"exit code {worker.returncode}"

        await keep_running([run] * self.workers, arrivals)


async def keep_running(runs: Sequence[Callable[[], Awaitable[str]]], arrivals: Arrivals) -> None:
    """Run every worker, and again whenever it ends, until this is cancelled.

    Args:
        runs: one a worker: runs it to its end, and says why it ended.
        arrivals: how many have become ready so far.

    Raises:
        Unreachable: if workers end before they have become ready, again and again.
    """

    async def keep(run: Callable[[], Awaitable[str]]) -> None:
        failures, cause = 0, ""
        while failures < MOST_STARTS:
            before = arrivals()
            cause = await run()
            failures = 0 if arrivals() > before else failures + 1
            await asyncio.sleep(0.2 * failures)
        raise Unreachable(f"{MOST_STARTS} workers in a row ended before they could begin: {cause}")

    try:
        async with asyncio.TaskGroup() as keepers:
            for run in runs:
                keepers.create_task(keep(run))
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None


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


MOST_BYTES = 256 << 20
"""Of all trees of a run, before compression; more belongs on a disk that all nodes share."""


def pack(trees: Mapping[str, Tree]) -> bytes:
    """Trees as one value.

    Raises:
        BadInput: if they hold more than :data:`MOST_BYTES`, or a file cannot be read.
    """
    room, packed = MOST_BYTES, dict[str, Any]()
    for name, tree in sorted(trees.items()):
        root = tree.root.absolute()
        files = dict[str, tuple[int, bytes]]()
        if tree.only is None:
            paths = sorted(path for path in root.rglob("*") if path.is_file())
        else:
            names = [Path(name) for name in tree.only]
            paths = [
                root / name for name in names if not (name.is_absolute() or ".." in name.parts)
            ]
        for path in paths:
            if inside(root, path) is None:  # a link that leads out
                continue
            try:
                content, mode = read_foreign(path), path.stat().st_mode & 0o777
            except OSError as error:
                raise BadInput(f"cannot read {str(path)!r} for the workers: {error}") from error
            room -= len(content)
            if room < 0:
                raise BadInput(
                    f"the files under {str(root)!r} are more than {MOST_BYTES >> 20} MB, too much "
                    "to send to every node: keep the suite in a folder of its own"
                )
            files[path.relative_to(root).as_posix()] = (mode, content)
        packed[name] = {"folder": root.name or "root", "files": files}
    return zstandard.compress(ormsgpack.packb(packed), 3)


def unpack(packed: bytes, into: Path) -> dict[str, Path]:
    """Write trees below a fresh folder; the root of each, by its name."""
    trees: dict[str, Any] = ormsgpack.unpackb(zstandard.decompress(packed))
    roots = dict[str, Path]()
    for name, tree in trees.items():
        root = into / digest(name)[:8] / str(tree["folder"])
        root.mkdir(parents=True)
        for relative, (mode, content) in tree["files"].items():
            path = root / str(relative)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(mode)
        roots[str(name)] = root
    return roots
