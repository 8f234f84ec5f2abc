"""The user's graph: loaded, its sub-graphs found, its state's types known, saving where we say."""

from __future__ import annotations

import asyncio
import copy
import inspect
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_type_hints

from harness.core import BadInput, assets
from harness.debug.engine import internals

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore


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
        value: Any = assets.load_object(reference)
        while _is_factory(value):
            value = _made(value, reference, config)
        if isinstance(value, internals.state_graph()):
            value = value.compile()
    finally:
        sys.path.remove(folder)
    if not is_graph(value):
        raise BadInput(
            f"expected a LangGraph graph or a function that makes one in {reference!r}, "
            f"found a {type(value).__name__}"
        )
    return value


def _is_factory(value: Any) -> bool:
    return callable(value) and not isinstance(value, type) and not is_graph(value)


def _made(factory: Any, reference: str, config: dict[str, Any] | None) -> Any:
    async def wait(awaitable: Awaitable[Any]) -> Any:
        return await awaitable

    try:
        takes_config = len(inspect.signature(factory).parameters) > 0
        value = factory(config or {"configurable": {}}) if takes_config else factory()
        return asyncio.run(wait(value)) if inspect.isawaitable(value) else value
    except Exception as error:
        raise BadInput(f"{reference!r} failed: {type(error).__name__}: {error}") from error


def subgraph(graph: Any, names: tuple[str, ...]) -> Any | None:
    """The graph inside the nodes `names`, outermost first; None if LangGraph finds none there."""
    for name in names:
        graph = None if graph is None else dict(graph.get_subgraphs()).get(name)
    return graph


def is_graph(value: Any) -> bool:
    """Whether something is a compiled graph."""
    return isinstance(value, internals.pregel())


def is_subgraph_node(task: Any) -> bool:
    """Whether the task's node is a graph itself, not a function that may call one."""
    steps = cast("list[Any]", getattr(task.proc, "steps", None) or [task.proc])
    return is_graph(steps[0])


def with_store(graph: Any, store: CheckpointStore) -> Any:
    """A copy of the graph that saves its state in `store`.

    The types named in the schemas of its state and of its sub-graphs' states may be restored from
    there, as LangGraph collects them in strict mode, and no other.
    """
    allowed: set[tuple[str, ...]] = set()
    for compiled in [graph, *(inner for _, inner in graph.get_subgraphs(recurse=True))]:
        builder = getattr(compiled, "builder", None)
        if builder is None:
            continue
        schemas = [builder.state_schema, builder.input_schema, builder.output_schema]
        schemas += [builder.context_schema] if builder.context_schema is not None else []
        schemas += [node.input_schema for node in builder.nodes.values()]
        build = internals.serde().build_serde_allowlist
        allowed |= build(schemas=schemas, channels=builder.channels)
    clone = copy.copy(graph)
    clone.checkpointer = store.with_allowlist(allowed)
    return clone


def checked(graph: Any, values: dict[str, Any]) -> dict[str, Any]:
    """`values` as the state's types have them; JSON becomes models where the schema says so.

    Raises:
        BadInput: if a key is not in the state, or a value is of another type.
    """
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    builder = getattr(graph, "builder", None)
    types: dict[str, Any] = {} if builder is None else get_type_hints(builder.state_schema)
    if not types:
        names = (name for name in graph.channels if not name.startswith(("__", "branch:")))
        types = dict.fromkeys(names, Any)
    result: dict[str, Any] = {}
    for name, value in values.items():
        if name not in types:
            raise BadInput(f"the state has no key {name!r}; it has {', '.join(types)}")
        adapter: TypeAdapter[Any]
        try:
            adapter = TypeAdapter(types[name], config=ConfigDict(arbitrary_types_allowed=True))
        except Exception:  # noqa: BLE001  # pydantic refuses a config on models: they bring their own
            adapter = TypeAdapter(types[name])
        strict = isinstance(value, str | int | float | bool)
        try:
            result[name] = adapter.validate_python(value, strict=strict)
        except ValidationError as error:
            first = error.errors()[0]
            place = "".join(f"[{part!r}]" for part in first["loc"])
            raise BadInput(
                f"state key {name!r}{place}: {first['msg'].lower()}, found {first['input']!r}"
            ) from error
    return result
