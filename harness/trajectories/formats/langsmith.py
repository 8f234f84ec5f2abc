"""Exports of LangSmith: runs as JSON or JSONL.

A run of type `llm` is a model call, one of type `tool` a tool; `inputs` and `outputs` hold
messages in LangChain's or OpenAI's form. Source: docs.langchain.com/langsmith/run-data-format.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.core import Trajectory
from harness.core.trajectory import Metrics
from harness.trajectories.formats.trace_messages import messages_of, objects, unpacked
from harness.trajectories.formats.traces import ModelCall, ToolRun, Trace, trajectories
from harness.trajectories.lenient import count, listing, mapping, string

_THREADS = ("thread_id", "session_id", "conversation_id")


def is_langsmith(row: dict[str, Any]) -> bool:
    """Whether a row is a run, or holds runs."""
    if isinstance(row.get("runs"), list):
        return is_langsmith(mapping(next(iter(listing(row["runs"])), None)))
    return isinstance(row.get("run_type"), str) and ("trace_id" in row or "dotted_order" in row)


def read_langsmith(path: Path) -> Iterator[Trajectory]:
    """Every conversation of an export: the runs of one thread, else of one trace.

    Raises:
        BadInput: if a file is no JSON.
    """
    traces: dict[str, Trace] = {}
    for row in objects(path, "runs"):
        if is_langsmith(row):
            _take(traces, row)
    yield from trajectories(traces.values(), "langsmith", path.name)


def _take(traces: dict[str, Trace], row: dict[str, Any]) -> None:
    metadata = mapping(mapping(unpacked(row.get("extra"))).get("metadata"))
    names = [*(string(metadata.get(key)) for key in _THREADS), string(row.get("trace_id"))]
    name = next(filter(None, names), string(row.get("dotted_order"))[:40])
    trace = traces.setdefault(name, Trace(id=name))
    start, kind = string(row.get("start_time")), string(row.get("run_type"))
    inputs, outputs = unpacked(row.get("inputs")), unpacked(row.get("outputs"))
    if not string(row.get("parent_run_id")):
        trace.name = string(row.get("name")) or trace.name
    if kind == "tool":
        call_id, text = "", ""
        for message in messages_of(outputs, "tool"):
            call_id, text = message.results[0] if message.results else ("", message.text)
            if message.results or text:
                break
        trace.tools.append(ToolRun(start, string(row.get("name")), text, call_id))
    elif kind == "llm":
        tokens = [row.get("prompt_tokens"), row.get("completion_tokens")]
        prompt, completion = map(count, tokens)
        metrics = Metrics(prompt_tokens=prompt, completion_tokens=completion)
        trace.calls.append(
            ModelCall(
                start=start,
                given=messages_of(inputs, "user"),
                answered=messages_of(outputs, "assistant"),
                model=string(metadata.get("ls_model_name")),
                metrics=None if tokens == [None, None] else metrics,
            )
        )
