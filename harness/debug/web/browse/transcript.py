"""A trajectory as the page reads it: messages, thoughts, tool calls and what they gave back."""

from __future__ import annotations

from typing import Any

from harness.core import Step, Trajectory
from harness.core.redaction import redact
from harness.debug.web.plain import TEXT, tree
from harness.trajectories import content_text

WHOLE = 2_000_000
"""Characters of one text that are shown where the whole of a step was asked for."""


def transcript(trajectory: Trajectory, whole: int | None = None) -> dict[str, Any]:
    """The trajectory as JSON, long texts cut.

    Args:
        trajectory: what to show.
        whole: number of a step that is not cut.
    """
    agent = trajectory.agent
    return {
        "agent": f"{agent.name} {agent.version}".strip(),
        "model": agent.model_name,
        "notes": trajectory.notes,
        "steps": [_step(one, WHOLE if one.step_id == whole else TEXT) for one in trajectory.steps],
    }


def _step(step: Step, most: int) -> dict[str, Any]:
    results = step.observation.results if step.observation is not None else ()
    metrics = step.metrics
    return {
        "step": step.step_id,
        "source": step.source,
        "time": step.timestamp,
        "model": step.model_name,
        "reasoning": cut(step.reasoning_content or "", most),
        "message": cut(content_text(step.message), most),
        "calls": [
            {
                "name": call.function_name,
                "arguments": [[name, _value(one, most)] for name, one in call.arguments.items()],
            }
            for call in step.tool_calls or ()
        ],
        "results": [cut(content_text(one.content or ""), most) for one in results],
        "tokens": None
        if metrics is None
        else (metrics.prompt_tokens or 0) + (metrics.completion_tokens or 0),
        "cost_usd": None if metrics is None else metrics.cost_usd,
    }


def cut(text: str, most: int = TEXT) -> dict[str, Any]:
    """A text without secrets, its beginning, and how long it is."""
    clean = redact(text)
    return {"kind": "text", "value": clean[:most], "size": len(clean)}


def _value(value: Any, most: int) -> dict[str, Any]:
    return cut(value, most) if isinstance(value, str) else tree(value)
