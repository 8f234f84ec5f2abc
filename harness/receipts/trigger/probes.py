"""Agents that see a library by name and description, and which skills an attempt loaded.

Two signs of loading count. A call of a `Skill` tool that names the skill, and a call of any tool
whose arguments name a file of the skill's folder (`short-answers/SKILL.md`): clients that have no
such tool let the model read the file or `cat` it. Text that mentions a skill is no sign, and a call
that failed is none either way: an attempt with nothing else is invalid, as one without any answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from harness.agents import (
    Agent,
    AgentContext,
    AgentRun,
    AttemptEnded,
    ReactContext,
    Recorder,
    Sample,
    install_skill,
    open_agent,
)
from harness.core import BadInput, Trajectory, Unreachable, assets, render
from harness.models import SampleLimitReached
from harness.receipts.trigger.choosing import CHOOSE, Chooser
from harness.skills import Skill
from harness.tools import READ_SKILL_FILE, Arguments, Bench
from harness.trajectories import content_text

REACT = "graph:react"
STEPS = 40


class _Opened(Exception):  # the end that was asked for, not an error
    """The agent opened a file of a skill: what it does with it is no longer of interest."""


def open_probe(
    spec: str, library: Sequence[Skill], folder: Path, pattern: str | None = None
) -> Agent:
    """An agent whose answer is the JSON list of the skills that it loaded.

    Args:
        spec: `graph:react` (ours: descriptions in the system prompt, a tool that opens a skill),
            `choose` (one call that must answer with a name or none; for models too small for
            tools), or `cmd:COMMAND` (a client of its own, with the library where it looks).
        library: the skills at hand.
        folder: that holds them, each in a folder of its name.
        pattern: regular expression whose first group names a loaded skill in a client's output.

    Raises:
        BadInput: for another agent, or a pattern without a group.
    """
    if spec == REACT:
        return _Reader(library, folder)
    if spec == CHOOSE:
        return Chooser(library)
    if spec.startswith("cmd:"):
        return _Client(open_agent(spec, trusted=True), library, folder, pattern)
    raise BadInput(f"expected {REACT}, {CHOOSE} or cmd:COMMAND as the agent, got {spec!r}")


def _result(run: AgentRun, names: Sequence[str]) -> AgentRun:
    return replace(run, answer=json.dumps(list(names)))


class _Reader:
    """Our ReAct graph with the catalogue and `read_skill_file`; its first reading ends it."""

    def __init__(self, library: Sequence[Skill], folder: Path) -> None:
        self.spec = REACT
        self._names = [skill.name for skill in library]
        listed = [{"name": skill.name, "description": skill.description} for skill in library]
        self._block = render("skill_catalogue", skills=listed)
        self._folder = folder
        self._graph = assets.load_graph("react")

    async def run(self, sample: Sample, context: AgentContext) -> AgentRun:
        """One query, up to the first skill that is opened, or the answer."""
        recorder = Recorder(self.spec, sample, context)
        react = ReactContext(
            model=context.model,
            sampling=context.sampling,
            bench=Bench(sample.workdir, skill=self._folder),
            tools=(replace(READ_SKILL_FILE, run=read_and_end),),
            protocol=context.protocol,
            skill=self._block,
            max_turns=context.max_turns,
            on_event=recorder.event,
        )
        recorder.message("system", react.system_prompt())
        recorder.message("user", sample.prompt)
        start = {"messages": [{"role": "user", "content": sample.prompt}]}
        config: dict[str, Any] = {"recursion_limit": STEPS}
        try:
            await self._graph.ainvoke(start, config, context=react)
        except _Opened as opened:
            recorder.observation(str(opened))
        except (AttemptEnded, SampleLimitReached) as error:
            return recorder.run(None, str(error))
        except (Unreachable, BadInput) as error:
            return recorder.run(None, f"{type(error).__name__}: {error}")
        run = recorder.run(None)
        calls = calls_of(run.trajectory)
        names = loaded(calls, self._names)
        if not names and (failures := [call for call in calls if call.failure]):
            # It wanted a skill, and which one is not known: that is no answer without one.
            return replace(run, invalid=f"{failures[0].name}: {failures[0].failure}"[:300])
        last = run.trajectory.steps[-1]
        if not names and last.source == "agent" and not content_text(last.message).strip():
            # Models that reason at length may be cut before their text begins.
            cut = (last.extra or {}).get("finish_reason") == "length"
            reason = "ended at its token limit before it said anything" if cut else "was empty"
            return replace(run, invalid=f"the reply {reason}")
        return _result(run, names)


async def read_and_end(arguments: Arguments, bench: Bench) -> str:
    """Stand in for the tool `read_skill_file`, but end the attempt with what it returns."""
    raise _Opened(await READ_SKILL_FILE.run(arguments, bench))


class _Client:
    """A client of its own, with the whole library installed where clients look."""

    def __init__(
        self,
        agent: Agent,
        library: Sequence[Skill],
        folder: Path,
        pattern: str | None,
    ) -> None:
        self.spec = agent.spec
        self._agent, self._folder = agent, folder
        self._names = [skill.name for skill in library]
        try:
            self._pattern = re.compile(pattern, re.MULTILINE) if pattern is not None else None
        except re.error as error:
            raise BadInput(f"expected a regular expression, got {pattern!r}: {error}") from error
        if self._pattern is not None and self._pattern.groups < 1:
            raise BadInput(
                f"expected a group that names the skill, as in 'open (\\S+)': {pattern!r}"
            )

    async def run(self, sample: Sample, context: AgentContext) -> AgentRun:
        """One query; without a sign of what was called the attempt is invalid."""
        for name in self._names:
            install_skill(self._folder / name, sample.workdir)
        try:
            run = await self._agent.run(sample, context)
        except BadInput as error:  # it never started
            recorder = Recorder(self.spec, sample, context)
            recorder.message("user", sample.prompt)
            return recorder.run(None, str(error))
        if run.invalid is not None:
            return run
        text = run.answer or ""
        output = read_output(text)
        if output.failure:
            return replace(run, invalid=f"the client reports a failure: {output.failure}")
        if self._pattern is not None and text.strip():
            return _result(run, matched(text, self._pattern, self._names))
        if not (output.events or self._pattern):
            return replace(
                run,
                invalid="expected JSON events with tool calls in the client's output (claude -p "
                "--output-format stream-json --verbose, codex exec --json) or --loaded REGEX, "
                f"found {text[:100]!r}",
            )
        names = loaded(output.calls, self._names)
        attempted = loaded([call._replace(failure="") for call in output.calls], self._names)
        if attempted and not names:
            return replace(run, invalid=f"the client's call that names {attempted[0]!r} failed")
        if not (names or output.calls or output.said):
            return replace(run, invalid="the client called no tool and said nothing")
        return _result(run, names)


_CALL_TYPES = frozenset(
    ("tool_use", "tool_call", "function_call", "custom_tool_call", "local_shell_call",
     "command_execution", "mcp_tool_call")
)  # fmt: skip
_FAILED_TYPES = frozenset(("error", "turn.failed"))
_INPUTS = ("input", "arguments", "args", "command", "action", "parameters")


class Call(NamedTuple):
    """A tool call: the tool's name, its arguments as JSON text, and why it failed, or ""."""

    name: str
    arguments: str
    failure: str = ""


