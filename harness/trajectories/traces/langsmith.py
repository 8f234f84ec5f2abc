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


def is_langsmith(row: dict[str, Any]) -> bool:
    """Whether a row is a run, or holds runs."""
    if isinstance(row.get("runs"), list):
        held = listing(row["runs"])
        return bool(held) and is_langsmith(mapping(held[0]))
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
    extra = mapping(mapping(unpacked(row.get("extra"))).get("metadata"))
    thread = next((found for key in _THREADS if (found := string(extra.get(key)))), "")
    own = string(row.get("trace_id")) or string(row.get("dotted_order"))[:40]
    trace = by_trace(traces, thread or own)
    start = string(row.get("start_time"))
    given, answered = unpacked(row.get("inputs")), unpacked(row.get("outputs"))
    kind = string(row.get("run_type"))
    if not string(row.get("parent_run_id")):
        trace.name = string(row.get("name")) or trace.name
    if kind == "tool":
        result, call_id = _result(answered)
        trace.tools.append(ToolRun(start, string(row.get("name")), result, call_id))
    elif kind == "llm":
        trace.calls.append(
            ModelCall(
                start=start,
                given=messages_of(given, "user"),
                answered=messages_of(answered, "assistant"),
                model=string(extra.get("ls_model_name")),
                metrics=_metrics(row),
            )
        )


_THREADS = ("thread_id", "session_id", "conversation_id")


def _result(outputs: Any) -> tuple[str, str]:
    """(text, call id) of what a tool gave back."""
    for said in messages_of(outputs, "tool"):
        for call_id, text in said.results:
            return text, call_id
        if said.text:
            return said.text, ""
    return "", ""


def _metrics(row: dict[str, Any]) -> Metrics | None:
    if row.get("prompt_tokens") is None and row.get("completion_tokens") is None:
        return None
    return Metrics(
        prompt_tokens=count(row.get("prompt_tokens")),
        completion_tokens=count(row.get("completion_tokens")),
    )
