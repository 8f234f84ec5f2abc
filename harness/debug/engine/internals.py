"""What the debugger uses of LangGraph besides its public interface, in one place.

Every task of every graph, at any depth, goes through two functions of LangGraph's runner:
`run_with_retry` and `arun_with_retry`. They are wrapped once per process; a task whose config
carries no hook is passed on untouched, so other graphs in the process notice nothing. Callbacks
would be LangChain's public way, but a callback cannot hand a node's recorded writes to LangGraph
in its place, and sees no tasks of the functional interface (docs/decisions/0005-debugger.md).

Modules are read by name on first use: importing LangGraph takes seconds, and these parts carry no
types.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any, Protocol, cast

from harness.core import BadInput

KEY = "__harness_debug"
"""The hook's place in `config["configurable"]`; LangGraph keeps such keys out of metadata."""


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


class Hook(Protocol):
    """What is called around every task."""

    def around(self, task: Any, call: Callable[[], Any]) -> Any:
        """Run a task of a synchronous graph: `call` does it."""
        ...

    async def around_async(self, task: Any, call: Callable[[], Awaitable[Any]]) -> Any:
        """Run a task of an asynchronous graph."""
        ...


_everywhere: Hook | None = None
"""Around the tasks of runs that were started without a hook."""


def set_everywhere(hook: Hook | None) -> None:
    """Put a hook around the tasks of every run in the process that has none of its own."""
    global _everywhere  # noqa: PLW0603  # LangGraph's runner, which asks for it, is one a process
    _everywhere = hook


def _hook(task: Any) -> Hook | None:
    if task.name.startswith("__"):
        return None  # LangGraph's own nodes, such as the one that takes the input
    own = cast("Hook | None", task.config.get("configurable", {}).get(KEY))
    return own or _everywhere


class _Stored:
    """The checkpoint of a graph that makes none: nothing to wait for."""

    def result(self) -> None:
        """Nothing, at once."""

    def __await__(self) -> Iterator[None]:
        return iter(())


def install() -> None:
    """Wrap LangGraph's two functions, if that was not done yet.

    The debugger runs graphs with `durability="sync"`, which sub-graphs inherit. One that is
    compiled without checkpoints then waits for a checkpoint that it never makes and fails with an
    AttributeError (LangGraph 1.2.22); its loops are given one that is stored already.

    Raises:
        BadInput: if this version of LangGraph has them no more.
    """
    loop = import_module("langgraph.pregel._loop").PregelLoop
    if not hasattr(loop, "_put_checkpoint_fut"):
        loop._put_checkpoint_fut = _Stored()
    runner = import_module("langgraph.pregel._runner")
    for name, wrap in (("run_with_retry", _wrap), ("arun_with_retry", _wrap_async)):
        function = getattr(runner, name, None)
        if function is None or next(iter(inspect.signature(function).parameters)) != "task":
            raise BadInput(
                f"the debugger knows LangGraph 1.2, found {version('langgraph')} without "
                f"{name!r}; install langgraph>=1.2,<1.3"
            )
        if not hasattr(function, KEY):
            wrapped = wrap(function)
            setattr(wrapped, KEY, True)
            setattr(runner, name, wrapped)


def _wrap(function: Callable[..., Any]) -> Callable[..., Any]:
    def run_with_retry(task: Any, *args: Any, **kwargs: Any) -> Any:
        hook = _hook(task)
        if hook is None:
            return function(task, *args, **kwargs)
        return hook.around(task, lambda: function(task, *args, **kwargs))

    return run_with_retry


def _wrap_async(function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def arun_with_retry(task: Any, *args: Any, **kwargs: Any) -> Any:
        hook = _hook(task)
        if hook is None:
            return await function(task, *args, **kwargs)
        return await hook.around_async(task, lambda: function(task, *args, **kwargs))

    return arun_with_retry
