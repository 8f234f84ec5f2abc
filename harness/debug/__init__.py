"""The graph debugger: step, look, change, fork and replay any LangGraph run, offline."""

from __future__ import annotations

from harness.debug.branches import Branch, listed
from harness.debug.forks import KEEP, Point
from harness.debug.history import History, Moment
from harness.debug.loading import load_graph
from harness.debug.session import Debugger
from harness.debug.types import Breakpoint, Failure, Stop, TaskInfo

__all__ = [
    "KEEP",
    "Branch",
    "Breakpoint",
    "Debugger",
    "Failure",
    "History",
    "Moment",
    "Point",
    "Stop",
    "TaskInfo",
    "listed",
    "load_graph",
]
