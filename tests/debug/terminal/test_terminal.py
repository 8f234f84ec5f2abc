"""The terminal face: commands, and the command line in a pseudo-terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from harness.checkpoints import CheckpointStore, config_at, open_store
from harness.core import printable
from harness.debug import Debugger
from harness.debug.terminal import Terminal
from tests.debug.shapes import chain, counter, inner, leaf, loop
from tests.debug.suite import asked_inside
from tests.typed import typed

EMPTY: dict[str, Any] = {"path": []}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CheckpointStore]:
    with open_store(tmp_path / "c.sqlite") as opened:
        yield opened


def said(graph: Any, store: CheckpointStore, *lines: str) -> list[str]:
    """List the answer to each line, the first stop before them."""
    shown: list[str] = []
    debugger = Debugger(graph, store)
    terminal = Terminal(debugger, shown.append)
    terminal.show(debugger.start(EMPTY))
    answers = [shown[-1]]
    for line in lines:
        before = len(shown)
        terminal.do(line)
        answers.append("\n".join(shown[before:]))
    debugger.quit()
    return answers


def test_commands_step_stop_and_show(store: CheckpointStore) -> None:
    graph = chain({"a": leaf([], "a"), "sub": inner([], "i", 2), "z": leaf([], "z")})
    first, *rest = said(
        graph, store, "s", "i", "print len(path)", "watch path", "out", "branches", "c", "steps"
    )
    assert first == "[step] a  visit 1, step 1"
    assert rest[0] == "[step] sub  visit 1, step 2"
    assert rest[1].startswith("[step] sub/i0  visit 1, step 1\n  running  sub")
    assert rest[2:4] == ["1", ""]
    assert rest[4] == '[step] z  visit 1, step 3\n  path = ["a", "a", "i0", "i1"]'
    assert rest[5] == "* main"
    assert rest[6].startswith("[done]")
    assert rest[7].splitlines()[2].split() == ["2", "sub/i0", "→", "i1", 'path=["i0"]']


def test_commands_change_fork_and_compare(store: CheckpointStore) -> None:
    answers = said(
        loop(counter([], "body"), 3),
        store,
        "break body:3 if n == 2",
        "breaks",
        "continue",
        "set n 9",
        "clear 1",
        "continue",
        'set n "x"',
        "steps",
        "fork 1 other",
        "c",
        "compare main other",
        "replay main.1",
    )
    assert answers[1:4] == ["breakpoint 1", "   1  body:3 if n == 2", answers[3]]
    assert answers[3] == "[breakpoint 1] body  visit 3, step 3"
    assert answers[6].startswith("[done]")
    assert "does not stand in front of a node" in answers[7]
    assert answers[8].splitlines()[-1].strip().startswith("2  body")
    assert answers[9] == "[step] body  visit 2, step 2"
    assert "the first branch has no such step" in answers[11]
    assert answers[12].startswith("[left recording] body  visit 3")


def test_interrupts_are_answered_and_bad_lines_explained(store: CheckpointStore) -> None:
    answers = said(asked_inside([]), store, "c", "answer yes", 'answer "yes"', "frobnicate", "o 9")
    assert '"ask?"' in answers[1]
    assert answers[2] == "expected JSON (text in quotation marks), found 'yes'"
    assert "ask=yes" in answers[3]
    assert answers[4].startswith("no command 'frobnicate'")
    assert answers[5].startswith("no command 'o'; did you mean out, output?")


def test_help_and_quit_pass_over_words_and_the_others_refuse_them(store: CheckpointStore) -> None:
    answers = said(chain({"a": leaf([], "a")}), store, "help step", "step twice", "quit now")
    assert answers[1:] == [answers[1], "expected nothing behind the command, found 'twice'", ""]
    assert "  step" in answers[1]


def test_usage_has_a_line_for_every_node_and_the_sum_below(store: CheckpointStore) -> None:
    graph = chain({"a": leaf([], "a"), "all": leaf([], "all")})
    lines = said(graph, store, "c", "usage")[2].splitlines()
    assert [line.partition("runs")[0] for line in lines] == [
        "a       1 ",
        "all     1 ",
        "all     2 ",
    ]


def test_nothing_of_a_model_controls_the_terminal(store: CheckpointStore) -> None:
    evil = "\x1b]0;owned\x07\x1b[2Jhi\u202e\r\n\x9b31m"
    assert printable(evil) == "\\x1b]0;owned\\x07\\x1b[2Jhi\\u202e\r\n\\x9b31m"

    def node(state: Any) -> dict[str, Any]:
        if state["path"]:
            raise ValueError(evil)
        return {"path": [evil]}

    answers = said(
        chain({"a": node, "b": node}), store, "watch last(path)", "s", "state", "steps", "c"
    )
    assert not re.search(r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", "".join(answers))
    assert "owned" in answers[2]
    assert "exception" in answers[5]


def test_no_channel_of_a_stored_thread_controls_the_terminal(store: CheckpointStore) -> None:
    shown: list[str] = []
    debugger = Debugger(chain({"a": leaf([], "a"), "b": leaf([], "b")}), store)
    terminal = Terminal(debugger, shown.append)
    debugger.start(EMPTY, hold=False)
    first = store.writes("main")[-1]
    writes = [("\x1b]0;owned\x07", 1)] * 9
    store.put_writes(config_at("main", first.ns, first.checkpoint), writes, first.task)
    terminal.do("steps")
    assert "\\x1b]0;owned\\x07=1" in shown[-1]
    assert "\x1b" not in shown[-1]


FLOW = """
from typing import TypedDict
from langgraph.graph import START, StateGraph

