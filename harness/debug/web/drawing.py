"""A compiled graph as the page draws it: boxes, routes, and frames around sub-graphs."""

from __future__ import annotations

from typing import Any

from harness.debug.web.layout import HEIGHT, Placed, placed

_LETTER, _PADDING, _LEAST = 7.6, 26.0, 54.0
_FRAME = 12.0
ENDS = {"__start__": "start", "__end__": "end"}


def drawing(graph: Any) -> dict[str, Any]:
    """Nodes (with `where`, as breakpoints name them), edges and frames of a graph; JSON only.

    Sub-graphs are drawn inside, as far as LangGraph finds them.
    """
    found = graph.get_graph(xray=True)
    names = [str(node) for node in found.nodes]
    edges: dict[tuple[str, str], Any] = {}
    for edge in found.edges:
        edges.setdefault((str(edge.source), str(edge.target)), edge)
    widths = {name: max(_LEAST, len(_label(name)) * _LETTER + _PADDING) for name in names}
    placing = placed(widths, list(edges))
    return {
        "width": placing.width,
        "height": placing.height,
        "nodes": [_node(name, placing) for name in names],
        "edges": [
            {
                "source": source,
                "target": target,
                "conditional": bool(edge.conditional),
                "label": "" if edge.data is None else str(edge.data),
                "points": [list(point) for point in placing.routes[(source, target)]],
            }
            for (source, target), edge in edges.items()
        ],
        "frames": _frames(names, placing),
    }


def _label(name: str) -> str:
    return ENDS.get(name, name.rpartition(":")[2])


def _node(name: str, placing: Placed) -> dict[str, Any]:
    x, y, width = placing.boxes[name]
    return {
        "id": name,
        "label": _label(name),
        "where": name.replace(":", "/"),
        "kind": ENDS.get(name, "node"),
        "x": x - width / 2,
        "y": y - HEIGHT / 2,
        "width": width,
        "height": HEIGHT,
    }


def _frames(names: list[str], placing: Placed) -> list[dict[str, Any]]:
    """A frame around the nodes of every sub-graph; deeper ones are closer."""
    groups: dict[str, list[str]] = {}
    for name in names:
        parts = name.split(":")[:-1]
        for depth in range(1, len(parts) + 1):
            groups.setdefault(":".join(parts[:depth]), []).append(name)
    deepest = max((group.count(":") for group in groups), default=0)
    found: list[dict[str, Any]] = []
    for group, members in sorted(groups.items(), key=lambda item: item[0].count(":")):
        room = _FRAME * (1 + deepest - group.count(":")) / (1 + deepest)
        boxes = [placing.boxes[name] for name in members]
        left = min(x - width / 2 for x, _, width in boxes) - room
        right = max(x + width / 2 for x, _, width in boxes) + room
        top = min(y for _, y, _ in boxes) - HEIGHT / 2 - room
        bottom = max(y for _, y, _ in boxes) + HEIGHT / 2 + room
        frame = {"x": left, "y": top, "width": right - left, "height": bottom - top}
        found.append({"label": group.rpartition(":")[2], "where": group.replace(":", "/"), **frame})
    return found
