"""Layered drawing of a directed graph (Sugiyama et al. 1981): layers, order, coordinates.

Cycles are cut at the edges that a depth-first walk finds going back; edges over several layers get
a place in each; neighbours' mean decides the order within a layer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

GAP_X, GAP_Y = 28.0, 46.0
HEIGHT = 30.0
_SWEEPS = 6
_BEND = 8.0
"""Width of a place that only an edge runs through."""

Edge = tuple[str, str]
Point = tuple[float, float]


@dataclass(frozen=True)
class Placed:
    """A drawing.

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


def placed(widths: Mapping[str, float], edges: Sequence[Edge]) -> Placed:
    """Draw nodes of these widths; the first one is on top. Edges name known nodes, each pair once.

    Nodes whose names share a beginning up to a colon (those of one sub-graph) stay side by side.
    """
    back = _going_back(list(widths), edges)
    ahead = [edge for edge in edges if edge not in back and edge[0] != edge[1]]
    layer = _layers(list(widths), ahead)
    chains = {edge: _chain(edge, layer) for edge in ahead}
    rows = _rows(list(widths), layer, chains.values())
    links = [link for chain in chains.values() for link in pairwise(chain)]
    for sweep in range(_SWEEPS):
        _order(rows, links, down=sweep % 2 == 0)
    x = _columns(rows, links, widths)
    y = {name: at * (HEIGHT + GAP_Y) + HEIGHT for at, row in enumerate(rows) for name in row}
    boxes = {name: (x[name], y[name], width) for name, width in widths.items()}
    right = max((cx + w / 2 for cx, _, w in boxes.values()), default=0.0) + GAP_X
    routes: dict[Edge, tuple[Point, ...]] = {}
    for edge in edges:
        if edge in chains:
            routes[edge] = _down(chains[edge], x, y)
        else:
            right += GAP_X / 2
            routes[edge] = _around(boxes[edge[0]], boxes[edge[1]], right)
    return Placed(boxes, routes, right + GAP_X, max(y.values(), default=0.0) + HEIGHT)


def _going_back(names: Sequence[str], edges: Iterable[Edge]) -> set[Edge]:
    """Edges to a node that is on the walk already."""
    after: dict[str, list[str]] = {name: [] for name in names}
    for source, target in edges:
        after[source].append(target)
    found: set[Edge] = set()
    done: set[str] = set()
    for root in names:
        walk = [(root, iter(after[root]))] if root not in done else []
        on = {root}
        while walk:
            name, rest = walk[-1]
            target = next(rest, None)
            if target is None:
                walk.pop()
                on.discard(name)
                done.add(name)
            elif target in on:
                found.add((name, target))
            elif target not in done:
                on.add(target)
                walk.append((target, iter(after[target])))
    return found


def _layers(names: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """Longest way from a node without incoming edges; `edges` have no cycle."""
    layer = dict.fromkeys(names, 0)
    incoming = {name: sum(target == name for _, target in edges) for name in names}
    free = [name for name in names if not incoming[name]]
    for name in free:
        for _, target in (edge for edge in edges if edge[0] == name):
            layer[target] = max(layer[target], layer[name] + 1)
            incoming[target] -= 1
            if not incoming[target]:
                free.append(target)
    return layer


def _chain(edge: Edge, layer: Mapping[str, int]) -> list[str]:
    """The edge's nodes with its places in the layers between; those have a NUL in their names."""
    source, target = edge
    between = range(layer[source] + 1, layer[target])
    return [source, *(f"{source}\0{target}\0{at}" for at in between), target]


def _rows(
    names: Sequence[str], layer: Mapping[str, int], chains: Iterable[Sequence[str]]
) -> list[list[str]]:
    rows: list[list[str]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for name in names:
        rows[layer[name]].append(name)
    for chain in chains:
        for at, name in enumerate(chain[1:-1], start=layer[chain[0]] + 1):
            rows[at].append(name)
    return rows


def _order(rows: list[list[str]], links: Sequence[Edge], *, down: bool) -> None:
    """Sort each row by where its neighbours in the row before (or behind) are."""
    near: dict[str, list[str]] = {}
    for source, target in links:
        near.setdefault(target if down else source, []).append(source if down else target)
    for row in rows if down else rows[::-1]:
        place = {name: at for one in rows for at, name in enumerate(one)}
        mean = {
            name: sum(place[other] for other in near[name]) / len(near[name])
            if near.get(name)
            else float(place[name])
            for name in row
        }
        groups: dict[str, list[float]] = {}
        for name in row:
            groups.setdefault(_group(name), []).append(mean[name])
        centre = {group: sum(found) / len(found) for group, found in groups.items()}
        row.sort(key=lambda name: (centre[_group(name)], _group(name), mean[name]))


def _group(name: str) -> str:
    head = name.partition("\0")[0]
    return head.rpartition(":")[0] or name


def _columns(
    rows: Sequence[Sequence[str]], links: Sequence[Edge], widths: Mapping[str, float]
) -> dict[str, float]:
    """Centre of every place: near its neighbours' mean, in order and apart."""
    near: dict[str, list[str]] = {}
    for source, target in links:
        near.setdefault(source, []).append(target)
        near.setdefault(target, []).append(source)
    x: dict[str, float] = {}
    for row in rows:
        at = 0.0
        for name in row:
            half = widths.get(name, _BEND) / 2
            x[name] = at + half
            at += 2 * half + GAP_X
    for _ in range(_SWEEPS):
        for row in rows:
            wish = [
                sum(x[other] for other in near[name]) / len(near[name]) if near.get(name)
                else x[name]
                for name in row
            ]  # fmt: skip
            halves = [widths.get(name, _BEND) / 2 for name in row]
            x.update(zip(row, _apart(wish, halves), strict=True))
    left = min((x[name] - widths.get(name, _BEND) / 2 for name in x), default=0.0)
    return {name: at - left + GAP_X for name, at in x.items()}


def _apart(wish: Sequence[float], halves: Sequence[float]) -> list[float]:
    """Wishes moved apart, as little as possible on the whole: pushed right, then centred."""
    found: list[float] = []
    for at, (want, half) in enumerate(zip(wish, halves, strict=True)):
        least = found[-1] + halves[at - 1] + half + GAP_X if found else want
        found.append(max(want, least))
    pushed = sum(found) - sum(wish)
    return [at - pushed / len(found) for at in found] if found else []


def _down(
    chain: Sequence[str], x: Mapping[str, float], y: Mapping[str, float]
) -> tuple[Point, ...]:
    first, last = chain[0], chain[-1]
    inner = [(x[name], y[name]) for name in chain[1:-1]]
    return ((x[first], y[first] + HEIGHT / 2), *inner, (x[last], y[last] - HEIGHT / 2))


def _around(
    source: tuple[float, float, float], target: tuple[float, float, float], right: float
) -> tuple[Point, ...]:
    shift = HEIGHT / 4
    start = (source[0] + source[2] / 2, source[1] + (shift if source == target else 0.0))
    end = (target[0] + target[2] / 2, target[1] - (shift if source == target else 0.0))
    return (start, (right, start[1]), (right, end[1]), end)
