"""Trace2Skill (arXiv 2603.25158, figure 2) as a state machine.

    rollouts ─► fleet ═► analyst (n) ─┐    one Send a trajectory, in waves
                  ▲───────────────────┘
                  └─► collect ─► deal ═► merge (n) ─┐    one Send a batch, level by level
                                   ▲────────────────┘
                                   └─► translate ─► select ─► apply ─► verify ─► gate_skill

State carries digests and JSON only, so every step can be resumed and forked; what the stages make
lies on the shelf of the runtime context, an :class:`harness.evolve.Evolution`.
"""

from __future__ import annotations

from operator import add
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph.graph carries no marker
from langgraph.runtime import Runtime
from langgraph.types import Send

from harness.evolve import Evolution
from harness.evolve import apply as finish
from harness.evolve import select as selecting
from harness.evolve.analysts import fan_out as fleet
from harness.evolve.merge import by_model as reduce


class State(TypedDict):
    """What a checkpoint holds.

    Attributes:
        runs: digest of the list of trajectories.
        fleet: numbers of the trajectories that an analyst reads.
        sent: analysts started so far.
        readings: [number of the trajectory, digest of its reading].
        collected: digest of all records.
        levels: digest of the patches of each merge level.
        stuck: whether the last level merged nothing, because no two patches fit one prompt.
        merged: [level, number of the batch, digest of its merge].
        edits: digest of the merged patch with anchors that exist.
        selection: digest of what a selection tried, if one was asked for.
        final: digest of the patch as it is applied.
        skill: digest of the skill; learned: whether it differs from the seed.
        problems: warnings of the validator.
        gate: the verdict.
        spent: usage outside the fleet and the merges.
    """

    runs: str
    fleet: list[int]
    sent: int
    readings: Annotated[list[list[Any]], add]
    collected: str
    levels: list[str]
    stuck: bool
    merged: Annotated[list[list[Any]], add]
    edits: str
    selection: str
    final: str
    skill: str
    learned: bool
    problems: list[str]
    gate: dict[str, Any]
    spent: Annotated[list[dict[str, Any]], add]


class Unit(State):
    """One piece of work of a fleet: its number, with the few values of the state that it needs."""

    number: int


Context = Runtime[Evolution]
Update = dict[str, Any]


async def rollouts(state: State, runtime: Context) -> Update:
    """Tasks to trajectories, or those that are given."""
    return await fleet.rollouts(runtime.context, state)


def send_wave(state: State, runtime: Context) -> Update:
    """The next analysts."""
    return fleet.send_wave(runtime.context, state)


def to_analysts(state: State) -> list[Send] | str:
    """One analyst a trajectory, all from the same frozen skill."""
    units = fleet.wave(state)
    return [Send("analyst", {"number": one, "runs": state["runs"]}) for one in units] or "collect"


async def analyst(unit: Unit, runtime: Context) -> Update:
    """One trajectory to one record and its patch."""
    return await fleet.read_one(runtime.context, unit, unit["number"])


def collect(state: State, runtime: Context) -> Update:
    """Records to patches."""
    return fleet.collect(runtime.context, state)


def deal(state: State, runtime: Context) -> Update:
    """A finished level becomes the next one."""
    return reduce.deal(runtime.context, state)


def to_mergers(state: State, runtime: Context) -> list[Send] | str:
    """One merge a batch."""
    known = {name: state[name] for name in ("runs", "collected", "levels", "stuck")}
    count = reduce.open_batches(runtime.context, state)
    return [Send("merge", {"number": one, **known}) for one in range(count)] or "translate"


async def merge(unit: Unit, runtime: Context) -> Update:
    """A batch of patches to one patch."""
    return await reduce.merge_one(runtime.context, unit, unit["number"])


async def translate(state: State, runtime: Context) -> Update:
    """The patch to exact edits of the seed."""
    return await finish.to_edits(runtime.context, state)


async def select(state: State, runtime: Context) -> Update:
    """All edits, or the set that does best on trial tasks."""
    return await selecting.select(runtime.context, state)


def apply(state: State, runtime: Context) -> Update:
    """The edits to a skill."""
    return finish.apply(runtime.context, state)


def verify(state: State, runtime: Context) -> Update:
    """The skill against the specification."""
    return finish.verify(runtime.context, state)


async def gate_skill(state: State, runtime: Context) -> Update:
    """The skill against its seed."""
    return await finish.gate_skill(runtime.context, state)


def build() -> Any:
    """The graph before compilation, a `StateGraph` over State and Evolution."""
    graph: Any = StateGraph(State, context_schema=Evolution)
    graph.add_node("rollouts", rollouts)
    graph.add_node("fleet", send_wave)
    graph.add_node("analyst", analyst)
    graph.add_node("collect", collect)
    graph.add_node("deal", deal)
    graph.add_node("merge", merge)
    graph.add_node("translate", translate)
    graph.add_node("select", select)
    graph.add_node("apply", apply)
    graph.add_node("verify", verify)
    graph.add_node("gate_skill", gate_skill)
    graph.add_edge(START, "rollouts")
    graph.add_edge("rollouts", "fleet")
    graph.add_conditional_edges("fleet", to_analysts, ["analyst", "collect"])
    graph.add_edge("analyst", "fleet")
    graph.add_edge("collect", "deal")
    graph.add_conditional_edges("deal", to_mergers, ["merge", "translate"])
    graph.add_edge("merge", "deal")
    graph.add_edge("translate", "select")
    graph.add_edge("select", "apply")
    graph.add_edge("apply", "verify")
    graph.add_edge("verify", "gate_skill")
    graph.add_edge("gate_skill", END)
    return graph


graph = build().compile(name="trace2skill")
