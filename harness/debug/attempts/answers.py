"""Recorded answers of models and tools in a finished attempt, served in their place.

A model call is found by its messages and tools, a tool call by its name, its arguments and the
reply that asked for it. What is not on record is where a run leaves the recording: the node that
asked stops with :class:`LeftRecording`, until the user lets it continue live.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from pydantic import JsonValue

from harness.core import Step, Usage, canonical_json, digest, mapping
from harness.debug.engine.history import History, find_branch
from harness.debug.engine.recording import LeftRecording
from harness.debug.engine.usage import Meter, Sent
from harness.models import (
    Message,
    Model,
    Reply,
    Sampling,
    StoredCall,
    constrained,
    nearest,
    read_reply,
    request_body,
    request_digest,
)
from harness.tools import KEPT_EACH_SIDE, LONGEST, Arguments, Bench, Tool
from harness.trajectories import content_text

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore

ELIDED = re.compile(r"(\d+) characters elided")
Schemas = list[dict[str, JsonValue]]
ToolCall = tuple[Tool, Arguments]
Place = tuple[str, int, str]
"""Thread, super-step and task id of a node."""


@dataclass(frozen=True)
class Beyond:
    """The source of answers beyond the end of the recording.

    Attributes:
        model: is asked.
        bench: gives live tools their place; with calls, in a fresh work folder where these ran.
    """

    model: Model
    bench: Callable[[Bench, Sequence[ToolCall] | None], Awaitable[Bench]]


@dataclass
class Counts:
    """Counts of the answers that were served.

    Attributes:
        replies: model calls answered from the record.
        exact: those whose whole request, sampling included, was the recorded one byte for byte.
        results: tool calls answered from the record.
        live: calls of models and tools that were made.
    """

    replies: int = 0
    exact: int = 0
    results: int = 0
    live: int = 0


class Answers:
    """The record of one attempt.

    Attributes:
        beyond: answers what is not on record; None stops there.
        counts: how much was served since the beginning.
        meter: what each task's calls used, when they were made.
        place: of the node that asks.
        ask: stops in that node until a person has typed an answer.
        constrained: whether replies were held to a JSON schema.
        trial: name of another skill that is tried; where a graph asks up to the last call what it
            asked without, its answer is not shown as one with that skill.
    """

    trial = ""

    def __init__(
        self,
        steps: Sequence[Step],
        calls: Sequence[StoredCall],
        store: CheckpointStore,
        current_task: Callable[[], Place] | None = None,
    ) -> None:
        """Read the record.

        Args:
            steps: of the attempt's trajectory.
            calls: its model calls.
            store: the debugging session's.
            place: of the node that asks; by default of that which runs in the asking context.
        """
        self.beyond: Beyond | None = None
        self.meter = Meter(at_model=True)
        self.counts = Counts()
        self.constrained = constrained(calls)
        self._calls = list(calls)
        self._ids = {call.call_id for call in calls}
        self._by_request = {_request_key(call.body): call for call in reversed(calls)}
        self._steps = {step.call_id: number for number, step in enumerate(steps)}
        # Results of tool calls, with the step that asked for each.
        self._results: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        for number, step in enumerate(steps):
            results = step.observation.results if step.observation else ()
            for call, result in zip(step.tool_calls or (), results, strict=False):
                key = digest([call.function_name, call.arguments])
                self._results[key].append((number, content_text(result.content or "")))
        self._store, self.place = store, current_task or _place
        self.ask: Callable[[Any], Awaitable[Any]] | None = None
        # By thread and super-step, the tool calls that led to a step of a branch: they run again
        # where live tools continue. The same call of a node that ran twice counts once.
        self._effects: defaultdict[str, dict[int, dict[str, ToolCall]]] = defaultdict(dict)
        self._step_of: dict[str, int] = {}
        self._live: set[str] = set()
        self._folder_of: str | None = None

    async def reply(self, body: dict[str, Any], live: Callable[[Model], Awaitable[Reply]]) -> Reply:
        """The recorded reply to a request, or a live one where the user allowed it."""
        thread, _, task = self.place()
        self.meter.sent.append(Sent(thread, task, body["messages"], body.get("tools")))
        call = None if thread in self._live else self._by_request.get(_request_key(body))
        if call is not None and self.trial and call is self._calls[-1]:
            if self.beyond is None:
                raise LeftRecording(
                    f"the graph does not read the skill {self.trial!r}: it asks what it asked "
                    "without it, call by call, so that the recorded answer says nothing of it "
                    "(`live` asks again; a key of its own takes the skill's text: ?skill_key=KEY)"
                )
            call = None
        if call is not None:
            self.counts.replies += 1
            request = {**body, "model": call.body["model"]}
            self.counts.exact += request_digest(call.kind, request) in self._ids
            self._step_of[thread] = self._steps.get(call.call_id, -1)
            self.meter.note(thread, task, call.usage)
            return read_reply(call.call_id, call.response, call.usage, cached=True)
        if self.beyond is None:
            name = self._calls[0].body["model"] if self._calls else ""
            lines = nearest({**body, "model": name}, [call.body for call in self._calls])
            raise LeftRecording(f"the model was not asked this; {'; '.join(lines)}")
        self._live.add(thread)
        self.counts.live += 1
        reply = await live(self.beyond.model)
        self.meter.note(thread, task, reply.usage)
        return reply

    async def result(self, tool: Tool, arguments: Arguments, bench: Bench) -> str:
        """The recorded result of a tool call, or a live one where the user allowed it."""
        thread, step, _ = self.place()
        key = digest([tool.name, arguments])
        results = [] if thread in self._live else self._results.get(key, [])
        of_step = [text for number, text in results if number == self._step_of.get(thread)]
        texts = set(of_step or [text for _, text in results])
        if len(texts) == 1:
            self.counts.results += 1
            self._note(thread, step, (tool, arguments))
            return _uncut(texts.pop())
        if self.beyond is None:
            number = f"{len(texts)} different results" if texts else "no result"
            raise LeftRecording(f"the record has {number} of {tool.name!r} for these arguments")
        self._live.add(thread)
        calls: list[ToolCall] | None = None
        if self._folder_of != thread:
            effects = self._effects_before(thread, step)
            calls = [call for number in sorted(effects) for call in effects[number].values()]
        live_bench = await self.beyond.bench(bench, calls)
        self._folder_of = thread
        self._note(thread, step, (tool, arguments))
        self.counts.live += 1
        return await tool.run(arguments, live_bench)

    def _note(self, thread: str, step: int, call: ToolCall) -> None:
        key = f"{call[0].name} {canonical_json(call[1])}"
        self._effects[thread].setdefault(step, {})[key] = call

    def _effects_before(self, thread: str, last: int) -> dict[int, dict[str, ToolCall]]:
        """Calls by step up to `last`; a branch has those of its parent up to its point."""
        effects = {step: calls for step, calls in self._effects[thread].items() if step <= last}
        branch = find_branch(self._store, thread)
        if branch.parent is None:
            return effects
        end = last - 1
        if branch.point is not None:
            history = History(self._store, thread)
            end = min(end, history.find(branch.point.checkpoint, branch.point.ns).step)
        return {**self._effects_before(branch.parent, end), **effects}

    def served(self) -> str:
        """Return what was served from the record so far, in one line."""
        counts = self.counts
        return (
            f"{counts.replies} model calls ({counts.exact} byte for byte as recorded) and "
            f"{counts.results} tool calls served, {counts.live} made"
        )


class RecordedModel:
    """Answers as the attempt's model did (:class:`harness.models.types.Model`)."""

    def __init__(self, spec: str, simulated: bool, answers: Answers) -> None:
        self.spec, self.simulated, self.constrains = spec, simulated, answers.constrained
        self._answers = answers

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: Schemas | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, JsonValue] | None = None,
    ) -> Reply:
        """Answer one request; see :class:`Answers`.

        Raises:
            LeftRecording: if it is not on record.
        """
        body = request_body("", messages, tools, sampling or Sampling(), response_format)

        def live(model: Model) -> Awaitable[Reply]:
            return model.complete(
                messages, tools=tools, sampling=sampling, response_format=response_format
            )

        return await self._answers.reply(body, live)


