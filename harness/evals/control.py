"""Control of a run from another terminal: files in its folder, so that nothing has to listen.

The run writes `status.json` every second. A command is a file in `control/`; its answer is a file
beside it, and `control.jsonl` logs the commands that were carried out. Whoever may write the run
folder may control the run.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field, ValidationError

from harness.core import BadInput, Unreachable, Value, read_foreign, write_atomic
from harness.evals.pool import POLL_S, Pool, Tally

if TYPE_CHECKING:
    from harness.models import Budget

STATUS, FOLDER, LOG = "status.json", "control", "control.jsonl"
STALE_S, ANSWER_S = 10.0, 10.0


class RunStatus(Value):
    """Present state of a run.

    Attributes:
        pid: of the runner.
        updated: seconds since the epoch.
        paused: whether no attempt begins.
        concurrency: attempts at a time, at most.
        total: attempts of the run, with `passed`, `failed` and `invalid` ones finished.
        waiting: attempts that have not begun.
        running: id -> seconds since it began.
        tokens: of the finished attempts.
        cost_usd: of the finished attempts; None if unknown.
    """

    pid: int
    updated: float
    paused: bool
    concurrency: int
    total: int
    passed: int
    failed: int
    invalid: int
    waiting: int
    running: dict[str, float]
    tokens: int
    cost_usd: float | None


class Change(Value):
    """New limits of every attempt, or of the run; None leaves a limit as it is."""

    usd: float | None = Field(default=None, gt=0)
    tokens: int | None = Field(default=None, gt=0)
    calls: int | None = Field(default=None, gt=0)
    seconds: float | None = Field(default=None, gt=0)
    working: float | None = Field(default=None, gt=0)


class Command(Value):
    """A command to a running run.

    `item` belongs to cancel and requeue, `value` to concurrency, `change` to limits (usd, tokens,
    seconds, working; of every attempt) and budget (usd, tokens, calls; of the run).
    """

    action: Literal["pause", "resume", "cancel", "requeue", "concurrency", "limits", "budget"]
    item: str = ""
    value: int = Field(default=1, ge=1)
    change: Change = Change()


class Answer(Value):
    """Outcome of a command, and a message for people."""

    done: bool
    message: str


def read_status(run: Path) -> RunStatus:
    """The status that the runner of a run folder last wrote.

    Raises:
        BadInput: if there is no run, or none is under way.
        Unreachable: if the runner has not written for a while (it was killed, or stopped).
    """
    if not (run / "run.json").is_file():
        raise BadInput(f"no run at {str(run)!r} (expected a folder with run.json)")
    try:
        status = RunStatus.model_validate_json(read_foreign(run / STATUS))
    except FileNotFoundError:
        raise BadInput(f"{str(run)!r} is not running: it is finished, or to be resumed") from None
    age = abs(time.time() - status.updated)  # a clock may have been set back
    if age > STALE_S:
        raise Unreachable(
            f"the runner of {str(run)!r} (process {status.pid}) has not written for {age:.0f} s: "
            "it was killed or stopped; go on with --resume"
        )
    return status


def ask(run: Path, command: Command) -> Answer:
    """Send a command to a running run, and wait for its answer.

    Raises:
        BadInput, Unreachable: as :func:`read_status`.
    """
    read_status(run)
    name = f"{time.time_ns():020}-{secrets.token_hex(4)}"
    request, reply = (run / FOLDER / f"{name}.{end}" for end in ("json", "answer"))
    write_atomic(request, command.model_dump_json())
    deadline = time.monotonic() + ANSWER_S
    while time.monotonic() < deadline:
        if reply.is_file():
            answer = Answer.model_validate_json(read_foreign(reply))
            reply.unlink(missing_ok=True)
            return answer
        time.sleep(POLL_S / 5)
    request.unlink(missing_ok=True)
    raise Unreachable(f"the runner of {str(run)!r} did not answer within {ANSWER_S:g} s")


@asynccontextmanager
async def controlled(
    run: Path, pool: Pool, tally: Tally, budget: Budget | None, *, priced: bool = True
) -> AsyncGenerator[None]:
    """Write the status of a run and carry out commands, until the block ends.

    Args:
        run: its folder.
        pool: its attempts.
        tally: what is finished.
        budget: of the run; None where it cannot be changed.
        priced: whether it is known what a call costs, so that dollars can be a limit.
    """
    shutil.rmtree(run / FOLDER, ignore_errors=True)  # commands to a run that was killed
    (run / FOLDER).mkdir()
    _write_status(run, pool, tally)

    async def serve() -> None:
        written = 0.0
        while True:
            with suppress(OSError):  # out of open files: the run goes on, and commands wait
                for request in sorted((run / FOLDER).glob("*.json")):
                    _answer(run, request, pool, budget, priced)
                    written = 0.0
                if time.monotonic() - written >= 1:
                    _write_status(run, pool, tally)
                    written = time.monotonic()
            await asyncio.sleep(POLL_S)

    work = asyncio.create_task(serve())
    try:
        yield
    finally:
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work
        (run / STATUS).unlink(missing_ok=True)
        shutil.rmtree(run / FOLDER, ignore_errors=True)


def _answer(run: Path, request: Path, pool: Pool, budget: Budget | None, priced: bool) -> None:
    """Carry out the command in a file; the answer lies beside it."""
    try:
        command = Command.model_validate_json(read_foreign(request))
    except (ValidationError, OSError, UnicodeDecodeError) as error:
        answer = Answer(done=False, message=f"expected a command, got something else: {error}")
    else:
        answer = _carry_out(command, pool, budget, priced)
        if answer.done:  # what was changed during a run belongs to its records
            row = {"at": time.time(), **command.model_dump(exclude_defaults=True)}
            with suppress(OSError), (run / LOG).open("a", encoding="utf-8") as log:
                log.write(json.dumps({**row, "answer": answer.message}) + "\n")
    request.unlink(missing_ok=True)
    with suppress(BadInput):  # who asked is told that there was no answer
        write_atomic(request.with_suffix(".answer"), answer.model_dump_json())


def _carry_out(command: Command, pool: Pool, budget: Budget | None, priced: bool) -> Answer:
    action, name = command.action, command.item
    change = command.change.model_dump(exclude_none=True)
    if action in ("pause", "resume"):
        pool.paused = action == "pause"
        state = f"{len(pool.running)} attempts under way go on" if pool.paused else "it goes on"
        return Answer(done=True, message=f"{action}d: {state}")
    if action == "concurrency":
        pool.resize(command.value)
        fewer = "" if pool.concurrency == command.value else ": the model answers no more"
        message = f"at most {pool.concurrency} attempts at a time{fewer}"
        return Answer(done=True, message=message)
    if "usd" in change and not priced:
        return Answer(done=False, message="dollars are no limit here: the model's price is unknown")
    if action == "limits":
        if not change or "calls" in change:
            message = "the limits stay: expected usd, tokens, seconds or working"
            return Answer(done=False, message=message)
        live = pool.attempter.limits
        live.now = live.now.model_copy(update=change)
        limits = _named(live.now.model_dump())
        return Answer(done=True, message=f"limits of an attempt: {limits}")
    if action == "budget":
        if budget is None or not change or not change.keys() <= {"usd", "tokens", "calls"}:
            return Answer(done=False, message="the budget stays: expected usd, tokens or calls")
        budget.change(**change)
        spent = f"${budget.spent.usd:.4f}, {budget.spent.tokens} tokens, {budget.spent.calls} calls"
        limits = _named({"usd": budget.usd, "tokens": budget.tokens, "calls": budget.calls})
        return Answer(done=True, message=f"budget of the run: {limits}; spent {spent}")
    if action == "cancel":
        carried_out, text, states = pool.cancel(name), "cancelled", "waiting or under way"
    else:
        carried_out, text, states = pool.requeue(name), "requeued", "under way or invalid"
    message = f"{name}: {text}" if carried_out else f"no attempt {name!r} is {states}"
    return Answer(done=carried_out, message=message)


def _named(limits: dict[str, float | None]) -> str:
    return ", ".join(f"{value:g} {name}" for name, value in limits.items() if value is not None)


def _write_status(run: Path, pool: Pool, tally: Tally) -> None:
    status = {
        "pid": os.getpid(), "updated": time.time(),
        "paused": pool.paused, "concurrency": pool.concurrency,
        "total": tally.total, "passed": tally.passed, "failed": tally.failed,
        "invalid": tally.invalid, "waiting": pool.waiting,
        "running": {name: round(seconds, 1) for name, seconds in pool.running.items()},
        "tokens": tally.usage.tokens, "cost_usd": tally.usage.cost_usd,
    }  # fmt: skip
    with suppress(BadInput):  # a full disk ends the run where records are written, not here
        write_atomic(run / STATUS, json.dumps(status))