class Output(NamedTuple):
    """Content of a client's output.

    Attributes:
        events: how many lines are events of a client (JSON objects with a type).
        calls: tool calls among them, in order.
        said: whether there is any text of the model.
        failure: what an event says that went wrong with the whole session, or "".
    """

    events: int
    calls: tuple[Call, ...]
    said: bool
    failure: str


def calls_of(trajectory: Trajectory) -> tuple[Call, ...]:
    """The tool calls of a trajectory."""
    calls: list[Call] = []
    for step in trajectory.steps:
        results = step.observation.results if step.observation else ()
        texts = {result.source_call_id: content_text(result.content or "") for result in results}
        for call in step.tool_calls or ():
            arguments = json.dumps(call.arguments, ensure_ascii=False)
            text = texts.get(call.tool_call_id, "")
            failure = text.strip("[]") if text.startswith("[Error") else ""
            calls.append(Call(call.function_name, arguments, failure))
    return tuple(calls)


def read_output(text: str) -> Output:
    """Read what a client printed: JSON lines, such as `claude -p --output-format stream-json
    --verbose` and `codex exec --json` print; or one JSON document of such events."""
    events = [event for event in _events(text) if isinstance(event.get("type"), str)]
    failed = {id for event in events for id in _failed_ids(event)}
    calls = [call for event in events for call in _calls(event, failed)]
    failure = ""
    for event in events:
        if event.get("is_error") is True or event["type"] in _FAILED_TYPES:
            message = event.get("result") or event.get("message") or event.get("error")
            failure = str(message or event["type"])[:300]
            break
    items = (item for event in events for item in _objects(event))
    texts = (item.get(key) for item in items for key in ("text", "result"))
    spoke = any(isinstance(text, str) and text.strip() for text in texts)
    return Output(len(events), tuple(dict.fromkeys(calls)), spoke, failure)


