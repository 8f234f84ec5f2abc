"""langgraph.json lists every graph, and each file keeps the contract of graph files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.core import assets

NAMES = sorted(path.stem for path in (assets.root() / "graphs").glob("*.py"))


def test_every_graph_is_listed(repository: Path) -> None:
    listed = json.loads((repository / "langgraph.json").read_text())["graphs"]
    assert listed == {name: f"./graphs/{name}.py:graph" for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_a_graph_file_exposes_graph_and_build(name: str) -> None:
    module = assets.load_module(assets.find(f"graphs/{name}.py"))
    nodes = set(assets.load_graph(name).get_graph().nodes)
    built = set(module.build().compile().get_graph().nodes)
    assert nodes == built
    assert len(nodes) > 2
