"""Contract between a sample and an agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pydantic import JsonValue

from harness.core import Trajectory, Usage
from harness.models import Model, Sampling
from harness.sandbox import Limits, Sandbox

if TYPE_CHECKING:
    from harness.agents.skills import SkillOnce

SkillMode = Literal["preloaded", "discovered", "none"]
ToolProtocol = Literal["native", "text", "json"]
"""Native tool calls; the text protocol; or JSON that the server holds to the tools' schemas."""


@dataclass(frozen=True)
class Sample:
    """One task prepared for one attempt.

    Attributes:
        id: `<task id>` or `<task id>@<epoch>`: the trajectory id, unique in a run.
        task_id: the task.
        prompt: the user prompt that the task family made.
        workdir: fresh work folder with the input files.
        answer_schema: JSON schema of the answer, where the task declares its type.
    """

    id: str
    task_id: str
    prompt: str
    workdir: Path
    answer_schema: dict[str, JsonValue] | None = None


@dataclass(frozen=True)
class AgentContext:
    """Resources of an agent. Given to LangGraph graphs as their runtime context.

    Attributes:
        model: answers chat requests (role `agent`).
        sandbox: runs model-written code.
        skill: skill directory, or None for no skill.
        skill_mode: body in the system prompt (preloaded), or description only and the rest read
            by the agent on demand (discovered).
        sampling: sampling parameters of the agent's calls.
        max_turns: model calls per attempt; a format error does not use one up.
        limits: of each execution in the sandbox.
        on_event: called with every event of the run, for progress and streaming.
        checkpoints: SQLite file for graph state, or None for none.
        tools: names of the tools that our graphs offer the model.
        protocol: how replies ask for tools.
        output_file: file that the agent must leave in its work folder, or "".
        endpoint: variables that lead a foreign agent to the gateway (`OPENAI_BASE_URL`, ...).
    """

    model: Model
    sandbox: Sandbox | None = None
    skill: Path | None = None
    skill_mode: SkillMode = "preloaded"
    sampling: Sampling = field(default_factory=Sampling)
    max_turns: int = 100
    limits: Limits = field(default_factory=Limits)
    on_event: Callable[[dict[str, Any]], None] | None = None
    checkpoints: Path | None = None
    tools: tuple[str, ...] = ()
    protocol: ToolProtocol = "native"
    output_file: str = ""
    endpoint: dict[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def loaded_skill(self) -> SkillOnce | None:
        """The skill as it was when the attempt began; its folder is looked at once.

        Raises:
            BadInput: as :func:`harness.skills.load_skill`.
        """
        from harness.agents.skills import skill_at

        return None if self.skill is None else skill_at(self.skill)


@dataclass(frozen=True)
class AgentRun:
    """Result of an attempt.

    Attributes:
        answer: final answer text, None if the agent gave none.
        trajectory: ATIF record of the attempt.
        usage: tokens and money of the attempt.
        invalid: why the attempt says nothing about the agent (endpoint unreachable, turn limit
            hit, ...), or None.
    """

    answer: str | None
    trajectory: Trajectory
    usage: Usage
    invalid: str | None = None


class Agent(Protocol):
    """An agent: a graph, a command or a function."""

    spec: str

    async def run(self, sample: Sample, context: AgentContext) -> AgentRun:
        """Attempt one sample. Limits and model faults come back as `AgentRun.invalid`;
        `LimitReached` of a budget is raised, because it ends the whole run."""
        ...


class AttemptEnded(Exception):
    """The attempt ends and is invalid; the message says why."""


class TurnLimit(AttemptEnded):
    """The model used all its turns."""


class TooManyFormatErrors(AttemptEnded):
    """Too many replies in a row could not be read."""


class ReplyCut(AttemptEnded):
    """Replies were cut at their limit of tokens (`finish_reason` is `length`)."""


class TimeLimit(AttemptEnded):
    """A command did not end in time."""
