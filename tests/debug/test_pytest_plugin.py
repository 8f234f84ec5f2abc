"""`pytest --harness-debug`: a test of a user's, with what he types."""

from __future__ import annotations

import sys

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import asyncio
from typing import TypedDict
import pytest
from langgraph.graph import START, StateGraph

class State(TypedDict):
    n: int

TRIES = []

def add(state):
    return {"n": state["n"] + 1}

def fails(state):
    doubled = state["n"] * 2
    TRIES.append(doubled)
    if len(TRIES) < 2:
        raise ValueError(f"not {doubled}")
    return {"n": doubled}

def graph():
    builder = StateGraph(State).add_node("add", add).add_node("fails", fails)
    return builder.add_edge(START, "add").add_edge("add", "fails").compile()

def test_one():
    print("captured")
    assert graph().invoke({"n": 1}) == {"n": 4}

def test_two():
    TRIES.clear()
    assert asyncio.run(graph().ainvoke({"n": 2})) == {"n": 60}

def test_three():
    TRIES.clear()
    graph().invoke({"n": 3})
"""


@pytest.fixture(autouse=True)
def _alone(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]  # autouse
    monkeypatch.setenv("HARNESS_CACHE", str(pytester.path))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(test_it=TESTS)


def run(pytester: pytest.Pytester, typed: str, *options: str) -> pytest.RunResult:
    """The user's tests, in a process of their own."""
    plugin = ["-p", "harness.pytest_plugin", "--harness-debug"]
    command = [sys.executable, "-m", "pytest", *plugin, *options]
    return pytester.run(*command, stdin=typed.encode())


def test_it_stops_in_the_node_of_a_failing_test(pytester: pytest.Pytester) -> None:
    done = run(pytester, 'locals\nprint n * 100\nsteps\nretry\nserve {"n": 60}\n')
    done.stdout.fnmatch_lines(
        [
            "*harness debug: test_it.py::test_one*",
            "*exception* fails  visit 1, step 2",
            "*ValueError: not 4",
            "*  doubled = 4",
            "*200",
            "*no branch is open*",
            "*harness debug: test_it.py::test_two*",
            "*ValueError: not 6",
            "*harness debug: test_it.py::test_three*",
            "*E * ValueError: not 8",
        ]
    )
    done.assert_outcomes(passed=2, failed=1)  # the input was at its end: the third went on
    assert "captured" not in done.stdout.str()


def test_quit_lets_the_tests_go_on(pytester: pytest.Pytester) -> None:
    done = run(pytester, "quit\n")
    done.assert_outcomes(failed=3)
    assert done.stdout.str().count("harness debug: ") == 1


def test_it_needs_the_terminal(pytester: pytest.Pytester) -> None:
    refused = run(pytester, "", "-p", "xdist.plugin", "-n", "1")
    refused.stderr.fnmatch_lines(["*--harness-debug needs the terminal: run without -n*"])
