"""From the events of an attempt to its ATIF trajectory."""

from __future__ import annotations

from typing import Any

from pydantic import JsonValue

import harness
from harness.agents.types import AgentContext, AgentRun, Sample
from harness.core import (
    AgentInfo,
    Observation,
    ObservationResult,
    Step,
    ToolCall,
    Trajectory,
    Usage,
    split_thoughts,
)
from harness.core.trajectory import FinalMetrics, Metrics
from harness.models import Reply

ONLY_THOUGHTS = "the reply holds thoughts and no answer"
CUT_THOUGHTS = ": they were cut at the limit of tokens (finish_reason length); raise max_tokens"


class Recorder:
    """Collects the steps of one attempt. The order of calls is the order of steps."""

    def __init__(self, agent: str, sample: Sample, context: AgentContext) -> None:
        self._agent, self._sample, self._context = agent, sample, context
        self._steps: list[Step] = []
        self.usage = Usage()
        self._turns = 0
        self._last_reply: Reply | None = None
        self._check: JsonValue = None

    def message(self, source: str, text: str) -> None:
        """A system or user message."""
        self._steps.append(
            Step(
                step_id=len(self._steps) + 1,
                source="system" if source == "system" else "user",
                message=text,
            )
        )

    def reply(self, reply: Reply) -> None:
        """A reply of the model."""
        self.usage += reply.usage
        self._turns += 1
        self._last_reply = reply
        raw: dict[str, JsonValue] = {} if reply.raw_text is None else {"raw_text": reply.raw_text}
        self._steps.append(
            Step(
                step_id=len(self._steps) + 1,
                source="agent",
                model_name=reply.model,
                message=reply.text,
                reasoning_content=reply.reasoning,
                llm_call_count=1,
                metrics=Metrics(cost_usd=reply.usage.cost_usd)
                if reply.usage.unreported
                else Metrics(
                    prompt_tokens=reply.usage.prompt_tokens,
                    completion_tokens=reply.usage.completion_tokens,
                    cached_tokens=reply.usage.cached_tokens,
                    cost_usd=reply.usage.cost_usd,
                ),
                extra={"call_id": reply.call_id, "finish_reason": reply.finish_reason, **raw},
            )
        )

    def agent_text(self, text: str) -> None:
        """Record words of an agent that is not ours: no model call of ours is known."""
        self._steps.append(Step(step_id=len(self._steps) + 1, source="agent", message=text))

    def tool(self, call_id: str, name: str, arguments: dict[str, JsonValue]) -> None:
        """A tool call of the last reply."""
        last = self._steps[-1]
        unique = f"{call_id}-{len(last.tool_calls or ())}" if call_id == "text" else call_id
        call = ToolCall(tool_call_id=unique, function_name=name, arguments=arguments)
        self._steps[-1] = last.model_copy(update={"tool_calls": (*(last.tool_calls or ()), call)})

    def observation(self, text: str) -> None:
        """Record the result of the last tool call."""
        last = self._steps[-1]
        calls = last.tool_calls or ()
        results = last.observation.results if last.observation else ()
        source = calls[len(results)].tool_call_id if len(results) < len(calls) else None
        result = ObservationResult(source_call_id=source, content=text)
        self._steps[-1] = last.model_copy(
            update={"observation": Observation(results=(*results, result))}
        )

    def event(self, event: dict[str, Any]) -> None:
        """Take an event of the ReAct graph."""
        match event["type"]:
            case "reply":
                self.reply(event["reply"])
            case "tool":
                self.tool(event["id"], event["name"], event["arguments"])
            case "observation":
                self.observation(event["text"])
            case "format_error":
                self.message("user", f"[Format error] {event['text']}")
            case "cut":
                self.message("user", f"[Cut at the token limit] {event['text']}")
            case "reminder":
                self.message("user", f"[System check] missing: {event['text']}")
            case "check":
                self._check = event["verdict"]
            case _:
                pass

    def run(self, answer: str | None, invalid: str | None = None) -> AgentRun:
        """The finished attempt: without thoughts in its answer, and invalid if nothing else is.

        Args:
            answer: the final text; None without one.
            invalid: why the attempt says nothing about the agent, if it does not.
        """
        context, usage, last = self._context, self.usage, self._last_reply
        thoughts, text = split_thoughts(answer or "")
        silent = last is not None and last.reasoning and not (last.text.strip() or last.tool_calls)
        answer = text if thoughts else answer
        empty = answer is not None and not answer.strip() and not context.output_file
        if invalid in (None, ONLY_THOUGHTS) and empty and (thoughts or silent):
            cut = last is not None and last.finish_reason == "length"
            invalid = ONLY_THOUGHTS + CUT_THOUGHTS * cut
        extra: dict[str, JsonValue] = {
            "task_id": self._sample.task_id,
            "skill": context.loaded_skill.digest if context.loaded_skill else None,
            "skill_mode": context.skill_mode if context.skill else "none",
            "skill_read": self._skill_was_read(),
            "sandbox": context.sandbox.name if context.sandbox else None,
            "simulated": context.model.simulated,
            "turns": self._turns,
            "invalid": invalid,
        }
        if self._check is not None:
            extra["check"] = self._check
        trajectory = Trajectory(
            trajectory_id=self._sample.id,
            agent=AgentInfo(
                name=self._agent, version=harness.__version__, model_name=context.model.spec
            ),
            steps=tuple(self._steps),
            final_metrics=FinalMetrics(
                total_prompt_tokens=usage.prompt_tokens,
                total_completion_tokens=usage.completion_tokens,
                total_cached_tokens=usage.cached_tokens,
                total_cost_usd=usage.cost_usd,
                total_steps=len(self._steps),
            ),
            extra={"harness": extra},
        )
        return AgentRun(answer, trajectory, usage, invalid)

    def _skill_was_read(self) -> bool:
        names = (call.function_name for step in self._steps for call in step.tool_calls or ())
        return "read_skill_file" in names
