"""What a fleet runs, and who starts its workers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.evals import Attempter, Judge, JudgingSpec, LoadedSuite, RemoteRun


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
    """What every worker of a fleet does.

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
    """How a worker finds its driver.

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


class Executor:
    """Starts the worker processes of a fleet, and others in place of those that die.

    Attributes:
        workers: how many.
        host: address to which the driver listens, so that its workers can reach it.
        shares_disk: whether workers see the driver's files where they are.
    """

    workers: int
    host: str
    shares_disk: bool

    async def place(self, work: Work, invitation: Invitation, arrivals: Arrivals) -> None:
        """Keep the workers running until it is cancelled; then they end.

        Args:
            work: what they do.
            invitation: how they find the driver.
            arrivals: how many have become ready so far.

        Raises:
            HarnessError: if they cannot be kept running.
        """
        raise TypeError(f"{type(self).__name__} places no workers")

    def attempts(self, run: RemoteRun) -> AbstractAsyncContextManager[Attempter]:
        """See :class:`harness.evals.workers.Executor`."""
        from harness.fleet.attempts import open_attempts

        return open_attempts(self, run)

    def judge(self, suite: LoadedSuite, spec: JudgingSpec) -> Judge:
        """See :class:`harness.evals.workers.Executor`."""
        from harness.fleet.judging import remote_judge

        return remote_judge(self, suite, spec)
