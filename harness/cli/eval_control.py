"""`harness eval ctl`: control of a run from another terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.commands import dollars, emit, json_option, path_type, positive, shared_option

_run = click.argument("run", type=path_type)


@click.group("ctl")
def control() -> None:
    """Look into a run that another terminal started, and steer it.

    RUN is its folder. Commands are files in it: nothing listens.
    """


@control.command("list")
@_run
@json_option
def list_attempts(run: Path, as_json: bool) -> None:
    """Show what RUN does: finished, waiting and running attempts.

    Example: harness eval ctl list runs/eval-20261121-045501-9f3a
    """
    from harness.evals.control import read_status

    status = read_status(run)
    finished = status.passed + status.failed + status.invalid
    state = "paused" if status.paused else "running"
    lines = [
        f"{state}, at most {status.concurrency} attempts at a time (process {status.pid})",
        f"{finished} of {status.total} done: passed {status.passed}  failed {status.failed}  "
        f"invalid {status.invalid}; {status.waiting} waiting",
        f"{status.tokens:,} tokens of finished attempts, cost {dollars(status.cost_usd)}",
        *(f"  {seconds:8.1f} s  {name}" for name, seconds in status.running.items()),
    ]
    emit(status, as_json, "\n".join(lines))


@control.command()
@_run
@json_option
def pause(run: Path, as_json: bool) -> None:
    """Begin no attempt; those under way go on.

    Example: harness eval ctl pause runs/eval-20261121-045501-9f3a
    """
    _ask(run, as_json, action="pause")


@control.command()
@_run
@json_option
def resume(run: Path, as_json: bool) -> None:
    """Go on after a pause.

    Example: harness eval ctl resume runs/eval-20261121-045501-9f3a
    """
    _ask(run, as_json, action="resume")


@control.command()
@_run
@click.argument("attempt")
@json_option
def cancel(run: Path, attempt: str, as_json: bool) -> None:
    """End ATTEMPT, or never begin it; it is invalid, and --resume tries it again.

    Example: harness eval ctl cancel runs/eval-20261121-045501-9f3a task-17
    """
    _ask(run, as_json, action="cancel", item=attempt)


@control.command()
@_run
@click.argument("attempt")
@json_option
def requeue(run: Path, attempt: str, as_json: bool) -> None:
    """Begin ATTEMPT again, one under way or an invalid one.

    What was answered comes from the request cache. Scored attempts are not tried again.

    Example: harness eval ctl requeue runs/eval-20261121-045501-9f3a task-17
    """
    _ask(run, as_json, action="requeue", item=attempt)


@control.command()
@_run
@click.argument("number", type=click.IntRange(1))
@json_option
def concurrency(run: Path, number: int, as_json: bool) -> None:
    """Run NUMBER attempts at a time from now on.

    Example: harness eval ctl concurrency runs/eval-20261121-045501-9f3a 4
    """
    _ask(run, as_json, action="concurrency", value=number)


@control.command()
@_run
@shared_option("--tokens", help="Tokens that an attempt may use.")
@shared_option("--usd", help="US dollars that an attempt may cost.")
@click.option("--seconds", type=positive, help="Seconds that an attempt may take.")
@click.option("--working", type=positive, help="Seconds without waiting for the endpoint.")
@json_option
def limits(run: Path, as_json: bool, **change: Any) -> None:
    """Other limits for every attempt from its next call on; those not named stay.

    Example: harness eval ctl limits runs/eval-20261121-045501-9f3a --tokens 8000
    """
    _ask(run, as_json, action="limits", change=change)


@control.command()
@_run
@shared_option("--usd", help="US dollars that the run may cost.")
@shared_option("--tokens", help="Tokens that the run may use.")
@click.option("--calls", type=click.IntRange(1), help="Calls that the run may send.")
@json_option
def budget(run: Path, as_json: bool, **change: Any) -> None:
    """Another budget of the run from its next call on; what is not named stays.

    Example: harness eval ctl budget runs/eval-20261121-045501-9f3a --usd 20
    """
    _ask(run, as_json, action="budget", change=change)


def _ask(run: Path, as_json: bool, **fields: Any) -> None:
    from harness.core import BadInput
    from harness.evals.control import Command, ask

    answer = ask(run, Command(**fields))
    if not answer.done:
        raise BadInput(answer.message)
    emit(answer, as_json, answer.message)
