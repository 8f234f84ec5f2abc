"""Drawings: everything is placed, nothing overlaps, edges run downwards unless they go back."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from harness.debug.web.drawing import HEIGHT, drawing, placed
from tests.debug.web.agent import graph

NAMES = [f"n{k}" for k in range(9)]
EDGE = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES))
EDGES = st.lists(EDGE, unique=True, max_size=25)
NEAR = 1e-6


@given(EDGES, st.lists(st.integers(30, 200), min_size=9, max_size=9))
def test_boxes_are_apart_and_routes_touch_their_ends(
    edges: list[tuple[str, str]], widths: list[int]
) -> None:
    found = placed({name: float(w) for name, w in zip(NAMES, widths, strict=True)}, edges)
    assert found.boxes.keys() == set(NAMES) and found.routes.keys() == set(edges)
    for (x, y, w), (a, b, v) in combinations(found.boxes.values(), 2):
        assert abs(y - b) >= HEIGHT or abs(x - a) >= (w + v) / 2 - NEAR
    for (source, target), points in found.routes.items():
        for name, (x, y) in ((source, points[0]), (target, points[-1])):
            cx, cy, width = found.boxes[name]
            assert abs(x - cx) <= width / 2 + NEAR and abs(y - cy) <= HEIGHT / 2 + NEAR
        assert all(0 <= x <= found.width and 0 <= y <= found.height for x, y in points)


def test_a_chain_runs_down_and_a_loop_goes_around() -> None:
    widths = dict.fromkeys("abc", 60.0)
    found = placed(widths, [("a", "b"), ("b", "c"), ("c", "a"), ("b", "b")])
    assert [found.boxes[name][1] for name in "abc"] == sorted(
        found.boxes[name][1] for name in "abc"
    )
    assert found.routes[("a", "b")][0][1] < found.routes[("a", "b")][1][1]
    assert len(found.routes[("c", "a")]) == len(found.routes[("b", "b")]) == 4


def test_a_sub_graph_gets_a_frame_and_its_nodes_names_for_breakpoints() -> None:
    found = drawing(graph.compile())
    assert {node["where"] for node in found["nodes"]} >= {"plan", "work/read", "check", "write"}
    [frame] = found["frames"]
    [inner] = [node for node in found["nodes"] if node["where"] == "work/read"]
    assert frame["where"] == "work"
    assert frame["x"] < inner["x"] and frame["y"] < inner["y"]
    assert frame["x"] + frame["width"] > inner["x"] + inner["width"]
    conditional = {(e["source"], e["target"]) for e in found["edges"] if e["conditional"]}
    assert ("check", "write") in conditional and ("plan", "work:read") not in conditional
