"""Pruning, copying, sweeping and moving threads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.channels.delta import DeltaChannel  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs

from harness.checkpoints import CheckpointStore, open_store
from tests.checkpoints.graphs import size, talk, thread


def run(store: CheckpointStore, name: str, turns: int = 30, seed: int = 0) -> dict[str, Any]:
    graph = talk(turns, seed).compile(checkpointer=store)
    return graph.invoke({"messages": [], "turn": 0}, thread(name))


def state(store: CheckpointStore, name: str) -> dict[str, Any]:
    return dict(talk(0).compile(checkpointer=store).get_state(thread(name)).values)


def test_a_copy_has_the_same_history_and_costs_next_to_nothing(tmp_path: Path) -> None:
    with open_store(tmp_path / "c.sqlite") as store:
        run(store, "a")
        before = size(store.path)
        store.copy_thread("a", "b")
        graph = talk(0).compile(checkpointer=store)
        first, second = (list(graph.get_state_history(thread(name))) for name in "ab")
    assert [item.values for item in first] == [item.values for item in second]
    assert [item.next for item in first] == [item.next for item in second]
    assert size(tmp_path / "c.sqlite") < before


def test_prune_keeps_the_latest_state_and_frees_the_rest(tmp_path: Path) -> None:
    with open_store(tmp_path / "c.sqlite") as store:
        latest = run(store, "a")
        run(store, "b", seed=1)
        store.prune(["a"])
        assert len(list(store.list(thread("a")))) == 1
        assert state(store, "a") == latest
        store.prune(["b"], strategy="delete")
        assert list(store.threads()) == ["a"]
        latest = run(store, "a", 35)
    assert latest["turn"] == 35
    assert size(tmp_path / "c.sqlite") < 150_000


def test_copies_and_prunes_are_transactions(tmp_path: Path) -> None:
    with open_store(tmp_path / "c.sqlite") as store:
        run(store, "a", 5)
        statements: list[str] = []
        connection = store._connection  # pyright: ignore[reportPrivateUsage]  # what it executes
        connection.set_trace_callback(statements.append)
        begins: list[int] = []
        # Unused values and pages are dropped in a transaction of their own behind a prune.
        for action in (
            lambda: store.copy_thread("a", "b"),
            lambda: store.prune(["a", "b"]),
            lambda: store.prune(["a", "b"], strategy="delete"),
        ):
            statements.clear()
            action()
            begins.append(sum(statement.startswith("BEGIN") for statement in statements))
        assert begins == [1, 2, 2]
        assert list(store.threads()) == []


def test_runs_are_deleted_whatever_numbers_their_metadata_hold(tmp_path: Path) -> None:
    with open_store(tmp_path / "c.sqlite") as store:
        graph = talk(2).compile(checkpointer=store)
        for name in "ab":
            metadata = {"run_id": name, "score": math.nan}
            graph.invoke({"messages": [], "turn": 0}, {**thread(name), "metadata": metadata})
        store.delete_for_runs(["a"])
        assert list(store.threads()) == ["b"]


def test_a_deleted_thread_leaves_its_space_after_vacuum(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with open_store(path) as store:
        run(store, "a", 60)
        kept = run(store, "b", 2, seed=1)
        store.delete_thread("a")
        store.vacuum()
        assert state(store, "b") == kept
    assert size(path) < 90_000


def test_another_process_may_sweep_between_two_steps(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with open_store(path) as store, open_store(path) as other:
        run(store, "a", 10)
        run(store, "a", 12)
        other.prune(["a"], strategy="delete")
        assert run(store, "a", 10) == state(other, "a")


def join(state: list[str], writes: Sequence[Any]) -> list[str]:
    return [*state, *(item for write in writes for item in write)]


class Log(TypedDict):
    lines: Annotated[list[str], DeltaChannel(join, snapshot_frequency=5)]


def test_prune_keeps_what_a_delta_channel_is_rebuilt_from(tmp_path: Path) -> None:
    def node(log: Log) -> dict[str, Any]:
        return {"lines": [f"line {len(log['lines'])}"]}

    def route(log: Log) -> str:
        return END if len(log["lines"]) > 12 else "node"

    builder: Any = StateGraph(Log)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_conditional_edges("node", route)
    with open_store(tmp_path / "c.sqlite") as store:
        graph = builder.compile(checkpointer=store)
        expected = graph.invoke({"lines": []}, thread("t"))
        store.prune(["t"])
        assert len(list(store.list(thread("t")))) <= 6
        assert graph.get_state(thread("t")).values == expected