@dataclass
class Person:
    """A person answers each call as it comes (:class:`harness.models.types.Model`)."""

    answers: Answers
    spec, simulated, constrains = "person", False, False

    async def complete(self, messages: list[Message], **settings: Any) -> Reply:
        """Stop and ask: for `{"content", "tool_calls": [{"name", "arguments"}]}`, or any text."""
        if self.answers.ask is None:
            raise LeftRecording("a person answers graphs that the debugger runs")
        value = await self.answers.ask({"messages": messages, "tools": settings.get("tools")})
        message: dict[str, Any] = {**mapping(value)}
        if not message.keys() & {"content", "tool_calls"}:
            message = {"content": value if isinstance(value, str) else canonical_json(value)}
        message["tool_calls"] = [
            {"function": {**call, "arguments": canonical_json(call.get("arguments", {}))}}
            for call in map(mapping, message.get("tool_calls") or ())
        ]
        ending = "tool_calls" if message["tool_calls"] else "stop"
        body = {"choices": [{"message": message, "finish_reason": ending}], "model": self.spec}
        return read_reply("", body, Usage(calls=1), cached=False)


def recorded_tool(tool: Tool, answers: Answers) -> Tool:
    """The tool, its results from the record."""

    async def run(arguments: Arguments, bench: Bench) -> str:
        return await answers.result(tool, arguments, bench)

    return replace(tool, run=run)


def _place() -> Place:
    from langgraph.config import get_config

    config = cast("Any", get_config())
    configurable = config["configurable"]
    task = str(configurable["checkpoint_ns"]).rpartition(":")[2]
    return str(configurable["thread_id"]), int(config["metadata"]["langgraph_step"]), task


def _request_key(body: dict[str, Any]) -> str:
    return digest([body["messages"], body.get("tools"), body.get("response_format")])


def _uncut(text: str) -> str:
    """A text that :func:`harness.tools.truncate` cuts to `text`, where it was cut on record."""
    cut = ELIDED.search(text, KEPT_EACH_SIDE, len(text) - KEPT_EACH_SIDE)
    if len(text) <= LONGEST or cut is None:
        return text
    return text[:KEPT_EACH_SIDE] + "…" * int(cut[1]) + text[-KEPT_EACH_SIDE:]
