"""Traces of observability tools: spans of model calls, put together to one conversation each."""

from __future__ import annotations

from harness.trajectories.traces.langfuse import is_langfuse, read_langfuse
from harness.trajectories.traces.langsmith import is_langsmith, read_langsmith
from harness.trajectories.traces.otel import is_otel, read_otel

__all__ = [
    "is_langfuse",
    "is_langsmith",
    "is_otel",
    "read_langfuse",
    "read_langsmith",
    "read_otel",
]
