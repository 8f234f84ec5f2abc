"""A compiled graph as the page draws it: boxes, routes, and frames around sub-graphs.

The drawing is layered (Sugiyama et al. 1981): cycles are cut at the edges that a depth-first walk
finds going back; edges over several layers get a place in each; the mean of their neighbours
decides the order of nodes within a layer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise
from statistics import fmean
from typing import Any

GAP_X, GAP_Y = 28.0, 46.0
HEIGHT = 30.0
ENDS = {"__start__": "start", "__end__": "end"}
_SWEEPS = 6
_BEND = 8.0
"""Width of a place that only an edge runs through."""
_LETTER, _PADDING, _LEAST = 7.6, 26.0, 54.0
_FRAME = 12.0

Edge = tuple[str, str]
Point = tuple[float, float]


@dataclass(frozen=True)
class Placed:
    """A layout.

    Attributes:
        boxes: node -> centre x, centre y, width, in pixels; all have the height :data:`HEIGHT`.
        routes: edge -> points from the lower rim of its source to the upper rim of its target;
            an edge that goes back runs from rim to rim on the right.
        width: of everything.
        height: of everything.
    """

    boxes: Mapping[str, tuple[float, float, float]]
    routes: Mapping[Edge, tuple[Point, ...]]
    width: float
    height: float


def drawing(graph: Any) -> dict[str, Any]:
    """Nodes (with `where`, as breakpoints name them), edges and frames of a graph; JSON only.

    Sub-graphs are drawn inside, as far as LangGraph finds them.
    """
    shape = graph.get_graph(xray=True)
    names = [str(node) for node in shape.nodes]
    labels = {name: ENDS.get(name, name.rpartition(":")[2]) for name in names}
    edges: dict[Edge, Any] = {}
    for edge in shape.edges:
        edges.setdefault((str(edge.source), str(edge.target)), edge)
    widths = {name: max(_LEAST, len(labels[name]) * _LETTER + _PADDING) for name in names}
    layout = placed(widths, list(edges))
    return {
        "width": layout.width,
        "height": layout.height,
        "nodes": [
            {
                "id": name,
                "label": labels[name],
                "where": name.replace(":", "/"),
                "kind": ENDS.get(name, "node"),
                "x": x - width / 2,
                "y": y - HEIGHT / 2,
                "width": width,
                "height": HEIGHT,
            }
            for name, (x, y, width) in layout.boxes.items()
        ],
        "edges": [
            {
                "source": source,
                "target": target,
                "conditional": bool(edge.conditional),
                "label": "" if edge.data is None else str(edge.data),
                "points": [list(point) for point in layout.routes[(source, target)]],
            }
            for (source, target), edge in edges.items()
        ],
        "frames": _frames(names, layout),
    }


def _frames(names: list[str], layout: Placed) -> list[dict[str, Any]]:
    """A frame around the nodes of every sub-graph; deeper ones are closer."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        parts = name.split(":")[:-1]
        for depth in range(1, len(parts) + 1):
            groups[":".join(parts[:depth])].append(name)
    deepest = max((group.count(":") for group in groups), default=0)
    frames: list[dict[str, Any]] = []
    for group, members in sorted(groups.items(), key=lambda item: item[0].count(":")):
        room = _FRAME * (1 + deepest - group.count(":")) / (1 + deepest)
        boxes = [layout.boxes[name] for name in members]
        start = min(x - width / 2 for x, _, width in boxes) - room
        right = max(x + width / 2 for x, _, width in boxes) + room
        top = min(y for _, y, _ in boxes) - HEIGHT / 2 - room
        bottom = max(y for _, y, _ in boxes) + HEIGHT / 2 + room
        frames.append(
            {
                "label": group.rpartition(":")[2],
                "where": group.replace(":", "/"),
                "x": start,
                "y": top,
                "width": right - start,
                "height": bottom - top,
            }
        )
    return frames


