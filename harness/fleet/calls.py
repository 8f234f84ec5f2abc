"""Model calls of workers: the driver's model answers them over HTTP.

One cache, one budget, and no key leaves the driver. An attempt is known by its number; with each
call it sends along what it has to report so far (events, warnings, tool calls), and learns the
limits that hold now.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import secrets
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, JsonValue

from harness.core import Unreachable, tracing
from harness.evals import RemoteRun
from harness.fleet.workers import outcome, value_of
from harness.models import (
    Endpoint,
    LiveLimits,
    Message,
    Price,
    Reply,
    SampleLimits,
    Sampling,
    serving,
)

if TYPE_CHECKING:
    import openai
    from starlette.requests import Request
    from starlette.responses import Response

Report = dict[str, Any]
"""Something to report: its `kind` (`event`, `warning`, `tool`), and the `value`."""


@dataclass
class Underway:
    """In a worker: an attempt that is being made.

    Attributes:
        number: by which the driver knows it.
        limits: as they were at its last call.
        reports: that the driver has not got yet.
    """

    number: int
    limits: LiveLimits
    reports: list[Report] = field(default_factory=list[Report])

    def report(self, kind: str, value: Any) -> None:
        """Report something with the next call, or the end."""
        self.reports.append({"kind": kind, "value": json.loads(json.dumps(value, default=str))})

    def take_reports(self) -> list[Report]:
        """Return the reports that are to be sent now."""
        reports, self.reports = self.reports, []
        return reports


UNDERWAY: ContextVar[Underway | None] = ContextVar("underway", default=None)


@dataclass
class _Attempt:
    """An attempt in a worker, as the driver sees it."""

    context: Context
    began_ns: int
    calls: set[asyncio.Task[Reply]] = field(default_factory=set["asyncio.Task[Reply]"])


class CallServer:
    """The address at which workers find the driver's model.

    Attributes:
        limits: of every attempt.
        endpoint: where they find it.
    """

    def __init__(self, run: RemoteRun) -> None:
        self._run, self._numbers = run, count(1)
        self._attempts: dict[int, _Attempt] = {}
        self.limits = LiveLimits(run.plan.limits)
        self.endpoint = Endpoint("vllm", "driver", key=secrets.token_hex(32))

    @contextmanager
    def attempt(self) -> Generator[int]:
        """Take the calls of an attempt while a block runs; gives its number."""
        number = next(self._numbers)
        attempt = self._attempts[number] = _Attempt(copy_context(), time.time_ns())
        try:
            yield number
        finally:
            del self._attempts[number]
            for call in attempt.calls:
                call.cancel()

    async def handle(self, request: Request) -> Response:
        """Answer a request of a worker."""
        from starlette.responses import Response

        authorization = request.headers.get("authorization", "")
        if not hmac.compare_digest(authorization.encode(), f"Bearer {self.endpoint.key}".encode()):
            return Response("unknown key", 401)
        body = json.loads(await request.body())
        answer = await outcome(self._complete(body))
        answer["limits"] = self.limits.now.model_dump(mode="json")
        return Response(json.dumps(answer))

    async def _complete(self, body: dict[str, Any]) -> dict[str, Any]:
        attempt = self._attempts.get(body["attempt"])
        if attempt is None:
            raise Unreachable("the attempt is over")
        self.take(body["attempt"], body["reports"])
        completion = self._run.model.complete(
            body["messages"],
            tools=body["tools"],
            sampling=body["sampling"] and Sampling.model_validate(body["sampling"]),
            response_format=body["response_format"],
        )
        # A copy: calls that overlap would leave each other's variables in a shared one.
        call = asyncio.create_task(completion, context=attempt.context.copy())
        attempt.calls.add(call)
        call.add_done_callback(attempt.calls.discard)
        try:
            return (await asyncio.shield(call)).model_dump(mode="json")
        except asyncio.CancelledError:
            if not call.cancelled():
                raise
            raise Unreachable("the attempt is over") from None

    def take(self, number: int, reports: list[Report]) -> None:
        """Take the reports of an attempt."""
        attempt = self._attempts[number]
        for report in reports:
            kind, value = report["kind"], report["value"]
            if kind == "tool":
                attempt.context.run(trace_tool, value, attempt.began_ns)
            elif kind == "warning":
                logging.getLogger(value["logger"]).log(value["level"], "%s", value["message"])
            elif self._run.on_event is not None:
                self._run.on_event(value)


@asynccontextmanager
async def open_calls(run: RemoteRun, host: str) -> AsyncGenerator[CallServer]:
    """Answer the calls of workers while a block runs.

    Raises:
        BadInput: if no port can be had.
    """
    from starlette.applications import Starlette
    from starlette.routing import Route

    server = CallServer(run)
    routes = [Route("/calls", server.handle, methods=["POST"])]
    async with serving(Starlette(routes=routes), grace=0, host=host) as url:
        server.endpoint = replace(server.endpoint, url=url)
        yield server


class RemoteModel:
    """A worker's way to the driver's model.

    Args:
        client: of the driver.
        spec: of the model.
        simulated: whether a simulated model answers.
        constrains: whether its server holds replies to a JSON schema.
        price: of its tokens, as far as it is known.
    """

    def __init__(
        self,
        client: openai.AsyncOpenAI,
        spec: str,
        simulated: bool,
        constrains: bool,
        price: Price | None,
    ) -> None:
        self.spec, self.simulated, self.constrains = spec, simulated, constrains
        self.price = price
        self._client = client

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, JsonValue]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, JsonValue] | None = None,
    ) -> Reply:
        """See :meth:`harness.models.Model.complete`."""
        import openai

        attempt = UNDERWAY.get()
        assert attempt is not None  # a worker asks within an attempt
        request = {
            "messages": messages,
            "tools": tools,
            "sampling": sampling and sampling.model_dump(mode="json"),
            "response_format": response_format,
            "attempt": attempt.number,
            "reports": attempt.take_reports(),
        }
        try:
            response = await self._client.post(
                "/calls",
                cast_to=openai.HttpxBinaryResponseContent,
                content=json.dumps(request).encode(),
                options=openai.RequestOptions(timeout=None),
            )
        except openai.APIError as error:
            cause = error.__cause__ or error
            raise Unreachable(f"the driver does not answer its worker: {cause!r}") from error
        answer = json.loads(response.content)
        attempt.limits.now = SampleLimits.model_validate(answer["limits"])
        return Reply.model_validate(value_of(answer))


class ToolCalls(tracing.Watcher):
    """Reports the tool calls of a worker's attempts.

    Args:
        content: whether arguments and results are reported, too.
    """

    def __init__(self, *, content: bool) -> None:
        self.content = content
        self._began: dict[int, int] = {}

    def began(self, operation: tracing.Operation) -> None:
        """See :class:`harness.core.tracing.Watcher`."""
        if operation.kind == "execute_tool":
            self._began[operation.number] = time.time_ns()

    def ended(self, operation: tracing.Operation) -> None:
        """See :class:`harness.core.tracing.Watcher`."""
        began, attempt = self._began.pop(operation.number, None), UNDERWAY.get()
        if began is None or attempt is None:
            return
        error, content = operation.error, operation.content if self.content else {}
        row = {
            "name": operation.name,
            "facts": operation.attributes,
            "content": {
                key: value.model_dump(mode="json") if isinstance(value, BaseModel) else value
                for key, value in content.items()
            },
            "began": began,
            "ended": time.time_ns(),
            "seconds": operation.seconds,
            "error": None if error is None else type(error).__qualname__,
        }
        attempt.report("tool", row)


class Warnings(logging.Handler):
    """Reports the warnings of our modules that come up in a worker's attempts."""

    def emit(self, record: logging.LogRecord) -> None:
        """See :class:`logging.Handler`."""
        row = {"logger": record.name, "level": record.levelno, "message": record.getMessage()}
        if (attempt := UNDERWAY.get()) is not None:
            attempt.report("warning", row)


class WorkerError(Exception):
    """Failure of an operation of a worker; only the name of its class is known here."""


def trace_tool(row: dict[str, Any], started_ns: int) -> None:
    """Trace a tool call of a worker, as :class:`ToolCalls` reported it, in the attempt under way.

    Its times are by the worker's clock, which may be another machine's: they are moved into the
    attempt, which began at `started_ns`, and not into the future.
    """
    if not tracing.watched():
        return
    began, ended = (min(max(row[key], started_ns), time.time_ns()) for key in ("began", "ended"))
    call = tracing.Operation(
        "execute_tool", row["name"], row["facts"], tracing.current(), began_ns=began
    )
    with suppress(WorkerError), call:
        call.say(**row["content"])
        call.seconds, call.ended_ns = row["seconds"], ended
        if (error := row["error"]) is not None:
            raise type(error.rpartition(".")[2], (WorkerError,), {"__qualname__": error})
