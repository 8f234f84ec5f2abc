"""What the debugger uses of LangGraph besides its public interface, in one place.

Read from the modules by name on first use: importing LangGraph takes seconds, and these parts carry
no types.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any


@cache
def algorithm() -> Any:
    """`prepare_next_tasks`: the tasks that follow a checkpoint."""
    return import_module("langgraph.pregel._algo")


@cache
def checkpoints() -> Any:
    """`channels_from_checkpoint` and `copy_checkpoint`."""
    return import_module("langgraph.pregel._checkpoint")


@cache
def serde() -> Any:
    """`build_serde_allowlist`: the types that a graph's state may hold."""
    return import_module("langgraph._internal._serde")


@cache
def pregel() -> Any:
    """The class of compiled graphs."""
    return import_module("langgraph.pregel").Pregel


@cache
def state_graph() -> Any:
    """The class of graphs that are still to be compiled."""
    return import_module("langgraph.graph").StateGraph