def placed(widths: Mapping[str, float], edges: Sequence[Edge]) -> Placed:
    """Lay out nodes of these widths, the first one on top. Edges name them, each pair once.

    Nodes whose names share a beginning up to a colon (those of one sub-graph) stay side by side.
    """
    back = _going_back(list(widths), edges)
    ahead = [edge for edge in edges if edge not in back and edge[0] != edge[1]]
    layer = _layers(list(widths), ahead)
    rows: list[list[str]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for name in widths:
        rows[layer[name]].append(name)
    chains: dict[Edge, list[str]] = {}
    for source, target in ahead:
        # An edge's places in the layers between its nodes have a NUL in their names.
        between = {
            number: f"{source}\0{target}\0{number}"
            for number in range(layer[source] + 1, layer[target])
        }
        chains[source, target] = [source, *between.values(), target]
        for number, name in between.items():
            rows[number].append(name)
    links = [link for chain in chains.values() for link in pairwise(chain)]
    for sweep in range(_SWEEPS):
        _order(rows, links, down=sweep % 2 == 0)
    x = _columns(rows, links, widths)
    y = {
        name: number * (HEIGHT + GAP_Y) + HEIGHT for number, row in enumerate(rows) for name in row
    }
    boxes = {name: (x[name], y[name], width) for name, width in widths.items()}
    right = max((centre + width / 2 for centre, _, width in boxes.values()), default=0.0) + GAP_X
    routes: dict[Edge, tuple[Point, ...]] = {}
    for edge in edges:
        source, target = edge
        if edge in chains:
            inner = [(x[name], y[name]) for name in chains[edge][1:-1]]
            start, end = y[source] + HEIGHT / 2, y[target] - HEIGHT / 2
            routes[edge] = ((x[source], start), *inner, (x[target], end))
            continue
        right += GAP_X / 2
        shift = HEIGHT / 4 if source == target else 0.0
        start, end = y[source] + shift, y[target] - shift
        routes[edge] = (
            (x[source] + widths[source] / 2, start),
            (right, start),
            (right, end),
            (x[target] + widths[target] / 2, end),
        )
    return Placed(boxes, routes, right + GAP_X, max(y.values(), default=0.0) + HEIGHT)


def _going_back(names: Sequence[str], edges: Sequence[Edge]) -> set[Edge]:
    """Edges to a node that is on the walk already."""
    after: defaultdict[str, list[str]] = defaultdict(list)
    for source, target in edges:
        after[source].append(target)
    back: set[Edge] = set()
    finished: set[str] = set()
    for root in names:
        walk = {} if root in finished else {root: iter(after[root])}
        while walk:
            name, targets = next(reversed(walk.items()))
            target = next(targets, None)
            if target is None:
                finished.add(name)
                del walk[name]
            elif target in walk:
                back.add((name, target))
            elif target not in finished:
                walk[target] = iter(after[target])
    return back


def _layers(names: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """Longest way from a node without incoming edges; `edges` have no cycle."""
    before: dict[str, list[str]] = {name: [] for name in names}
    for source, target in edges:
        before[target].append(source)
    layer: dict[str, int] = {}
    for name in TopologicalSorter(before).static_order():
        layer[name] = max((layer[source] + 1 for source in before[name]), default=0)
    return layer


def _order(rows: list[list[str]], links: Sequence[Edge], *, down: bool) -> None:
    """Sort each row by where its neighbours in the row before (or behind) are."""
    near: defaultdict[str, list[str]] = defaultdict(list)
    for source, target in links:
        near[target if down else source].append(source if down else target)

    def group(name: str) -> str:
        return name.partition("\0")[0].rpartition(":")[0] or name

    for row in rows if down else rows[::-1]:
        position = {name: number for line in rows for number, name in enumerate(line)}
        mean = {name: fmean([position[n] for n in near[name]] or [position[name]]) for name in row}
        members: defaultdict[str, list[float]] = defaultdict(list)
        for name in row:
            members[group(name)].append(mean[name])
        centre = {name: fmean(means) for name, means in members.items()}
        row.sort(key=lambda name: (centre[group(name)], group(name), mean[name]))


def _columns(
    rows: Sequence[Sequence[str]], links: Sequence[Edge], widths: Mapping[str, float]
) -> dict[str, float]:
    """Centre of every place: near its neighbours' mean, in order and apart."""
    near: defaultdict[str, list[str]] = defaultdict(list)
    for source, target in links:
        near[source].append(target)
        near[target].append(source)
    half = {name: widths.get(name, _BEND) / 2 for row in rows for name in row}
    x: dict[str, float] = {}
    for row in rows:
        edge = 0.0
        for name in row:
            x[name] = edge + half[name]
            edge += 2 * half[name] + GAP_X
    for _ in range(_SWEEPS):
        for row in rows:
            # Wishes are moved apart as little as possible on the whole: pushed right, then centred.
            wishes = [fmean([x[n] for n in near[name]] or [x[name]]) for name in row]
            centres: list[float] = []
            for number, (name, wish) in enumerate(zip(row, wishes, strict=True)):
                least = wish
                if number:
                    least = centres[-1] + half[row[number - 1]] + half[name] + GAP_X
                centres.append(max(wish, least))
            pushed = (sum(centres) - sum(wishes)) / len(row)
            x.update(zip(row, (centre - pushed for centre in centres), strict=True))
    leftmost = min((centre - half[name] for name, centre in x.items()), default=0.0)
    return {name: centre - leftmost + GAP_X for name, centre in x.items()}
