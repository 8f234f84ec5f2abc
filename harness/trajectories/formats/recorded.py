"""Recorded spreadsheet conversations: user and assistant turns in alternation, code in fences.

The shape is that of the SpreadsheetBench multi-round runner with a label per row:
`{id, label: T+|T-, metadata, trajectory: {conversation: [str, ...], test_cases, status}, eval}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from harness.core import (
    AgentInfo,
    BadInput,
    Observation,
    ObservationResult,
    Step,
    ToolCall,
    Trajectory,
    mapping,
    read_rows,
)

_OUTCOMES = {"T+": "pass", "T-": "fail"}
_MODEL = re.compile(r"/outputs/\w*?exec_([A-Za-z0-9.\-]+)_")
_PYTHON = re.compile(r"^```(?:python|py)[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_TASK_FIELDS = (
    *("instruction", "answer_position", "answer_sheet"),
    *("data_position", "instruction_type", "spreadsheet_path"),
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
    """Return True if a JSONL row has this shape."""
    return "conversation" in mapping(row.get("trajectory"))


def _trajectory(row: dict[str, Any], where: str) -> Trajectory:
    inner = mapping(row.get("trajectory"))
    turns: Any = inner.get("conversation")
    if not isinstance(turns, list) or not turns or not all(isinstance(t, str) for t in turns):  # pyright: ignore[reportUnknownVariableType]  # raw JSON
        raise BadInput(f"{where}: expected trajectory.conversation, a list of texts")
    task_id = str(row.get("id") or inner.get("id") or where)
    outcome = _OUTCOMES.get(str(row.get("label")))
    if outcome is None:
        raise BadInput(f"{where}: expected label 'T+' or 'T-', got {row.get('label')!r}")
    metadata = mapping(row.get("metadata"))
    task: dict[str, JsonValue] = {key: metadata[key] for key in _TASK_FIELDS if key in metadata}
    fields: dict[str, JsonValue] = {
        "source": "recorded",
        "task_id": task_id,
        "outcome": outcome,
        "task": {**task, "test_cases": inner.get("test_cases")},
        "status": inner.get("status"),
    }
    evaluated = mapping(row.get("eval"))
    if "soft_restriction" in evaluated:
        fields["score"] = evaluated["soft_restriction"]
    model = _MODEL.search(turns[0])  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
    return Trajectory(
        trajectory_id=task_id,
        agent=AgentInfo(
            name="spreadsheetbench-react", version="unknown", model_name=model[1] if model else None
        ),
        steps=tuple(_steps(turns)),  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
        extra={"harness": fields},
    )


def _steps(turns: list[str]) -> Iterator[Step]:
    yield Step(step_id=1, source="user", message=turns[0])
    for number, index in enumerate(range(1, len(turns), 2), start=2):
        calls = parse_code(turns[index], number)
        observation = None
        if index + 1 < len(turns):
            # One text answers all fences of a reply: it belongs to a call only if there is one.
            call = calls[0].tool_call_id if calls and len(calls) == 1 else None
            result = ObservationResult(source_call_id=call, content=turns[index + 1])
            observation = Observation(results=(result,))
        yield Step(
            step_id=number,
            source="agent",
            message=turns[index],
            tool_calls=calls,
            observation=observation,
        )


def parse_code(text: str, step_id: int) -> tuple[ToolCall, ...] | None:
    """Every Python fence of a reply as a call of `python`, or None if there is none."""
    calls = tuple(
        ToolCall(
            tool_call_id=f"call_{step_id}_{number}",
            function_name="python",
            arguments={"code": match[1]},
        )
        for number, match in enumerate(_PYTHON.finditer(text), start=1)
    )
    return calls or None
