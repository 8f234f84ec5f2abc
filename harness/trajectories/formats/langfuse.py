"""Exports of Langfuse: a downloaded trace, answers of its API, or the JSONL of its exports.

A trace has observations; those of type GENERATION are model calls, those of type TOOL are tools.
Fields are in camel case (API, download) or in snake case (blob storage), input and output values
or JSON text. Source: langfuse.com/docs, data model, export from UI and blob storage fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.core import Trajectory
from harness.core.trajectory import Metrics
from harness.trajectories.formats.trace_messages import messages_of, objects, unpacked
from harness.trajectories.formats.traces import ModelCall, ToolRun, Trace, trajectories
from harness.trajectories.lenient import count, listing, mapping, string

_TYPES = {
    "GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR",
    "EMBEDDING", "GUARDRAIL",
}  # fmt: skip


def is_langfuse(row: dict[str, Any]) -> bool:
    """Whether a row is an observation, or a trace or an answer that holds some."""
    held = row.get("observations", row.get("data"))
    rows = listing(held)[:3] if isinstance(held, list) else [row]  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
    return any(_is_observation(mapping(item)) for item in rows)


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
    snake = re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", name)
    return row[name] if name in row else row.get(snake)


def _take(traces: dict[str, Trace], row: dict[str, Any]) -> None:
    name = string(_get(row, "sessionId")) or string(_get(row, "traceId"))
    trace = traces.setdefault(name, Trace(id=name))
    trace.name = string(_get(row, "traceName")) or trace.name
    kind, start = string(row.get("type")).upper(), string(_get(row, "startTime"))
    if kind == "TOOL":
        messages = messages_of(row.get("output"), "tool")
        texts = [text for message in messages for _, text in message.results]
        texts += [message.text for message in messages]
        text = next(filter(None, texts), string(row.get("output")))
        trace.tools.append(ToolRun(start, string(row.get("name")), text))
    elif kind == "GENERATION":
        usage = mapping(unpacked(_get(row, "usageDetails"))) or mapping(row.get("usage"))
        prompt, completion = count(usage.get("input")), count(usage.get("output"))
        metrics = Metrics(prompt_tokens=prompt, completion_tokens=completion)
        trace.calls.append(
            ModelCall(
                start=start,
                given=messages_of(row.get("input"), "user"),
                answered=messages_of(row.get("output"), "assistant"),
                model=string(_get(row, "providedModelName")) or string(row.get("model")),
                metrics=metrics if usage else None,
            )
        )
