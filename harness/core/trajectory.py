"""Trajectories in the Agent Trajectory Interchange Format, ATIF v1.8.

What the format has no field for lies in `extra["harness"]`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from harness.core.values import Value

SCHEMA_VERSION = "ATIF-v1.8"
Extra = dict[str, JsonValue]


class ImageSource(Value):
    """Where an image lies: a path relative to the trajectory, or a URL."""

    media_type: str
    path: str


class ContentPart(Value):
    """A piece of a multimodal message."""

    type: Literal["text", "image"]
    text: str | None = None
    source: ImageSource | None = None


Content = str | tuple[ContentPart, ...]


class ToolCall(Value):
    """A call of one tool."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, JsonValue]
    extra: Extra | None = None


class SubagentRef(Value):
    """A reference to the trajectory of a sub-agent."""

    trajectory_id: str | None = None
    session_id: str | None = None
    trajectory_path: str | None = None
    extra: Extra | None = None


class ObservationResult(Value):
    """What one tool call returned, or an observation that no call caused."""

    source_call_id: str | None = None
    content: Content | None = None
    subagent_trajectory_ref: tuple[SubagentRef, ...] | None = None
    extra: Extra | None = None


class Observation(Value):
    """All results that followed one step."""

    results: tuple[ObservationResult, ...]


class Metrics(Value):
    """Tokens and money of one step."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    prompt_token_ids: tuple[int, ...] | None = None
    completion_token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    extra: Extra | None = None


class Step(Value):
    """One message of system, user or agent, with what followed from it."""

    step_id: int = Field(ge=1)
    timestamp: str | None = None
    source: Literal["system", "user", "agent"]
    model_name: str | None = None
    reasoning_effort: str | float | None = None
    message: Content
    reasoning_content: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    is_copied_context: bool | None = None
    llm_call_count: int | None = None
    extra: Extra | None = None


class AgentInfo(Value):
    """Which agent acted."""

    name: str
    version: str
    model_name: str | None = None
    tool_definitions: tuple[dict[str, JsonValue], ...] | None = None
    extra: Extra | None = None


class FinalMetrics(Value):
    """Sums over a trajectory."""

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = None
    extra: Extra | None = None


class Trajectory(Value):
    """One agent's run on one sample."""

    schema_version: str = SCHEMA_VERSION
    session_id: str | None = None
    trajectory_id: str
    agent: AgentInfo
    steps: tuple[Step, ...] = Field(min_length=1)
    notes: str | None = None
    final_metrics: FinalMetrics | None = None
    continued_trajectory_ref: str | None = None
    subagent_trajectories: tuple[Trajectory, ...] | None = None
    extra: Extra | None = None

    @property
    def harness(self) -> dict[str, JsonValue]:
        """Our own facts: task_id, outcome, score, skill digest, sandbox, ... (empty if foreign)."""
        value = (self.extra or {}).get("harness")
        return value if isinstance(value, dict) else {}
