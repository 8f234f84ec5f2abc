"""Agents that see a library by name and description, and what they loaded of it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.agents import open_agent
from harness.agents.command import install_skill
from harness.agents.limits import AttemptEnded
from harness.agents.react import ReactContext
from harness.agents.recording import Recorder
from harness.agents.types import Agent, AgentContext, AgentRun, Sample
from harness.core import BadInput, Step, Unreachable, assets
from harness.core.prompts import render
from harness.models import SampleLimitReached
from harness.receipts.trigger.choosing import CHOOSE, Chooser
from harness.receipts.trigger.detect import calls_of, loaded, matched, read_output
from harness.skills import Skill
from harness.tools import Arguments, Bench, Tool
from harness.tools.skill_file import READ_SKILL_FILE

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
        return _Client(open_agent(spec, trusted=True), library, folder, _compiled(pattern))
    raise BadInput(f"expected {REACT}, {CHOOSE} or cmd:COMMAND as the agent, got {spec!r}")


def _compiled(pattern: str | None) -> re.Pattern[str] | None:
    if pattern is None:
        return None
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise BadInput(f"expected a regular expression, got {pattern!r}: {error}") from error
    if compiled.groups < 1:
        raise BadInput(f"expected a group that names the skill, as in 'open (\\S+)': {pattern!r}")
    return compiled


def _result(run: AgentRun, found: Sequence[str]) -> AgentRun:
    return replace(run, answer=json.dumps(list(found)))


class _Reader:
    """Our ReAct graph with the catalogue and `read_skill_file`; its first reading ends it."""

    def __init__(self, library: Sequence[Skill], folder: Path) -> None:
        self.spec = REACT
        self._names = [one.name for one in library]
        listed = [{"name": one.name, "description": one.description} for one in library]
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
            tools=(_ENDING,),
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
        found = loaded(calls_of(run.trajectory), self._names)
        if not found and _cut_while_thinking(run.trajectory.steps[-1]):
            return replace(
                run, invalid="the reply ended at its token limit before it said anything"
            )
        return _result(run, found)


def _cut_while_thinking(last: Step) -> bool:
    """Whether a reply was cut before its text began, as happens to models that reason at length."""
    cut = (last.extra or {}).get("finish_reason") == "length"
    return cut and last.source == "agent" and not last.message and not last.tool_calls


async def _read_and_end(arguments: Arguments, bench: Bench) -> str:
    raise _Opened(await READ_SKILL_FILE.run(arguments, bench))


_ENDING = Tool(
    name=READ_SKILL_FILE.name,
    description=READ_SKILL_FILE.description,
    parameters=READ_SKILL_FILE.parameters,
    run=_read_and_end,
)


class _Client:
    """A client of its own, with the whole library installed where clients look."""

    def __init__(
        self,
        agent: Agent,
        library: Sequence[Skill],
        folder: Path,
        pattern: re.Pattern[str] | None,
    ) -> None:
        self.spec = agent.spec
        self._agent, self._pattern = agent, pattern
        self._names = [one.name for one in library]
        self._folder = folder

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
        if self._pattern is not None:
            return _result(run, matched(text, self._pattern, self._names))
        if not output.events:
            return replace(run, invalid=_SILENT.format(found=text[:100]))
        return _result(run, loaded(output.calls, self._names))


_SILENT = (
    "expected JSON events with tool calls in the client's output (claude -p --output-format "
    "stream-json --verbose, codex exec --json) or --loaded REGEX, found {found!r}"
)
