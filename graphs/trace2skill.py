"""Trace2Skill (arXiv 2603.25158, figure 2) as a state machine.

    analysts -> map -> reduce -> apply -> verify -> gate

State carries digests and JSON only; what the stages work on lies in the runtime context, an
:class:`harness.evolve.stages.Evolution`.
"""

from __future__ import annotations

from typing import Any, TypedDict, cast

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph.graph carries no marker
from langgraph.runtime import Runtime

from harness.evolve.stages import Evolution


class State(TypedDict, total=False):
    """Digests of what each stage made, and the verdict."""

    records: str
    patches: str
    merged: str
    skill: str
    problems: list[str]
    gate: dict[str, Any]


async def analysts(state: State, runtime: Runtime[Evolution]) -> dict[str, Any]:
    """Trajectories to records, one analyst each."""
    return await runtime.context.analysts()


async def map_patches(state: State, runtime: Runtime[Evolution]) -> dict[str, Any]:
    """Records to patches, one each."""
    return await runtime.context.map()


async def reduce_patches(state: State, runtime: Runtime[Evolution]) -> dict[str, Any]:
    """Patches to one patch."""
    return await runtime.context.reduce()


async def apply(state: State, runtime: Runtime[Evolution]) -> dict[str, Any]:
    """The patch to a skill."""
    return await runtime.context.apply()


async def verify(state: State, runtime: Runtime[Evolution]) -> dict[str, Any]:
    """The skill against the specification."""
    return await runtime.context.verify()


async def gate(state: State, runtime: Runtime[Evolution]) -> dict[str, Any]:
    """The skill against its seed."""
    return await runtime.context.gate()


def build() -> StateGraph[State, Evolution]:
    """The graph, not compiled."""
    builder = StateGraph(State, context_schema=Evolution)
    # langgraph leaves a type argument of its caches open: hence the cast to Any.
    wiring = cast("Any", builder)
    stages = (
        ("analysts", analysts),
        ("map", map_patches),
        ("reduce", reduce_patches),
        ("apply", apply),
        ("verify", verify),
        # A node may not share its name with a field of the state.
        ("gate_skill", gate),
    )
    before = START
    for name, node in stages:
        wiring.add_node(name, node)
        wiring.add_edge(before, name)
        before = name
    wiring.add_edge(before, END)
    return builder


graph = cast("Any", build()).compile()
