"""The source of a node: found in its file, changed there, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput
from harness.debug import load_graph, node_source, replace_source

FILE = '''"""A flow."""
import functools
from typing import TypedDict
from langgraph.graph import START, StateGraph

class State(TypedDict):
    n: int

def marked(function):
    @functools.wraps(function)
    def run(state):
        return function(state)
    return run

def make():
    @marked
    def add(state):
        return {"n": state["n"] + 1}

    builder = StateGraph(State).add_node("add", add).add_node("short", lambda state: {})
    builder.add_node("method", Tool())
    return builder.add_edge(START, "add").add_edge("add", "short").add_edge("short", "method")

class Tool:
    def __call__(self, state):
        return {}
'''


def test_a_function_is_found_and_changed_in_one_step(tmp_path: Path) -> None:
    file = tmp_path / "flow.py"
    file.write_text(FILE)
    file.chmod(0o640)
    found = node_source(load_graph(f"{file}:make"), "add", tmp_path)
    assert found.text.splitlines()[0] == "    @marked"
    assert (found.line, found.file) == (16, file)
    # Lines above it have come in the meantime: it is found by its name.
    file.write_text(f"# One line more\n{FILE}")
    found = node_source(load_graph(f"{file}:make"), "add", tmp_path)
    assert found.line == 17
    with pytest.raises(BadInput, match=r"flow.py, line 19: expected Python"):
        replace_source(found, found.text.replace("return {", "return ]"))
    assert file.read_text() == f"# One line more\n{FILE}"
    replace_source(found, found.text.replace("+ 1", "+ 2").rstrip())
    assert load_graph(f"{file}:make").invoke({"n": 1}) == {"n": 3}
    assert file.read_text() == f"# One line more\n{FILE}".replace("+ 1", "+ 2")
    assert (tmp_path / "flow.py.bak").read_text() == f"# One line more\n{FILE}"
    assert file.stat().st_mode & 0o777 == 0o640


def test_callable_objects_have_a_source_and_lambdas_have_none(tmp_path: Path) -> None:
    (tmp_path / "flow.py").write_text(FILE)
    graph = load_graph(f"{tmp_path / 'flow.py'}:make")
    assert "def __call__" in node_source(graph, "method", tmp_path).text
    with pytest.raises(BadInput, match="no function"):
        node_source(graph, "short", tmp_path)
    with pytest.raises(BadInput, match="expected a node that is a function, found 'absent'"):
        node_source(graph, "absent", tmp_path)


def test_files_outside_the_folder_are_not_touched(tmp_path: Path) -> None:
    from harness.core import assets

    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "flow.py").write_text(FILE)
    graph: Any = load_graph(f"{folder / 'flow.py'}:make")
    with pytest.raises(BadInput, match="outside"):
        node_source(graph, "add", tmp_path / "other")
    with pytest.raises(BadInput, match="outside"):
        node_source(assets.load_graph("react"), "think", folder)
