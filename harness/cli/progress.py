"""Progress of long work: bars on a terminal, a line every few seconds elsewhere; on stderr."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from harness.cli.commands import dollars, echo
from harness.cli.terminal import bars
from harness.core.terminal import time_left

if TYPE_CHECKING:
    from harness.evals import Tally
    from harness.evolve import Event

UNCHANGED_S = 15.0
"""Seconds between two lines that say the same of what is done."""


class Progress:
    """Done, passed, invalid, tokens, cost; time left, at the end time used.

    Args:
        total: of the items.
        label: what they are, for people.
        interval: seconds between two lines where there is no terminal.
    """

    def __init__(self, total: int, label: str, interval: float = 5.0) -> None:
        self._total, self._label, self._every = total, label, interval
        self._started, self._last, self._done = time.monotonic(), 0.0, -1

    def update(
        self,
        done: int,
        passed: int | None,
        invalid: int,
        tokens: int,
        cost_usd: float | None,
        waits_for: str = "",
    ) -> None:
        """Show the state of the work; `waits_for` names what is under way, where that takes long.

        `passed` is None where nothing is judged. What did not pass is not named: it is no fault of
        the work.

        Tokens and cost are those of what is done: before the first, there are none to be shown.
        """
        now = time.monotonic()
        cost = "cost unknown" if cost_usd is None else dollars(cost_usd)
        used = [f"{tokens:,} tokens", cost] if done else []
        parts = [*used, time_left(now - self._started, done, self._total), waits_for]
        more = "  ".join(part for part in parts if part)
        if (drawn := bars()) is not None:
            drawn.show(self._label, done, self._total, passed=passed, invalid=invalid, more=more)
        elif now - self._last >= (self._every if done != self._done else UNCHANGED_S) or (
            done == self._total
        ):
            self._last, self._done = now, done
            judged = "" if passed is None else f"  passed {passed}  invalid {invalid}"
            counts = f"{done}/{self._total}{judged}"
            echo(f"{self._label} {counts}  {more}".rstrip(), err=True)


class EventLines:
    """Events of an evolution: a bar a stage on a terminal, elsewhere lines.

    Args:
        interval: seconds between two lines with counts.
    """

    def __init__(self, interval: float = 5.0) -> None:
        self._every, self._last, self._done = interval, 0.0, ("", -1)
        self._started: dict[str, float] = {}

    def __call__(self, event: Event) -> None:
        """Show one event."""
        now, done, total = time.monotonic(), event.done, event.total
        if not total:
            if event.message:
                echo(f"{event.stage}: {event.message}", err=True)
            return
        remaining = time_left(now - self._started.setdefault(event.stage, now), done, total)
        more = "  ".join(part for part in (event.message, remaining) if part)
        if (drawn := bars()) is not None:
            drawn.show(event.stage, done, total, more=more)
        elif now - self._last >= (
            self._every if (event.stage, done) != self._done else UNCHANGED_S
        ) or (done >= total):
            self._last, self._done = now, (event.stage, done)
            echo(f"{event.stage}: {done}/{total} {more}".rstrip(), err=True)


def tally_progress(*, resumable: bool = False) -> Callable[[str, Tally], None]:
    """Shows the tallies of runs, each under its label.

    Args:
        resumable: whether to say that a run whose first attempts are all invalid for one reason
            can be stopped, and go on with --resume.
    """
    by_label: dict[str, Progress] = {}
    warned: set[str] = set()

    def update(label: str, tally: Tally) -> None:
        progress = by_label.setdefault(label, Progress(tally.total, label))
        usage = tally.usage
        progress.update(
            tally.done, tally.passed, tally.invalid, usage.tokens, usage.cost_usd, tally.waits_for
        )
        if (
            resumable
            and label not in warned
            and tally.done < tally.total
            and (reason := tally.stuck)
        ):
            warned.add(label)
            option = re.search(r"--[a-z]+-limit", reason)
            more = f" and a higher {option[0]}" if option else ", once that is mended,"
            echo(
                f"all of the first {tally.done} attempts are invalid: {reason[:300]}; Ctrl-C "
                f"stops, and the same command with --resume RUN{more} goes on",
                err=True,
            )

    return update
