"""A task factory: a proposal becomes a task once it is verified and neither too easy nor too hard.

    propose ──► filter ──► validate ──► solve x n ──► band ──► curate ──► END
       ▲                                                          │
       └──────────────────── more are wanted ◄────────────────────┘

SSP (arXiv 2510.18821), SPELL (2509.23863) and WebSailor's fog (2507.02592) are proposers,
validators and bands of this loop. A round is a set of proposals; the next one sees what was
accepted before. Whatever cannot be judged is invalid and never accepted. State holds JSON alone.
"""

from __future__ import annotations

import asyncio
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.runtime import Runtime

from harness.synth.factory import Factory
from harness.synth.registry import Registry
from harness.synth.types import Record, Stage


class State(TypedDict, total=False):
    """Content of a checkpoint.

    Attributes:
        number: of the first proposal of the round.
        numbers: of all of them.
        records: what became of them so far, as JSON.
    """

    number: int
    numbers: list[int]
    records: list[dict[str, Any]]


Context = Runtime[Factory]
Update = dict[str, Any]


async def propose(state: State, runtime: Context) -> Update:
    """Write a round of proposals; they do not see each other."""
    factory = runtime.context
    numbers = factory.round(state.get("number", 0))
    accepted = factory.accepted(state.get("number", 0))
    rows = await asyncio.gather(*(factory.propose(number, accepted) for number in numbers))
    return {"numbers": numbers, **_dumped(rows)}


async def filter_proposals(state: State, runtime: Context) -> Update:
    """Apply the rules, which need no model; leave out what was there before, or must not leak."""
    factory, rows = runtime.context, _records(state)
    before = factory.earlier_tasks(state.get("number", 0))
    checked = [await factory.validate(row, "filter", []) for row in rows]
    return _dumped([_new(row, factory, before, "filter") for row in checked])


async def validate(state: State, runtime: Context) -> Update:
    """Ask the checker: can it be answered, in one way, from its evidence, and not without."""
    factory, rows = runtime.context, _records(state)
    proposals = [*factory.accepted(state.get("number", 0)), *(row.proposal for row in rows)]

    async def check(record: Record) -> Record:
        peers = [row for row in proposals if row.id != record.proposal.id]
        return await factory.validate(record, "validate", peers)

    return _dumped(await asyncio.gather(*map(check, rows)))


async def solve(state: State, runtime: Context) -> Update:
    """Let the agent try each task n times; too few attempts that count say nothing."""
    factory, rows = runtime.context, _records(state)
    waiting = [row.proposal for row in rows if row.decision == "open"]
    if factory.solve is None or not waiting:
        return {}
    verdicts = await factory.solve(f"round-{state.get('number', 0):05d}", waiting)
    solved: list[Record] = []
    for row in rows:
        counted = [right for right in verdicts.get(row.proposal.id, ()) if right is not None]
        record = row.model_copy(update={"right": sum(counted), "attempts": len(counted)})
        if row.decision == "open" and 2 * len(counted) < factory.attempts:
            reason = f"{len(counted)} of {factory.attempts} attempts counted"
            record = record.ended("invalid", "solve", "solver", reason)
        solved.append(record)
    return _dumped(solved)


def band(state: State, runtime: Context) -> Update:
    """Keep what is neither too easy nor too hard for the agent."""
    factory, records = runtime.context, list[Record]()
    for row in _records(state):
        record, mean = row, row.mean
        if row.decision == "open" and mean is not None:
            record = row.model_copy(update={"reward": factory.band.curve(mean)})
            if not factory.low <= mean <= factory.high:
                side = "hard" if mean < factory.low else "easy"
                reason = f"too {side}: {row.right} of {row.attempts} attempts were right"
                record = record.ended("rejected", "band", f"too {side}", reason)
        records.append(record)
    return _dumped(records)


def curate(state: State, runtime: Context) -> Update:
    """Accept in the order of the proposals what is no duplicate; write everything down."""
    factory, rows = runtime.context, list[Record]()
    before = factory.earlier_tasks(state.get("number", 0))
    for row in _records(state):
        record = _new(row, factory, before, "curate")
        if record.decision == "open":
            before.add_proposal(record.proposal)
            record = record.ended("accepted", "curate", "", "")
        rows.append(record)
    numbers = state.get("numbers", [])
    factory.keep(numbers, rows)
    return {"number": state.get("number", 0) + len(numbers), "records": []}


def onwards(state: State, runtime: Context) -> str:
    """Another round, while tasks are missing and proposals are left."""
    return "propose" if runtime.context.round(state.get("number", 0)) else END


def _new(record: Record, factory: Factory, before: Registry, stage: Stage) -> Record:
    """Reject a task of a given suite, and one that is there already, unless it is decided on."""
    if record.decision != "open":
        return record
    if name := factory.suites.same_proposal(record.proposal):
        return record.ended("rejected", stage, "leak", f"leak: it is task {name}")
    if name := before.same_proposal(record.proposal):
        return record.ended("rejected", stage, "duplicate", f"duplicate of {name}")
    return record


def _records(state: State) -> list[Record]:
    return [Record.model_validate(row) for row in state.get("records", [])]


def _dumped(rows: list[Record]) -> Update:
    return {"records": [row.model_dump(mode="json") for row in rows]}


def build() -> Any:
    """The graph before compilation, a `StateGraph` over State and Factory."""
    graph: Any = StateGraph(State, context_schema=Factory)
    return (
        graph.add_node("propose", propose)
        .add_node("filter", filter_proposals)
        .add_node("validate", validate)
        .add_node("solve", solve)
        .add_node("band", band)
        .add_node("curate", curate)
        .add_edge(START, "propose")
        .add_edge("propose", "filter")
        .add_edge("filter", "validate")
        .add_edge("validate", "solve")
        .add_edge("solve", "band")
        .add_edge("band", "curate")
        .add_conditional_edges("curate", onwards, ["propose", END])
    )


graph = build().compile(name="task_factory")
