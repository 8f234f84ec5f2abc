"""Drawings: what the page is told of a graph, and that a large one is laid out readably."""

from __future__ import annotations

import asyncio
import re
from itertools import combinations
from pathlib import Path

import harness.debug.web
from harness.debug.web.drawing import drawing
from tests.debug.web.agent import graph
from tests.debug.web.test_page import page_of

LARGE = """
from typing import TypedDict
from langgraph.graph import END, START, StateGraph

class State(TypedDict, total=False):
    n: int

def node(state):
    return {"n": 1}

def sub():
    inner = StateGraph(State)
    for number in range(3):
        inner.add_node(f"inner {number}", node)
    inner.add_edge(START, "inner 0").add_edge("inner 0", "inner 1").add_edge("inner 1", "inner 2")
    return inner.compile()

builder = StateGraph(State)
for number in range(48):
    builder.add_node(f"node {number}", sub() if number % 16 == 5 else node)
builder.add_edge(START, "node 0")
for number in range(1, 48):
    builder.add_edge(f"node {number // 2}" if number > 1 else "node 0", f"node {number}")
builder.add_conditional_edges("node 47", lambda state: END, ["node 3", "node 20", END])
graph = builder.compile()
"""
BOXES = """() => [...document.querySelectorAll("#graph .node rect")].map((box) => {
  const { x, y, width, height } = box.getBoundingClientRect();
  return [x, y, width, height];
})"""


def test_a_sub_graph_gets_a_frame_and_its_nodes_names_for_breakpoints() -> None:
    found = drawing(graph.compile())
    assert {node["where"] for node in found["nodes"]} >= {"plan", "work/read", "check", "write"}
    assert [(frame["where"], frame["frame"]) for frame in found["frames"]] == [("work", "")]
    (inner,) = [node for node in found["nodes"] if node["where"] == "work/read"]
    assert inner["frame"] == "work"
    conditional = {(e["source"], e["target"]) for e in found["edges"] if e["conditional"]}
    assert ("check", "write") in conditional and ("plan", "work:read") not in conditional


def test_a_graph_of_sixty_nodes_is_fitted_apart_and_zoomed(tmp_path: Path) -> None:
    (tmp_path / "large.py").write_text(LARGE)

    async def scenario() -> None:
        async with page_of(tmp_path, tmp_path / "large.py") as (page, _):
            frame = await page.locator("#graph").bounding_box()
            await page.get_by_role("button", name="Fit").click()
            boxes = await page.evaluate(BOXES)
            assert frame is not None and len(boxes) >= 56
            for x, y, width, height in boxes:
                assert frame["x"] - 1 <= x and x + width <= frame["x"] + frame["width"] + 1
                assert frame["y"] - 1 <= y and y + height <= frame["y"] + frame["height"] + 1
            for (x, y, w, h), (a, b, v, u) in combinations(boxes, 2):
                assert x + w <= a or a + v <= x or y + h <= b or b + u <= y
            await page.get_by_role("button", name="Zoom in").click()
            larger = await page.evaluate(BOXES)
            assert larger[0][2] > 1.2 * boxes[0][2]
            await page.get_by_role("button", name="Fit").click()
            assert abs((await page.evaluate(BOXES))[0][2] - boxes[0][2]) < 0.5

    asyncio.run(scenario())


def test_the_page_loads_ahead_what_its_modules_import() -> None:
    static = Path(harness.debug.web.__file__).parent / "static"
    needed, modules = set[str](), ["main.js"]
    for module in modules:
        imports = re.findall(r'^import .* from "\./(.+)";$', (static / module).read_text(), re.M)
        modules += [name for name in imports if name not in modules]
        needed |= {*imports}
    page = (static / "index.html").read_text()
    ahead = re.findall(r'<link rel="modulepreload" href="(.+)">', page)
    assert sorted(ahead) == sorted(needed)
