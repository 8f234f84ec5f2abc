"""Finished trajectories as graphs: stepped, searched and compared like a run of one's own.

A trajectory (ATIF; every format that `harness trajectories import` reads) becomes a graph whose
nodes play its steps back: `system`, `user` and `agent`, and `tool` for each result that the agent
got. The state holds what the agent had before it. Nothing is called.
"""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from harness.core.trajectory import Trajectory
from harness.debug import internals

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
    moves = _moves(trajectory)

    def play(state: Played) -> dict[str, Any]:
        return moves[len(state["messages"])][1]

    def follow(state: Played) -> str:
        at = len(state["messages"])
        return moves[at][0] if at < len(moves) else END

    builder = internals.state_graph()(Played)
    names = sorted({name for name, _ in moves})
    for name in names:
        builder.add_node(name, play)
        builder.add_conditional_edges(name, follow, [*names, END])
    builder.add_conditional_edges("__start__", follow, [*names, END])
    return builder.compile()


def _moves(trajectory: Trajectory) -> list[tuple[str, dict[str, Any]]]:
    """Node and update of every message: a step's own, then each of its observation's results."""
    moves: list[tuple[str, dict[str, Any]]] = []
    for step in trajectory.steps:
        body = step.model_dump(mode="json", exclude_none=True)
        results = body.pop("observation", {}).get("results", [])
        moves.append((step.source, _update(body, step.metrics)))
        moves += [("tool", _update({"step_id": step.step_id, **result})) for result in results]
    return moves


def _update(body: dict[str, Any], metrics: Any = None) -> dict[str, Any]:
    tokens = 0
    if metrics is not None:
        tokens = (metrics.prompt_tokens or 0) + (metrics.completion_tokens or 0)
    return {"messages": [body], "tokens": tokens}
