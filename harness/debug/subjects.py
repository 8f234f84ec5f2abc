"""Subjects of the debugger: a graph of one's own, and finished work, stepped like a run.

A trajectory (ATIF; every format that `harness trajectories import` reads) becomes a graph whose
nodes play its steps back: `system`, `user` and `agent`, and `tool` for each result that the agent
got. The state holds what the agent had before it. Nothing is called.

An evolution is its own graph, with the state that it left.
"""

from __future__ import annotations

import operator
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict
from urllib.parse import quote

from harness.core import BadInput, Trajectory, assets
from harness.debug.engine.graphs import langgraph
from harness.debug.engine.session import Debugger

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore
    from harness.debug.attempts import Answers


@dataclass(frozen=True)
class Subject:
    """A graph or finished work to debug, and where it begins.

    Attributes:
        graph: the compiled graph.
        start: its input; None to open `thread`.
        thread: the thread to start or to open; None where an input starts one of its own.
        hold: stop in front of the first node.
        context: the graph's runtime context.
        config: LangGraph's config for every run.
        reload: loads the graph anew from its file; None where there is no file.
        root: folder of that file.
        answers: what was recorded of models and tools, where the graph asks them.
        over_http: whether it does so through an address, which does not see what node asks.
        beyond: lets it continue live.
        notes: what the user should know about it, a sentence each.
    """

    graph: Any
    start: Any = None
    thread: str | None = None
    hold: bool = True
    context: Any = None
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    reload: Callable[[], Any] | None = None
    root: Path | None = None
    answers: Answers | None = None
    over_http: bool = False
    beyond: Callable[[], None] | None = None
    notes: tuple[str, ...] = ()

    def begin(self, store: CheckpointStore, **settings: Any) -> Debugger:
        """A debugger with `settings` where the subject begins; its thread may be there already."""
        settings.setdefault("beyond", self.beyond)
        debugger = Debugger(
            self.graph,
            store,
            config=self.config,
            context=self.context,
            meter=None if self.answers is None else self.answers.meter,
            **settings,
        )
        if self.answers is not None:
            self.answers.ask = debugger.ask
            self.answers.place = debugger.place if self.over_http else self.answers.place
        if self.start is not None:
            debugger.start(self.start, thread=self.thread, hold=self.hold)
        elif self.thread is not None:
            debugger.open(self.thread)
        return debugger


class Played(TypedDict):
    """The messages so far, as ATIF has them, and the tokens they took."""

    messages: Annotated[list[dict[str, Any]], operator.add]
    tokens: Annotated[int, operator.add]


def trajectory_graph(trajectory: Trajectory) -> Any:
    """The compiled graph that plays `trajectory`; start it with no messages and no tokens.

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
        return moves[number][0] if number < len(moves) else "__end__"

    builder = langgraph("graph").StateGraph(Played)
    names = sorted({name for name, _ in moves})
    for name in names:
        builder.add_node(name, play)
    for name in ["__start__", *names]:
        builder.add_conditional_edges(name, follow, [*names, "__end__"])
    return builder.compile()


def play_back(trajectory: Trajectory, **settings: Any) -> Subject:
    """A trajectory, played back message by message; `settings` are those of :class:`Subject`."""
    start: dict[str, Any] = {"messages": [], "tokens": 0}
    return Subject(trajectory_graph(trajectory), start, **settings)


def open_evolution(store: CheckpointStore, name: str) -> Subject:
    """The evolution whose graph state is in `store`.

    Raises:
        BadInput: if it left none.
    """
    thread = next(iter(store.threads()), None)
    if thread is None:
        raise BadInput(f"the evolution {name!r} has no graph state yet")
    note = "an evolution post-mortem: its nodes are served from the record and not run"
    return Subject(assets.load_graph("trace2skill"), thread=thread, notes=(note,))


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