def loaded(calls: Sequence[Call], names: Sequence[str]) -> tuple[str, ...]:
    """List the skills that the calls loaded, in the order of loading."""
    skills: dict[str, None] = {}
    for call in calls:
        if call.failure:
            continue
        if call.name.lower() in ("skill", "load_skill", "activate_skill", "use_skill"):
            # Skills of a plugin are named `plugin:skill`.
            values = {text.split(":")[-1] for text in _texts(json.loads(call.arguments))}
            skills |= dict.fromkeys(name for name in names if name in values)
        else:
            for name in names:
                if re.search(rf"(?<![\w.-]){re.escape(name)}[/\\]+[\w.]", call.arguments):
                    skills[name] = None
    return tuple(skills)


def matched(text: str, pattern: re.Pattern[str], names: Sequence[str]) -> tuple[str, ...]:
    """List the skills that the first group of a user's pattern names in a text."""
    groups = (match.group(1) for match in pattern.finditer(text))
    return tuple(dict.fromkeys(name for name in groups if name in names))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value.strip().lstrip("/")
    elif isinstance(value, dict):
        for inner in cast("dict[str, Any]", value).values():
            yield from _texts(inner)


def _events(text: str) -> Iterator[dict[str, Any]]:
    for line in (text.strip(), *text.splitlines()):
        if line.lstrip()[:1] not in ("{", "["):
            continue
        try:
            value = json.loads(line)
        except ValueError:
            continue
        rows = cast("list[Any]", value) if isinstance(value, list) else [value]
        yield from (cast("dict[str, Any]", row) for row in rows if isinstance(row, dict))


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in an event, however deep; a tool call with nothing that stands in it."""
    if isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _objects(inner)
    elif isinstance(value, dict):
        item = cast("dict[str, Any]", value)
        yield item
        if item.get("type") not in _CALL_TYPES:
            for inner in item.values():
                yield from _objects(inner)


def _failed_ids(event: dict[str, Any]) -> Iterator[str]:
    """The ids of tool calls that an event reports as failed."""
    for item in _objects(event):
        if item.get("is_error") is True and "tool_use_id" in item:
            yield str(item["tool_use_id"])
        elif item.get("type") in _CALL_TYPES and (
            item.get("status") == "failed" or item.get("exit_code")
        ):
            yield str(item.get("id"))


def _calls(event: dict[str, Any], failed: Container[str]) -> Iterator[Call]:
    """Every tool call in an event."""
    for item in _objects(event):
        if item.get("type") not in _CALL_TYPES:
            continue
        arguments: Any = next((item[key] for key in _INPUTS if key in item), None)
        try:
            json.loads(arguments)
        except (ValueError, TypeError):  # no JSON text: a command line, or the arguments themselves
            arguments = json.dumps(arguments)
        name = str(item.get("name") or item.get("tool") or item["type"])
        yield Call(name, arguments, "failed" if str(item.get("id")) in failed else "")
