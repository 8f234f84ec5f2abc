"""What an analyst reads of a trajectory, and whether what it quotes stands there."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydantic import JsonValue

from harness.core import Step, Trajectory
from harness.trajectories import content_text

MIN_QUOTE = 8
_GOLD = re.compile(
    r"\b(?:ground[- ]truth|gold(?:en)? (?:answer|file|output|standard)"
    r"|reference (?:answer|solution)"
    r"|expected answer|answer key|the grader)\b",
    re.IGNORECASE,
)


def transcript(trajectory: Trajectory) -> str:
    """The steps as numbered text."""
    return "\n\n".join(_steps(trajectory))


def _steps(trajectory: Trajectory) -> Iterable[str]:
    for step in trajectory.steps:
        parts = [said(step), *(f"OBSERVATION {text}" for text in shown(step))]
        yield "\n".join(part for part in parts if part)


def said(step: Step) -> str:
    """The number and source of a step, its thoughts, its message and its tool calls."""
    parts = [f"[{step.step_id}] {step.source.upper()}"]
    if step.reasoning_content:
        parts.append(f"REASONING {step.reasoning_content}")
    parts.append(content_text(step.message))
    parts += [f"CALL {c.function_name} {_arguments(c.arguments)}" for c in step.tool_calls or ()]
    return "\n".join(part for part in parts if part)


def shown(step: Step) -> list[str]:
    """What the tools of a step gave back."""
    results = step.observation.results if step.observation is not None else ()
    return [content_text(result.content or "") for result in results]


def _arguments(arguments: dict[str, JsonValue]) -> str:
    return "\n".join(f"{key}: {value}" for key, value in arguments.items())


def task_prompt(trajectory: Trajectory) -> str:
    """What the agent was asked: the task's own words, else the first message of the user."""
    task = trajectory.harness.get("task")
    if isinstance(task, dict):
        for key in ("prompt", "instruction", "question"):
            if isinstance(found := task.get(key), str):
                return found
    messages = [content_text(step.message) for step in trajectory.steps if step.source == "user"]
    return messages[0] if messages else ""


def final_answer(trajectory: Trajectory) -> str:
    """The answer that was scored, else the last message of the agent."""
    answer = trajectory.harness.get("answer")
    if isinstance(answer, str):
        return answer
    messages = [content_text(step.message) for step in trajectory.steps if step.source == "agent"]
    return messages[-1] if messages else ""


def outcome(trajectory: Trajectory) -> str:
    """pass, fail, invalid, or "" where nothing was scored."""
    return str(trajectory.harness.get("outcome") or "")


def task_id(trajectory: Trajectory) -> str:
    """The task of a trajectory; without one, the trajectory stands for itself."""
    return str(trajectory.harness.get("task_id") or trajectory.trajectory_id)


def unsupported(quotes: Iterable[str], transcript_text: str) -> list[str]:
    """Quotes that do not stand in the transcript (white space and outer quotes aside)."""
    text = flat(transcript_text)
    return [quote for quote in quotes if not _quoted(quote, text)]


def step_of(quote: str, trajectory: Trajectory) -> int | None:
    """Id of the first step that holds the quote; None if it spans steps or stands in none."""
    for step, text in zip(trajectory.steps, _steps(trajectory), strict=True):
        if _quoted(quote, flat(text)):
            return step.step_id
    return None


def _quoted(quote: str, text: str) -> bool:
    wanted = flat(quote).strip(" \"'`")
    return len(wanted) >= MIN_QUOTE and wanted in text


def flat(text: str) -> str:
    """A text with even white space, in one case: quotes are compared so."""
    return " ".join(text.split()).casefold()


def mentions_gold(text: str) -> bool:
    """Whether a lesson speaks of the answer key, which no agent ever sees."""
    return _GOLD.search(text) is not None
