"""Output that commands share: JSON on stdout, progress on stderr."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pydantic import BaseModel

    from harness.evals import Tally
    from harness.evolve import Event


def emit(result: BaseModel | dict[str, Any] | list[Any], as_json: bool, text: str) -> None:
    """Print `result` as one JSON document, or `text` for people."""
    if as_json:
        plain = isinstance(result, dict | list)
        value = result if plain else result.model_dump(mode="json")
        click.echo(json.dumps(value, ensure_ascii=False, indent=2))
    else:
        click.echo(text)


def dollars(cost_usd: float | None) -> str:
    """A cost for people; None is unknown, which is not nothing."""
    return "unknown" if cost_usd is None else f"${cost_usd:.4f}"


class Progress:
    """One line on stderr: done / failed / invalid, tokens, cost and time left.

    On a terminal the line is rewritten; elsewhere it is printed at most every `every` seconds.
    """

    def __init__(self, total: int, label: str, every: float = 5.0) -> None:
        self._total = total
        self._label = label
        self._started = time.monotonic()
        self._every = 0.1 if sys.stderr.isatty() else every
        self._last = 0.0

    def update(
        self, done: int, failed: int, invalid: int, tokens: int, cost_usd: float | None
    ) -> None:
        """Show the state of the work."""
        now = time.monotonic()
        if now - self._last < self._every and done < self._total:
            return
        self._last = now
        cost = "cost unknown" if cost_usd is None else dollars(cost_usd)
        left = (now - self._started) / done * (self._total - done) if done else float("nan")
        line = (
            f"{self._label} {done}/{self._total}  failed {failed}  invalid {invalid}  "
            f"{tokens:,} tokens  {cost}  {'' if left != left else f'{left:.0f} s left'}"
        )
        end = "\r" if sys.stderr.isatty() and done < self._total else "\n"
        click.echo(line.ljust(100) + end, nl=False, err=True)


class EventLines:
    """Events of an evolution as lines on stderr; counts at most every `every` seconds."""

    def __init__(self, every: float = 5.0) -> None:
        self._every = every
        self._last = 0.0

    def __call__(self, event: Event) -> None:
        """Show one event."""
        counts = bool(event.total)
        now = time.monotonic()
        if counts and event.done < event.total and now - self._last < self._every:
            return
        self._last = now if counts else self._last
        count = f"{event.done}/{event.total} " if counts else ""
        click.echo(f"{event.stage}: {count}{event.message}".rstrip(), err=True)


def tally_progress() -> Callable[[str, Tally], None]:
    """Shows the tallies of runs, a line for each label."""
    lines: dict[str, Progress] = {}

    def update(label: str, tally: Tally) -> None:
        line = lines.setdefault(label, Progress(tally.total, label))
        usage = tally.usage
        line.update(tally.done, tally.failed, tally.invalid, usage.tokens, usage.cost_usd)

    return update


@contextmanager
def resumable(run: Path) -> Generator[None]:
    """A block that a budget or Ctrl-C may stop: then the command that resumes `run` is printed.

    That is the command that was typed, with --resume in place of --out and --resume.
    """
    from harness.core import LimitReached

    try:
        yield
    except (LimitReached, KeyboardInterrupt) as error:
        words, typed = iter(sys.argv[1:]), list[str]()
        for word in words:
            if word in ("--out", "--resume"):
                next(words, None)
            elif not word.startswith(("--out=", "--resume=")):
                typed.append(word)
        command = shlex.join(["harness", *typed, "--resume", str(run)])
        click.echo(f"what is finished is kept; go on with:\n  {command}", err=True)
        if isinstance(error, KeyboardInterrupt):
            raise click.Abort from error
        raise
