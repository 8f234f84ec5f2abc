"""Recorded spreadsheet conversations: user and assistant turns in alternation, code in fences.

The shape is that of the SpreadsheetBench multi-round runner with a label per row:
`{id, label: T+|T-, metadata, trajectory: {conversation: [str, ...], test_cases, status}, eval}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from harness.core import AgentInfo, BadInput, Observation, ObservationResult, Step, Trajectory
from harness.core.jsonl import read_rows
from harness.trajectories.actions import parse_code

_OUTCOMES = {"T+": "pass", "T-": "fail"}
_MODEL = re.compile(r"/outputs/\w*?exec_([A-Za-z0-9.\-]+)_")
_TASK_FIELDS = (
    "instruction",
    "answer_position",
    "answer_sheet",
    "data_position",
    "instruction_type",
    "spreadsheet_path",
)


def read_recorded(path: Path) -> Iterator[Trajectory]:
    """Convert every row of a JSONL file of recorded conversations.

    The label becomes `extra.harness.outcome` (pass or fail), the task's facts become
    `extra.harness.task`. Every Python fence is also given as a call of `python`.

    Raises:
        BadInput: if a row is of another shape (the line is named).
    """
    for number, row in read_rows(path):
        yield _trajectory(row, f"{path}:{number}")


def is_recorded(row: dict[str, Any]) -> bool:
    """Whether a JSONL row has this shape."""
    inner = row.get("trajectory")
    return isinstance(inner, dict) and "conversation" in inner


def _trajectory(row: dict[str, Any], where: str) -> Trajectory:
    inner: dict[str, Any] = row.get("trajectory") or {}
    turns: Any = inner.get("conversation")
    if not isinstance(turns, list) or not turns or not all(isinstance(t, str) for t in turns):  # pyright: ignore[reportUnknownVariableType]  # raw JSON
        raise BadInput(f"{where}: expected trajectory.conversation, a list of texts")
    conversation = cast("list[str]", turns)
    task_id = str(row.get("id") or inner.get("id") or where)
    outcome = _OUTCOMES.get(str(row.get("label")))
    if outcome is None:
        raise BadInput(f"{where}: expected label 'T+' or 'T-', got {row.get('label')!r}")
    metadata: dict[str, Any] = row.get("metadata") or {}
    task: dict[str, JsonValue] = {key: metadata[key] for key in _TASK_FIELDS if key in metadata}
    task["test_cases"] = inner.get("test_cases")
    facts: dict[str, JsonValue] = {
        "source": "recorded",
        "task_id": task_id,
        "outcome": outcome,
        "task": task,
        "status": inner.get("status"),
    }
    evaluated: dict[str, Any] = row.get("eval") or {}
    if "soft_restriction" in evaluated:
        facts["score"] = evaluated["soft_restriction"]
    model = _MODEL.search(conversation[0])
    return Trajectory(
        trajectory_id=task_id,
        agent=AgentInfo(
            name="spreadsheetbench-react", version="unknown", model_name=model[1] if model else None
        ),
        steps=tuple(_steps(conversation)),
        extra={"harness": facts},
    )


def _steps(conversation: list[str]) -> Iterator[Step]:
    yield Step(step_id=1, source="user", message=conversation[0])
    for number, at in enumerate(range(1, len(conversation), 2), start=2):
        reply = conversation[at]
        calls = parse_code(reply, number)
        observation = None
        if at + 1 < len(conversation):
            # One text answers all fences of a reply: it belongs to a call only if there is one.
            call = calls[0].tool_call_id if calls and len(calls) == 1 else None
            result = ObservationResult(source_call_id=call, content=conversation[at + 1])
            observation = Observation(results=(result,))
        yield Step(
            step_id=number, source="agent", message=reply, tool_calls=calls, observation=observation
        )
