"""A command under the proxy: recorded, or answered from a recording."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_urlsafe

from harness.core import BadInput, Value
from harness.core.plugins import load
from harness.core.redaction import Redactor
from harness.core.rundir import new_run_id
from harness.models import (
    Budget,
    CallStore,
    Layer,
    Model,
    client_variables,
    open_model,
    serving,
)
from harness.rag.compress import Store
from harness.record.answers import Answers
from harness.record.context import Compressed, Compressions, Context, Settings
from harness.record.exchanges import Event, LogWriter
from harness.record.forward import Line
from harness.record.proxy import Proxy
from harness.record.recording import Recording
from harness.record.upstream import Purse, Upstream

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE = 5
"""Seconds that requests under way have when the command ends."""
PLACEHOLDER = "recorded"
"""Key of a client that has none: its library refuses to start without one."""


class Report(Value):
    """Outcome of a recorded or replayed command.

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
    """Plan of a recording.

    Attributes:
        folder: of the recording; one that exists is gone on with.
        upstream: who answers; None replays `folder`.
        budget: limits of this command.
        cache: whether a request that `folder` holds an answer to is not sent again.
        port: of the proxy; 0 takes a free one.
        context: how tool outputs are compressed; None passes them on as they are.
        guard: setting of the plugin `guard` of `harness.layers`, in front of the upstream, which
            speaks chat completions then. Its calls count for the budget.
        quiet_stdout: whether the command's output goes to stderr, because stdout is ours.
    """

    folder: Path
    upstream: Upstream | None
    budget: Budget
    cache: bool = True
    port: int = 0
    context: Settings | None = None
    guard: str | None = None
    quiet_stdout: bool = False


def run(plan: Plan, command: Sequence[str]) -> Report:
    """Run a command whose model calls go through the proxy, to its end.

    Raises:
        BadInput: if the command, the recording or the port cannot be used.
    """
    # Not on uvloop: its children do not inherit which signals are ignored (nohup).
    return asyncio.run(_run(plan, command))


async def _run(plan: Plan, command: Sequence[str]) -> Report:
    secrets = Redactor(environment=os.environ)
    async with open_proxy(plan, secrets, command) as (proxy, url, dropped):
        variables = {**os.environ, **client_variables(url)}
        if plan.upstream is None or plan.upstream.key is not None:
            for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
                variables.setdefault(name, PLACEHOLDER)
        code = await _command(command, variables, plan.quiet_stdout)
    written: list[str] = []
    if plan.upstream is not None:
        written = Recording(plan.folder, must=False).write_trajectories(secrets)
    return Report(
        folder=str(plan.folder),
        command_exit=code,
        requests=proxy.requests,
        replayed=proxy.replayed,
        trajectories=written,
        missing=proxy.missing,
        limit=proxy.limit,
        dropped_bytes=dropped,
    )


@asynccontextmanager
async def open_proxy(
    plan: Plan, secrets: Redactor, command: Sequence[str] = ()
) -> AsyncGenerator[tuple[Proxy, str, int]]:
    """The proxy on its port, its base URL without `/v1`, and the bytes dropped on opening.

    Args:
        plan: how to record.
        secrets: what is never written.
        command: that is recorded.
    """
    token = token_urlsafe(16)
    async with AsyncExitStack() as stack:
        line, dropped = None, 0
        if plan.upstream is None:
            recording = Recording(plan.folder)
        else:
            log = LogWriter(plan.folder)
            stack.callback(log.close)
            recording, dropped = Recording(plan.folder, must=False), log.dropped_bytes
            upstream = plan.upstream
            if plan.guard is not None:
                layer = _guard(plan.guard, plan, stack)
                upstream = replace(upstream, layer=layer)
            client = await stack.enter_async_context(upstream.client())
            purse, session = Purse(plan.budget, plan.upstream), new_run_id("record")
            context = None
            if plan.context is not None:  # with all that was shortened into this folder before
                earlier = map(Compressed.model_validate, recording.shortened())
                store = Store(plan.folder / "left-out")
                context = Context(Compressions(plan.context, store, log.add, earlier), secrets)
            line = Line(upstream, client, log, purse, secrets, session, context)
            event: Event = {"event": "session", "session": session, "time": time.time()}
            event["agent"] = Path(command[0]).name if command else "unknown"
            event["command"] = [secrets.text(part) for part in command]
            await log.put(event)
        # What an earlier command recorded did not pass this one's guard.
        reuses = plan.cache and plan.guard is None
        exchanges = recording.exchanges if reuses or line is None else []
        answers = Answers(exchanges, replay=line is None)
        proxy = Proxy(answers, line, secrets, token=token, first=recording.next)
        origin = await stack.enter_async_context(serving(proxy.app(), plan.port, GRACE))
        yield proxy, f"{origin}/{token}", dropped


def _guard(setting: str, plan: Plan, stack: AsyncExitStack) -> Layer:
    """The layer of `--guard`; its calls are kept in the recording.

    Raises:
        BadInput: if the wing is not there, or the setting cannot be read.
    """
    calls = stack.enter_context(CallStore(plan.folder / "calls.sqlite"))

    def opened(spec: str) -> Model:
        model = open_model(spec, calls=calls, budget=plan.budget, role="judge")
        stack.push_async_callback(model.aclose)
        return model

    return load("layers", "guard")(setting, opened)


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
    forwarded = [n for n in _FORWARDED if signal.getsignal(n) is not signal.SIG_IGN]
    for number in forwarded:
        loop.add_signal_handler(number, forward, number)
    try:
        code = await process.wait()
    finally:
        for number in forwarded:
            loop.remove_signal_handler(number)
    return 128 - code if code < 0 else code


def _typed() -> bool:
    """Return True if Ctrl-C on a terminal reaches this process, and so the command in its group."""
    try:
        with Path("/dev/tty").open("rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False
