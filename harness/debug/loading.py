"""The graph that a user names: compiled, not yet compiled, or made by a function."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from harness.core import BadInput, assets
from harness.debug import internals


def load_graph(reference: str, config: dict[str, Any] | None = None) -> Any:
    """The compiled graph behind `path/to/file.py:name`.

    The name may hold a compiled graph (`StateGraph.compile()`, `create_agent`, `@entrypoint`), a
    graph that is still to be compiled, or a function that makes one, with or without the config
    as its argument, synchronous or asynchronous (as `langgraph.json` allows). The file's folder
    is importable while it is loaded.

    Raises:
        BadInput: if the file or the name is missing, or holds something else.
    """
    folder = str(Path(reference.rpartition(":")[0]).resolve().parent)
    sys.path.insert(0, folder)
    try:
        return compiled(assets.load_object(reference), reference, config)
    finally:
        sys.path.remove(folder)


def compiled(found: Any, reference: str, config: dict[str, Any] | None = None) -> Any:
    """`found` as a compiled graph (see :func:`load_graph`)."""
    if isinstance(found, internals.pregel()):
        return found
    if isinstance(found, internals.state_graph()):
        return found.compile()
    if callable(found) and not isinstance(found, type):
        return compiled(_made(found, reference, config), reference, config)
    raise BadInput(
        f"expected a LangGraph graph or a function that makes one in {reference!r}, "
        f"found a {type(found).__name__}"
    )


def _made(factory: Callable[..., Any], reference: str, config: dict[str, Any] | None) -> Any:
    try:
        takes = len(inspect.signature(factory).parameters)
        made = factory(config or {"configurable": {}}) if takes else factory()
        return asyncio.run(_wait(made)) if inspect.isawaitable(made) else made
    except Exception as error:
        raise BadInput(f"{reference!r} failed: {type(error).__name__}: {error}") from error


async def _wait(made: Awaitable[Any]) -> Any:
    return await made
