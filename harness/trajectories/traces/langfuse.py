"""Exports of Langfuse: a downloaded trace, answers of its API, or the JSONL of its exports.

A trace has observations; those of type GENERATION are model calls, those of type TOOL are tools.
Fields are in camel case (API, download) or in snake case (blob storage), input and output values
or JSON text. Source: langfuse.com/docs, data model, export from UI and blob storage fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.core import Trajectory
from harness.core.trajectory import Metrics
from harness.trajectories.lenient import count, listing, mapping, string
from harness.trajectories.traces.conversation import (
    ModelCall,
    ToolRun,
    Trace,
    by_trace,
    trajectories,
)
from harness.trajectories.traces.files import objects
from harness.trajectories.traces.messages import messages_of, unpacked

_TYPES = {
    "GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR",
    "EMBEDDING", "GUARDRAIL",
}  # fmt: skip


def is_langfuse(row: dict[str, Any]) -> bool:
    """Whether a row is an observation, or a trace or an answer that holds some."""
    held = row.get("observations", row.get("data"))
    if isinstance(held, list):
        return any(_is_observation(mapping(one)) for one in listing(held)[:3])  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
    return _is_observation(row)


def _is_observation(row: dict[str, Any]) -> bool:
    return string(row.get("type")).upper() in _TYPES and bool(_get(row, "traceId"))


def read_langfuse(path: Path) -> Iterator[Trajectory]:
    """Every conversation of an export: the traces of one session, else one trace.

    Raises:
        BadInput: if a file is no JSON.
    """
    traces: dict[str, Trace] = {}
    for row in objects(path, "observations", "data"):
        if _is_observation(row):
            _take(traces, row)
    yield from trajectories(traces.values(), "langfuse", path.name)


def _get(row: dict[str, Any], name: str) -> Any:
    """A field in camel case, or in snake case."""
    if name in row:
        return row[name]
    snake = "".join(f"_{one.lower()}" if one.isupper() else one for one in name)
    return row.get(snake)


def _take(traces: dict[str, Trace], row: dict[str, Any]) -> None:
    trace = by_trace(traces, string(_get(row, "sessionId")) or string(_get(row, "traceId")))
    trace.name = string(_get(row, "traceName")) or trace.name
    kind, start = string(row.get("type")).upper(), string(_get(row, "startTime"))
    if kind == "TOOL":
        output = row.get("output")
        trace.tools.append(ToolRun(start, string(row.get("name")), _text(output)))
    elif kind == "GENERATION":
        trace.calls.append(
            ModelCall(
                start=start,
                given=messages_of(row.get("input"), "user"),
                answered=messages_of(row.get("output"), "assistant"),
                model=string(_get(row, "providedModelName")) or string(row.get("model")),
                metrics=_metrics(row),
            )
        )


def _text(output: Any) -> str:
    value = unpacked(output)
    found = messages_of(value, "tool")
    results = [text for one in found for _, text in one.results] + [one.text for one in found]
    return next(filter(None, results), string(output))


def _metrics(row: dict[str, Any]) -> Metrics | None:
    used = mapping(unpacked(_get(row, "usageDetails"))) or mapping(row.get("usage"))
    if not used:
        return None
    return Metrics(
        prompt_tokens=count(used.get("input")), completion_tokens=count(used.get("output"))
    )
