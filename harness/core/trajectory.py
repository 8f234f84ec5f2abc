"""Trajectories in the Agent Trajectory Interchange Format, ATIF v1.8.

Fields and rules follow the reference models of the format (harbor 0.25, `models/trajectories`):
every document that they accept is read here and written back with the same meaning. What the
format has no field for lies in `extra["harness"]`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import (
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from harness.core.values import Value, mapping

SchemaVersion = Literal[
    "ATIF-v1.0",
    "ATIF-v1.1",
    "ATIF-v1.2",
    "ATIF-v1.3",
    "ATIF-v1.4",
    "ATIF-v1.5",
    "ATIF-v1.6",
    "ATIF-v1.7",
    "ATIF-v1.8",
]
SCHEMA_VERSION: SchemaVersion = "ATIF-v1.8"
Extra = dict[str, JsonValue]
ImageMediaType = Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
AudioMediaType = Literal[
    "audio/wav",
    "audio/mpeg",
    "audio/mp4",
    "audio/aac",
    "audio/ogg",
    "audio/flac",
    "audio/webm",
    "audio/aiff",
]
_AUDIO_ALIASES = {
    "audio/mp3": "audio/mpeg",
    "audio/mpga": "audio/mpeg",
    "audio/x-mpeg": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/x-m4a": "audio/mp4",
    "audio/m4a": "audio/mp4",
    "audio/x-aac": "audio/aac",
    "audio/x-flac": "audio/flac",
    "audio/x-aiff": "audio/aiff",
}
_AGENT_ONLY = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")


class ImageSource(Value):
    """Location of an image: a path relative to the trajectory, an absolute path, or a URL."""

    media_type: ImageMediaType
    path: str


class AudioSource(Value):
    """Location of a recording; `duration_sec` in seconds. Common aliases of a type are accepted."""

    media_type: AudioMediaType
    path: str
    duration_sec: float | None = Field(default=None, ge=0)

    @field_validator("media_type", mode="before")
    @classmethod
    def _registered_type(cls, value: Any) -> Any:
        if isinstance(value, str):
            plain = value.strip().lower()
            return _AUDIO_ALIASES.get(plain, plain)
        return value


class ContentPart(Value):
    """A piece of a multimodal message: text, or an image or recording by reference."""

    type: Literal["text", "image", "audio"]
    text: str | None = None
    source: ImageSource | AudioSource | None = None

    @model_validator(mode="after")
    def _matches_type(self) -> ContentPart:
        if self.type == "text":
            if self.text is None or self.source is not None:
                raise ValueError("a text part has 'text' and no 'source'")
        elif self.source is None or self.text is not None:
            raise ValueError(f"a part of type {self.type!r} has a 'source' and no 'text'")
        elif not self.source.media_type.startswith(f"{self.type}/"):
            raise ValueError(f"type {self.type!r} but media_type {self.source.media_type!r}")
        return self


Content = str | tuple[ContentPart, ...]


class ToolCall(Value):
    """A call of one tool."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, JsonValue]
    extra: Extra | None = None


class SubagentRef(Value):
    """A reference to the trajectory of a sub-agent: embedded (id) or in a file (path)."""

    trajectory_id: str | None = None
    session_id: str | None = None
    trajectory_path: str | None = None
    extra: Extra | None = None

    @model_validator(mode="after")
    def _resolvable(self) -> SubagentRef:
        if self.trajectory_id is None and self.trajectory_path is None:
            raise ValueError("set trajectory_id or trajectory_path: session_id resolves nothing")
        return self


class ObservationResult(Value):
    """Result of one tool call, or an observation that no call caused."""

    source_call_id: str | None = None
    content: Content | None = None
    subagent_trajectory_ref: tuple[SubagentRef, ...] | None = None
    extra: Extra | None = None


class Observation(Value):
    """All results that followed one step."""

    results: tuple[ObservationResult, ...]