class State(TypedDict):
    n: int

def add(state):
    return {"n": state["n"] + 1}

async def double(state):
    return {"n": state["n"] * 2}

def make(config):
    builder = StateGraph(State).add_node("add", add).add_node("double", double)
    return builder.add_edge(START, "add").add_edge("add", "double")
"""


def read_until(handle: int, wanted: str, seconds: float = 60) -> str:
    """Read a pseudo-terminal until it shows `wanted`."""
    found = ""
    end = time.monotonic() + seconds
    while wanted not in found and time.monotonic() < end:
        found += os.read(handle, 4096).decode()
    assert wanted in found, found
    return found


def test_the_command_line_in_a_pseudo_terminal(tmp_path: Path) -> None:
    (tmp_path / "flow.py").write_text(FLOW)
    outer, inner_end = pty.openpty()
    command = [sys.executable, "-m", "harness", "debug", "flow.py:make", "--input", '{"n": 1}']
    environment = {**os.environ, "HARNESS_CACHE": str(tmp_path / "cache"), "TERM": "dumb"}
    with subprocess.Popen(
        command, stdin=inner_end, stdout=inner_end, stderr=inner_end, cwd=tmp_path, env=environment
    ) as running:
        os.close(inner_end)
        assert "[step] add" in read_until(outer, "(debug) ")
        os.write(outer, b"st\t\n")
        read_until(outer, "(debug) ")
        os.write(outer, b"until double\n")
        read_until(outer, "(debug) ")
        os.write(outer, b"print n + 40\n")
        assert "42" in read_until(outer, "(debug) ")
        os.write(outer, b"c\n")
        assert '"n": 4' in read_until(outer, "(debug) ")
        os.write(outer, b"quit\n")
        assert running.wait(30) == 0
    os.close(outer)
    assert "until double" in (tmp_path / "cache" / "debug_history").read_text()


def harness(folder: Path, *arguments: str, lines: str = "") -> CompletedProcess[str]:
    """The command line with piped input."""
    return typed("debug", *arguments, cwd=folder, lines=lines)


def test_a_trajectory_is_played_back_from_the_command_line(tmp_path: Path) -> None:
    steps = [
        {"step_id": 1, "source": "user", "message": "Go."},
        {"step_id": 2, "source": "agent", "message": "Gone."},
    ]
    agent = {"name": "a", "version": "1"}
    whole = {"schema_version": "ATIF-v1.8", "trajectory_id": "t", "agent": agent, "steps": steps}
    (tmp_path / "t.json").write_text(json.dumps(whole))
    done = harness(tmp_path, "--trajectories", "t.json", "--item", "t", lines="step\nsteps\n")
    assert done.returncode == 0, done.stderr
    assert "[step] user  visit 1" in done.stdout
    assert "[step] agent  visit 1" in done.stdout


def test_a_stored_thread_is_opened_again(tmp_path: Path) -> None:
    (tmp_path / "flow.py").write_text(FLOW)
    started = ["flow.py:make", "--store", "kept.sqlite"]
    first = harness(tmp_path, *started, "--input", '{"n": 1, "m": 2}', lines="step\nquit\n")
    assert "the graph takes no m as input: left out" in first.stderr
    assert first.returncode == 0, first.stderr
    again = harness(tmp_path, *started, "--thread", "main", lines="step\n")
    assert again.stdout.startswith("[step] double")
    assert '"n": 4' in again.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected a graph"),
        (["flow.py:make"], "expected --input"),
        (["flow.py:nothing", "--input", "{}"], "defines no 'nothing'"),
        (["flow.py:State", "--input", "{}"], "expected a LangGraph graph"),
        (["flow.py:make", "--input", "[1"], "expected JSON"),
        (["flow.py:make", "--checkpoints", "absent.sqlite"], "found nothing at"),
        (["flow.py:make", "--input", "{}", "--web", "--terminal"], "expected one of"),
    ],
)
def test_bad_input_is_one_message_and_exit_2(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "flow.py").write_text(FLOW)
    done = harness(tmp_path, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_graphs_are_found_by_the_names_of_langgraph_json(tmp_path: Path) -> None:
    (tmp_path / "flow.py").write_text(FLOW)
    (tmp_path / "langgraph.json").write_text('{"graphs": {"mine": {"path": "./flow.py:make"}}}')
    done = harness(tmp_path, "mine", "--input", '{"n": 1}', lines="usage\n")
    assert done.stdout.startswith("[step] add"), done.stderr
    done = harness(tmp_path, "other", "--input", '{"n": 1}')
    assert (done.returncode, "langgraph.json (mine)" in done.stderr) == (2, True)
