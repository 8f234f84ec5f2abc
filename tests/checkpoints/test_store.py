"""Content, size and survival of the store."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.sqlite import SqliteSaver

from harness.checkpoints import CheckpointStore, open_saver, open_store
from harness.core import BadInput
from tests.checkpoints.graphs import size, talk, thread

MESSAGE = st.fixed_dictionaries({"role": st.text(max_size=8), "content": st.text(max_size=300)})
VALUES = st.one_of(
    st.none(),
    st.integers(-(2**40), 2**40),
    st.binary(max_size=300),
    st.text(max_size=300),
    st.lists(st.integers(0, 9), max_size=40),
    st.lists(st.one_of(MESSAGE, st.none(), st.binary(max_size=100)), max_size=20),
    st.dictionaries(st.text(max_size=5), MESSAGE, max_size=4),
)


@dataclass
class Odd:
    """A type of nobody's allowlist."""

    command: str


def save(
    store: CheckpointStore, values: dict[str, Any], step: int, parent: RunnableConfig
) -> RunnableConfig:
    versions = dict.fromkeys(values, step + 1)
    checkpoint: Checkpoint = {
        **empty_checkpoint(),
        "id": str(uuid6(clock_seq=step)),
        "channel_values": values,
        "channel_versions": dict(versions),
    }
    return store.put(parent, checkpoint, {"source": "loop", "step": step}, dict(versions))


@settings(max_examples=25, deadline=None)
@given(states=st.lists(st.dictionaries(st.sampled_from("abc"), VALUES), min_size=1, max_size=6))
def test_every_state_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, states: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("store") / "c.sqlite"
    config = thread("t")
    with open_store(path) as store:
        for step, values in enumerate(states):
            config = save(store, values, step, config)
        warm = [item.checkpoint["channel_values"] for item in store.list(thread("t"))]
    with open_store(path) as store:
        cold = [item.checkpoint["channel_values"] for item in store.list(thread("t"))]
    assert warm == cold == list(reversed(states))


@settings(max_examples=25, deadline=None)
@given(
    lists=st.lists(
        st.lists(st.sampled_from([{"content": c * 90} for c in "abc"]), max_size=12), min_size=2
    )
)
def test_lists_that_grow_shrink_and_change_come_back(
    tmp_path_factory: pytest.TempPathFactory, lists: list[list[Any]]
) -> None:
    config = thread("t")
    with open_store(tmp_path_factory.mktemp("store") / "c.sqlite") as store:
        for step, value in enumerate(lists):
            config = save(store, {"messages": value}, step, config)
        found = [item.checkpoint["channel_values"] for item in store.list(thread("t"))]
    assert [state["messages"] for state in reversed(found)] == lists


def test_two_hundred_steps_with_plain_lists_are_small(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.sqlite", tmp_path / "theirs.sqlite"
    with open_store(ours) as store:
        graph = talk(200).compile(checkpointer=store)
        state = graph.invoke({"messages": [], "turn": 0}, thread("t"))
        history = list(graph.get_state_history(thread("t")))
    with SqliteSaver.from_conn_string(str(theirs)) as saver:
        talk(200).compile(checkpointer=saver).invoke({"messages": [], "turn": 0}, thread("t"))
    assert history[0].values == state
    assert [len(snapshot.values["messages"]) for snapshot in history[:-1]] == [*range(200, -1, -1)]
    assert size(ours) < 600_000
    assert size(theirs) > 30 * size(ours)


@pytest.mark.parametrize("named", [{}, {"thread_id": None}, {"checkpoint_ns": ""}])
def test_without_a_thread_no_other_threads_state_is_given(
    tmp_path: Path, named: dict[str, Any]
) -> None:
    with open_store(tmp_path / "c.sqlite") as store:
        save(store, {"messages": ["secret"]}, 0, thread("t"))
        with suppress(KeyError):
            assert store.get_tuple({"configurable": named}) is None


def test_messages_of_langchain_keep_their_types(tmp_path: Path) -> None:
    talk_so_far = [HumanMessage("x" * 100, id="1"), AIMessage("y" * 100, id="2")]
    config = thread("t")
    with open_store(tmp_path / "c.sqlite") as store:
        save(store, {"messages": talk_so_far}, 0, config)
        saved = store.get_tuple(thread("t"))
    assert saved is not None
    assert saved.checkpoint["channel_values"]["messages"] == talk_so_far


def test_a_type_that_nobody_allowed_is_not_restored(tmp_path: Path) -> None:
    config = thread("t")
    with open_store(tmp_path / "c.sqlite") as store:
        save(store, {"odd": Odd("rm")}, 0, config)
        saved = store.get_tuple(thread("t"))
    assert saved is not None
    assert saved.checkpoint["channel_values"]["odd"] == {"command": "rm"}


async def _attempt(path: Path, turns: int) -> dict[str, Any]:
    async with open_saver(path) as saver:
        graph = talk(turns).compile(checkpointer=saver)
        begun = (await graph.aget_state(thread("t"))).next
        start: Any = None if begun else {"messages": [], "turn": 0}
        return await graph.ainvoke(start, thread("t"))


def test_an_asynchronous_graph_runs_on_it(tmp_path: Path) -> None:
    state = asyncio.run(_attempt(tmp_path / "c.sqlite", 5))
    assert state["turn"] == len(state["messages"]) == 5


_WRITER = """
import sys
from pathlib import Path
from harness.checkpoints import open_store
from tests.checkpoints.graphs import talk, thread

with open_store(Path(sys.argv[1])) as store:
    graph = talk(100_000).compile(checkpointer=store)
    for update in graph.stream(
        {"messages": [], "turn": 0}, thread("t", 200_000), durability="sync", stream_mode="values"
    ):
        print(update["turn"], flush=True)
"""


def test_a_kill_while_writing_loses_nothing_committed(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    command = [sys.executable, "-c", _WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as writer:
        assert writer.stdout is not None
        last = 0
        for line in writer.stdout:
            last = int(line)
            if last >= 40:
                break
        time.sleep(0.013)
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read().split("\n")
    last = max([last, *(int(line) for line in rest[:-1])])
    with open_store(path) as store:
        saved = store.get_tuple(thread("t"))
        assert saved is not None
        values = saved.checkpoint["channel_values"]
        assert values["turn"] >= last - 1
        assert len(values["messages"]) == values["turn"]
        talk(values["turn"] + 3).compile(checkpointer=store).invoke(None, thread("t"))


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, " * 100)
    with pytest.raises(BadInput, match=r"expected a checkpoint store .* found: .*not a database"):
        CheckpointStore(path)
