"""Where the debugger stands between LangGraph and a node.

Every task of every graph, at any depth, goes through two functions of LangGraph's runner:
`run_with_retry` and `arun_with_retry`. They are wrapped once per process; a task whose config
carries no hook is passed on untouched, so other graphs in the process notice nothing. Callbacks
would be LangChain's public way, but a callback cannot hand a node's recorded writes to LangGraph
in its place, and sees no tasks of the functional interface
(docs/decisions/0005-debugger.md).
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator
from importlib import import_module
from typing import Any, Protocol, cast

from harness.core import BadInput

KEY = "__harness_debug"
"""The hook's place in `config["configurable"]`; LangGraph keeps such keys out of metadata."""


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


def _hook(task: Any) -> Hook | None:
    if task.name.startswith("__"):
        return None  # LangGraph's own nodes, such as the one that takes the input
    own = cast("Hook | None", task.config.get("configurable", {}).get(KEY))
    return own or _everywhere


def set_everywhere(hook: Hook | None) -> None:
    """Put a hook around the tasks of every run in the process that has none of its own."""
    global _everywhere  # noqa: PLW0603  # LangGraph's runner, which asks for it, is one a process
    _everywhere = hook


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
            from importlib.metadata import version

            raise BadInput(
                f"the debugger knows LangGraph 1.2, found {version('langgraph')} without "
                f"{name!r}; install langgraph>=1.2,<1.3"
            )
        if not hasattr(function, KEY):
            setattr(runner, name, wrap(function))


def _wrap(function: Callable[..., Any]) -> Callable[..., Any]:
    def run_with_retry(task: Any, *args: Any, **kwargs: Any) -> Any:
        hook = _hook(task)
        if hook is None:
            return function(task, *args, **kwargs)
        return hook.around(task, lambda: function(task, *args, **kwargs))

    setattr(run_with_retry, KEY, True)
    return run_with_retry


def _wrap_async(function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def arun_with_retry(task: Any, *args: Any, **kwargs: Any) -> Any:
        hook = _hook(task)
        if hook is None:
            return await function(task, *args, **kwargs)
        return await hook.around_async(task, lambda: function(task, *args, **kwargs))

    setattr(arun_with_retry, KEY, True)
    return arun_with_retry
