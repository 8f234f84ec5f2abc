"""Abilities that people know from LangGraph's server and its Studio."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from harness.checkpoints import CheckpointStore, open_store
from harness.core import BadInput
from harness.debug import Debugger, load_graph
from harness.debug.engine.stops import Failure, Stop
from harness.debug.terminal import Terminal, stop_text
from harness.debug.web.values import editable

FLOW = """
from contextlib import asynccontextmanager, contextmanager
from operator import add
from typing import Annotated, TypedDict
from langgraph.config import get_store, get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send

class State(TypedDict, total=False):
    items: Annotated[list, add]

def plan(state):
    get_stream_writer()({"progress": 1})
    return {"items": ["p"]}

def work(state):
    get_store().put(("users", "ada"), f"k{state['k']}", {"v": state["k"]})
    return {"items": [state["k"]]}

def deep(state):
    get_stream_writer()("from below")
    return {"items": ["d"]}

inner = StateGraph(State)
inner.add_node("deep", deep)
inner.add_edge(START, "deep")

builder = StateGraph(State)
builder.add_node("plan", plan)
builder.add_node("work", work)
builder.add_node("sub", inner.compile())
builder.add_edge(START, "plan")
sends = [Send("work", {"k": k}) for k in (0, 1)]
builder.add_conditional_edges("plan", lambda state: sends, ["work"])
builder.add_edge("work", "sub")

@contextmanager
def managed():
    yield builder.compile()
    left.append("managed")

@asynccontextmanager
async def managed_later(config):
    yield builder.compile()
    left.append("managed_later")

left = []
chat = StateGraph(MessagesState).add_node("stay", lambda state: {}).add_edge(START, "stay")
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CheckpointStore]:
    with open_store(tmp_path / "c.sqlite") as opened:
        yield opened


@pytest.fixture
def flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with the graph, the working folder."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        monkeypatch.delitem(sys.modules, name)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    (tmp_path / "shop" / "flow.py").write_text(FLOW)
    return tmp_path / "shop" / "flow.py"


def debugged(graph: Any, store: CheckpointStore, *lines: str, start: Any = None) -> list[str]:
    """Return what the terminal answers to commands, one text a command."""
    answers: list[str] = []
    debugger = Debugger(graph, store)
    terminal = Terminal(debugger, answers.append)
    terminal.show(debugger.start(start or {"items": []}))
    terminal.run(lines)
    debugger.quit()
    return answers


def memory() -> Any:
    from langgraph.store.memory import InMemoryStore

    return InMemoryStore()


def test_sends_custom_events_and_the_store_are_shown(flow: Path, store: CheckpointStore) -> None:
    graph = load_graph(f"{flow}:builder", None, memory())
    lines = ("step", "step", "step", "memory", "memory users/bob", "steps", "continue")
    texts = debugged(graph, store, *lines)
    assert 'sent  {"k": 0}' in texts[1] and 'emitted  {"progress": 1}' in texts[1]
    assert 'sent  {"k": 1}' in texts[2] and "emitted" not in texts[2]
    assert json.loads(texts[4]) == {"users/ada/k0": {"v": 0}, "users/ada/k1": {"v": 1}}
    assert json.loads(texts[5]) == {}
    assert 'work ← {"k": 1}' in texts[6]
    assert 'emitted  "from below"' in texts[7]


@pytest.mark.parametrize("node", ["plan", "sub/deep", "deep", "plan/called", "*"])
def test_a_breakpoint_at_a_node_that_may_come_is_set(
    node: str, flow: Path, store: CheckpointStore
) -> None:
    [_, answer] = debugged(load_graph(f"{flow}:builder"), store, f"break {node}")
    assert answer == "breakpoint 1"


@pytest.mark.parametrize("command", ["break plam", "break sub2/deep", "until nowhere"])
def test_a_breakpoint_at_no_node_is_refused(
    command: str, flow: Path, store: CheckpointStore
) -> None:
    [_, answer] = debugged(load_graph(f"{flow}:builder"), store, command)
    assert answer.startswith("no node") and "deep, plan, sub, sub/deep, work" in answer


@pytest.mark.parametrize("name", ["managed", "managed_later"])
def test_a_context_manager_makes_a_graph_and_is_not_left(
    name: str, flow: Path, store: CheckpointStore
) -> None:
    graph = load_graph(f"shop.flow:{name}", None, memory())
    texts = debugged(graph, store, "continue")
    assert "done" in texts[1]
    assert sys.modules["shop.flow"].left == []


def test_a_module_is_read_anew_and_a_missing_one_named(flow: Path, store: CheckpointStore) -> None:
    assert "plan" in load_graph("shop.flow:builder").nodes
    flow.write_text(FLOW.replace('"plan"', '"scheme"'))
    os.utime(flow, (0, 0))
    assert "scheme" in load_graph("shop.flow:builder").nodes
    for reference in ("shop.absent:graph", "shop.flow:absent", "flow"):
        with pytest.raises(Exception, match=r"expected FILE\.py:NAME or MODULE:NAME"):
            load_graph(reference)


def test_messages_are_edited_as_messages_and_others_stay_whole(
    flow: Path, store: CheckpointStore
) -> None:
    said = AIMessage("Yes.", id="a", response_metadata={"model": "m"})
    debugger = Debugger(load_graph(f"{flow}:chat"), store)
    debugger.start({"messages": [HumanMessage("Really?", id="h"), said]})
    messages = json.loads(editable(debugger.state()["messages"]))
    assert [message["role"] for message in messages] == ["user", "assistant"]
    messages[0]["content"] = "Truly?"
    debugger.edit({"messages": messages})
    first, second = debugger.state()["messages"]
    assert (first.content, first.id, type(first)) == ("Truly?", "h", HumanMessage)
    assert second == said
    with pytest.raises(BadInput, match="JSON cannot hold this AIMessage"):
        editable(said)
    debugger.quit()


def test_a_run_that_could_not_begin_says_what_to_change() -> None:
    refused = Failure("ValidationError", "not valid", ())
    stop = Stop("failed", failure=refused, sent={"n": "x"})
    assert stop.hint[0] == 'start {"n": "x"}'
    assert 'sent  {"n": "x"}' in stop_text(stop)
    assert Stop("failed", failure=refused).hint[0] == "start {}"


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"SHOP_KEY": "blue", "SHOP_SET": "no"}, "blue outside"),
        ("shop.env", "green = light outside"),
        (["SHOP_KEY"], "none outside"),
        ("absent.env", "none outside"),
    ],
)
def test_langgraph_json_sets_variables_paths_and_a_store(
    env: Any, expected: str, flow: Path, tmp_path: Path
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "shelf.py").write_text(
        "import os\n\ndef text():\n"
        "    return os.environ.get('SHOP_KEY', 'none') + ' ' + os.environ['SHOP_SET']\n"
    )
    flow.write_text(FLOW.replace('["p"]', "[__import__('shelf').text()]"))
    (tmp_path / "shop.env").write_text("# SHOP_KEY=red\nexport SHOP_KEY='green = light'\n\nodd\n")
    listing = {"graphs": {"shop": "shop.flow:builder"}, "env": env, "dependencies": ["./lib"]}
    (tmp_path / "langgraph.json").write_text(json.dumps(listing))
    command = [sys.executable, "-m", "harness", "debug", "shop", "--input", '{"items": []}']
    done = subprocess.run(
        command,
        input="continue\nmemory\n",
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SHOP_SET": "outside"},
    )
    assert f'"{expected}"' in done.stdout, done.stderr
    assert "users/ada/k1" in done.stdout
