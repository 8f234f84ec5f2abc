"""Compiled graphs: the sub-graphs in them, their state's types, a copy that saves where we say."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, cast

from harness.debug import internals

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore


def subgraph(graph: Any, names: tuple[str, ...]) -> Any | None:
    """The graph inside the nodes `names`, outermost first; None if LangGraph finds none there."""
    if not names:
        return graph
    found = dict(graph.get_subgraphs()).get(names[0])
    return None if found is None else subgraph(found, names[1:])


def is_graph(found: Any) -> bool:
    """Whether something is a compiled graph."""
    return isinstance(found, internals.pregel())


def is_subgraph_node(task: Any) -> bool:
    """Whether the task's node is a graph itself, not a function that may call one."""
    steps = cast("list[Any]", getattr(task.proc, "steps", None) or [task.proc])
    return is_graph(steps[0])


def with_store(graph: Any, store: CheckpointStore) -> Any:
    """A copy of the graph that saves its state in `store`.

    The types of its state and of its sub-graphs' states may be restored from there, and no other.
    """
    clone = copy.copy(graph)
    clone.checkpointer = store.with_allowlist(_allowed(graph))
    return clone


def _allowed(graph: Any) -> set[tuple[str, ...]]:
    """Types named in the schemas of a graph, as LangGraph collects them in strict mode."""
    found: set[tuple[str, ...]] = set()
    for one in [graph, *(inner for _, inner in graph.get_subgraphs(recurse=True))]:
        builder = getattr(one, "builder", None)
        if builder is None:
            continue
        schemas = [builder.state_schema, builder.input_schema, builder.output_schema]
        schemas += [builder.context_schema] if builder.context_schema is not None else []
        schemas += [node.input_schema for node in builder.nodes.values()]
        found |= internals.serde().build_serde_allowlist(schemas=schemas, channels=builder.channels)
    return found


def channel_types(graph: Any) -> dict[str, Any]:
    """The declared type of every key of the state, reducers left out."""
    from typing import get_type_hints

    builder = getattr(graph, "builder", None)
    if builder is None:
        return {}
    return get_type_hints(builder.state_schema)
