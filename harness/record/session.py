"""A command under the proxy: recorded, or answered from a recording."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from harness.core import BadInput, Value
from harness.core.redaction import Redactor
from harness.core.rundir import new_run_id
from harness.models import Budget, serving
from harness.rag.compress import Store
from harness.record.context import Compressions, Context, Kept, Settings
from harness.record.line import Line
from harness.record.log import LogWriter
from harness.record.money import Purse
from harness.record.proxy import Proxy, answers_of
from harness.record.recording import Recording, session_event
from harness.record.upstream import Upstream

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE = 5
"""Seconds that requests under way have when the command ends."""
PLACEHOLDER = "recorded"
"""Key of a client that has none: its library refuses to start without one."""


class Report(Value):
    """What a recorded or replayed command did.

    Attributes:
        folder: of the recording.
        command_exit: exit code of the command.
        requests: that it made.
        replayed: requests that were answered from the record.
        trajectories: ids of those written, one a conversation.
        missing: what differs, for each request that a replay could not answer.
        limit: what the budget said, if it refused a request.
        dropped_bytes: of a torn record that an earlier kill had left.
    """

    folder: str
    command_exit: int
    requests: int
    replayed: int
    trajectories: list[str]
    missing: list[str]
    limit: str | None = None
    dropped_bytes: int = 0


@dataclass(frozen=True)
class Plan:
    """How to record.

    Attributes:
        folder: of the recording; one that exists is gone on with.
        upstream: who answers; None replays `folder`.
        budget: limits of this command.
        cache: whether a request that `folder` holds an answer to is not sent again.
        port: of the proxy; 0 takes a free one.
        context: how tool outputs are compressed; None passes them on as they are.
        quiet_stdout: whether the command's output goes to stderr, because stdout is ours.
    """

    folder: Path
    upstream: Upstream | None
    budget: Budget
    cache: bool = True
    port: int = 0
    context: Settings | None = None
    quiet_stdout: bool = False


def run(plan: Plan, command: Sequence[str]) -> Report:
    """Run a command whose model calls go through the proxy, to its end.

    Raises:
        BadInput: if the command, the recording or the port cannot be used.
    """
    # Not on uvloop: its children do not inherit which signals are ignored (nohup).
    return asyncio.run(_run(plan, command))


async def _run(plan: Plan, command: Sequence[str]) -> Report:
    hidden = Redactor(environment=os.environ)
    async with _proxy(plan, command, hidden) as (proxy, url, dropped):
        code = await _command(command, _variables(url, plan.upstream), plan.quiet_stdout)
    written: list[str] = []
    if plan.upstream is not None:
        written = Recording(plan.folder, must=False).write_trajectories(hidden)
    return Report(
        folder=str(plan.folder),
        command_exit=code,
        requests=proxy.asked,
        replayed=proxy.replayed,
        trajectories=written,
        missing=proxy.missing,
        limit=proxy.limit,
        dropped_bytes=dropped,
    )


@asynccontextmanager
async def _proxy(
    plan: Plan, command: Sequence[str], hidden: Redactor
) -> AsyncGenerator[tuple[Proxy, str, int]]:
    """The proxy on its port, its base URL without `/v1`, and the bytes dropped on opening."""
    token = secrets.token_urlsafe(16)
    async with AsyncExitStack() as stack:
        line, dropped = None, 0
        if plan.upstream is None:
            recording = Recording(plan.folder)
        else:
            log = LogWriter(plan.folder)
            stack.callback(log.close)
            recording, dropped = Recording(plan.folder, must=False), log.dropped_bytes
            client = await stack.enter_async_context(plan.upstream.client())
            purse, session = Purse(plan.budget, plan.upstream), new_run_id("record")
            context = _context(plan, recording, log, hidden)
            line = Line(plan.upstream, client, log, purse, hidden, session, context)
            await log.put(session_event(session, command, time.time(), hidden))
        earlier = recording.exchanges if plan.cache or line is None else []
        library = answers_of(earlier, replay=line is None)
        proxy = Proxy(library, line, hidden, token=token, first=recording.next)
        origin = await stack.enter_async_context(serving(proxy.app(), plan.port, GRACE))
        yield proxy, f"{origin}/{token}", dropped


def _context(plan: Plan, recording: Recording, log: LogWriter, hidden: Redactor) -> Context | None:
    """What shortens, with all that was shortened into this folder before."""
    if plan.context is None:
        return None
    compressed = (Kept.model_validate(event) for event in recording.shortened())
    store = Store(plan.folder / "left-out")
    return Context(Compressions(plan.context, store, log.add, compressed), hidden)


def _variables(url: str, upstream: Upstream | None) -> dict[str, str]:
    """The command's environment: base URLs, no proxy for loopback, keys where none are needed."""
    base = f"{url}/v1"
    variables = dict(os.environ)
    variables |= {
        "OPENAI_BASE_URL": base,
        "OPENAI_API_BASE": base,
        "ANTHROPIC_BASE_URL": url,
        "VLLM_BASE_URL": base,
    }
    for name in ("NO_PROXY", "no_proxy"):
        variables[name] = ",".join(filter(None, (variables.get(name), "127.0.0.1,localhost")))
    if upstream is None or upstream.key is not None:
        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
            variables.setdefault(name, PLACEHOLDER)
    return variables


async def _command(command: Sequence[str], variables: Mapping[str, str], quiet: bool) -> int:
    """Run the command; signals that end us are its to handle."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command, env=variables, stdout=sys.stderr.fileno() if quiet else None
        )
    except OSError as error:
        raise BadInput(f"cannot run {command[0]!r}: {error.strerror}") from error

    def forward(number: int) -> None:
        if number == signal.SIGINT and _typed():
            return  # the terminal sends it to the command, too: twice would be more than once
        with suppress(ProcessLookupError):
            process.send_signal(number)

    loop = asyncio.get_running_loop()
    # What we were told to ignore (nohup) stays ignored.
    heard = [
        signal_number
        for signal_number in _FORWARDED
        if signal.getsignal(signal_number) is not signal.SIG_IGN
    ]
    for number in heard:
        loop.add_signal_handler(number, forward, number)
    try:
        code = await process.wait()
    finally:
        for number in heard:
            loop.remove_signal_handler(number)
    return 128 - code if code < 0 else code


def _typed() -> bool:
    """Whether Ctrl-C on a terminal reaches this process, and so the command in its group."""
    try:
        with Path("/dev/tty").open("rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False
