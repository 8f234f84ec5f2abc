"""Finished work as graphs: trajectories and evolutions, stepped like a run of one's own.

A trajectory (ATIF; every format that `harness trajectories import` reads) becomes a graph whose
nodes play its steps back: `system`, `user` and `agent`, and `tool` for each result that the agent
got. The state holds what the agent had before it. Nothing is called.

An evolution is its own graph, with the state that it left.
"""

from __future__ import annotations

import operator
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict
from urllib.parse import quote

from harness.core import BadInput, Trajectory
from harness.debug.engine.graphs import langgraph

END = "__end__"
START: dict[str, Any] = {"messages": [], "tokens": 0}
"""What a graph of :func:`trajectory_graph` is started with."""


class Played(TypedDict):
    """The messages so far, as ATIF has them, and the tokens they took."""

    messages: Annotated[list[dict[str, Any]], operator.add]
    tokens: Annotated[int, operator.add]


def trajectory_graph(trajectory: Trajectory) -> Any:
    """The compiled graph that plays `trajectory`; start it with :data:`START`.

    Its super-steps are the trajectory's messages, in order.
    """
    moves: list[tuple[str, Played]] = []
    for step in trajectory.steps:
        body = step.model_dump(mode="json", exclude_none=True)
        results = body.pop("observation", {}).get("results", [])
        metrics, tokens = step.metrics, 0
        if metrics is not None:
            tokens = (metrics.prompt_tokens or 0) + (metrics.completion_tokens or 0)
        moves.append((step.source, {"messages": [body], "tokens": tokens}))
        for result in results:
            message = {"step_id": step.step_id, **result}
            moves.append(("tool", {"messages": [message], "tokens": 0}))

    def play(state: Played) -> Played:
        return moves[len(state["messages"])][1]

    def follow(state: Played) -> str:
        number = len(state["messages"])
        return moves[number][0] if number < len(moves) else END

    builder = langgraph("graph").StateGraph(Played)
    names = sorted({name for name, _ in moves})
    for name in names:
        builder.add_node(name, play)
        builder.add_conditional_edges(name, follow, [*names, END])
    builder.add_conditional_edges("__start__", follow, [*names, END])
    return builder.compile()


def copy_evolution(run: Path, path: Path) -> None:
    """Copy the graph state that an evolution left in its folder `run` into a new store at `path`.

    The folder is only read. Its nodes are served from what they wrote; run live they would need
    the evolution's own context, which `harness evolve --resume` has.

    Raises:
        BadInput: if the state cannot be read.
    """
    source = (run / "checkpoints.sqlite").resolve()
    try:
        with (
            closing(sqlite3.connect(f"file:{quote(str(source))}?mode=ro", uri=True)) as db,
            closing(sqlite3.connect(path)) as copy,
        ):
            db.backup(copy)
    except sqlite3.Error as error:
        raise BadInput(f"expected graph state at {str(source)!r}, found {error}") from error