class Metrics(Value):
    """Tokens and money (US dollars) of one step."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    prompt_token_ids: tuple[int, ...] | None = None
    completion_token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    extra: Extra | None = None


class Step(Value):
    """One message of system, user or agent, with what followed from it.

    `llm_call_count` 0 on an agent step is a deterministic dispatch: no metrics, no reasoning.
    """

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
    llm_call_count: int | None = Field(default=None, ge=0)
    extra: Extra | None = None

    @property
    def call_id(self) -> str | None:
        """The stored model call that this step is the answer to, if it names one."""
        call_id = (self.extra or {}).get("call_id")
        return None if call_id is None else str(call_id)

    @field_validator("timestamp")
    @classmethod
    def _iso_8601(cls, value: str | None) -> str | None:
        if value is not None:
            datetime.fromisoformat(value.replace("Z", "+00:00"))
        return value

    @model_validator(mode="after")
    def _fields_fit_source(self) -> Step:
        barred: tuple[str, ...] = ()
        if self.source != "agent":
            barred = _AGENT_ONLY
        elif self.llm_call_count == 0:
            barred = ("metrics", "reasoning_content")
        for name in barred:
            if getattr(self, name) is not None:
                raise ValueError(
                    f"{name!r} has no place on a step with source {self.source!r}"
                    f" and llm_call_count {self.llm_call_count!r}"
                )
        return self

    @model_validator(mode="after")
    def _results_name_calls(self) -> Step:
        calls = {call.tool_call_id for call in self.tool_calls or ()}
        for result in self.observation.results if self.observation else ():
            if result.source_call_id is not None and result.source_call_id not in calls:
                raise ValueError(
                    f"step {self.step_id}: result of call {result.source_call_id!r}, which is not"
                    f" among its tool calls {sorted(calls)!r}"
                )
        return self


class AgentInfo(Value):
    """Agent that acted."""

    name: str
    version: str
    model_name: str | None = None
    tool_definitions: tuple[dict[str, JsonValue], ...] | None = None
    extra: Extra | None = None


class FinalMetrics(Value):
    """Sums over a trajectory, sub-agents included."""

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = Field(default=None, ge=0)
    extra: Extra | None = None


def content_text(content: Content) -> str:
    """The text of a message; an image or recording becomes `[image: path]`."""
    if isinstance(content, str):
        return content
    return "\n".join(
        part.text or "" if part.source is None else f"[{part.type}: {part.source.path}]"
        for part in content
    )


class Trajectory(Value):
    """One agent's run on one sample.

    `trajectory_id` is the empty string for a foreign document that carries none; it is then left
    out again when the document is written.
    """

    schema_version: SchemaVersion = SCHEMA_VERSION
    session_id: str | None = None
    trajectory_id: str = ""
    agent: AgentInfo
    steps: tuple[Step, ...] = Field(min_length=1)
    notes: str | None = None
    final_metrics: FinalMetrics | None = None
    continued_trajectory_ref: str | None = None
    subagent_trajectories: tuple[Trajectory, ...] | None = None
    extra: Extra | None = None

    @model_validator(mode="before")
    @classmethod
    def _null_id_is_none(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("trajectory_id", "") is None:  # pyright: ignore[reportUnknownMemberType]  # before-validators see raw JSON
            return {key: item for key, item in value.items() if key != "trajectory_id"}  # pyright: ignore[reportUnknownVariableType]  # raw JSON
        return value  # pyright: ignore[reportUnknownVariableType]  # raw JSON

    @model_validator(mode="after")
    def _steps_count_from_one(self) -> Trajectory:
        for number, step in enumerate(self.steps, start=1):
            if step.step_id != number:
                raise ValueError(f"expected step_id {number}, got {step.step_id}")
        return self

    @model_validator(mode="after")
    def _subagents_are_named(self) -> Trajectory:
        subs = self.subagent_trajectories or ()
        names = [sub.trajectory_id for sub in subs if "trajectory_id" in sub.model_fields_set]
        if len(set(names)) != len(subs):
            raise ValueError(f"every sub-agent needs a trajectory_id of its own, got {names!r}")
        return self

    @model_serializer(mode="wrap")
    def _leave_out_missing_id(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = handler(self)
        if "trajectory_id" not in self.model_fields_set:
            document.pop("trajectory_id", None)
        return document

    @property
    def harness(self) -> dict[str, JsonValue]:
        """Our own facts: task_id, outcome, score, skill digest, sandbox, ... (empty if foreign)."""
        return mapping((self.extra or {}).get("harness"))

    @property
    def task_id(self) -> str:
        """The task; without one, the trajectory stands for itself."""
        return str(self.harness.get("task_id") or self.trajectory_id)

    @property
    def outcome(self) -> str:
        """pass, fail, invalid, or "" where nothing was scored."""
        return str(self.harness.get("outcome") or "")

    @property
    def reward(self) -> float | None:
        """Its score, without one 1 if it passed and 0 if it failed; None if it did neither."""
        if self.outcome not in ("pass", "fail"):
            return None
        score = self.harness.get("score")
        return float(score if isinstance(score, int | float) else self.outcome == "pass")

    @property
    def prompt(self) -> str:
        """Request to the agent: the task's own words, else the first message of the user."""
        task = self.harness.get("task")
        if isinstance(task, dict):
            for key in ("prompt", "instruction", "question"):
                if isinstance(text := task.get(key), str):
                    return text
        return next((content_text(s.message) for s in self.steps if s.source == "user"), "")

    @property
    def answer(self) -> str:
        """The answer that was scored, else the last message of the agent."""
        answer = self.harness.get("answer")
        if isinstance(answer, str):
            return answer
        replies = [step.message for step in self.steps if step.source == "agent"]
        return content_text(replies[-1]) if replies else ""
