"""A compiled graph as the page draws it: nodes, edges and frames around sub-graphs.

The page lays it out (`static/dagre.js`).
"""

from __future__ import annotations

from typing import Any

ENDS = {"__start__": "start", "__end__": "end"}


def drawing(graph: Any) -> dict[str, Any]:
    """Nodes (with `where`, as breakpoints name them), edges and frames of a graph; JSON only.

    Sub-graphs are drawn inside, as far as LangGraph finds them.
    """
    shape = graph.get_graph(xray=True)
    names = [str(node) for node in shape.nodes]
    edges: dict[tuple[str, str], Any] = {}
    for edge in shape.edges:
        edges.setdefault((str(edge.source), str(edge.target)), edge)
    parts = [name.split(":")[:-1] for name in names]
    frames = {":".join(part[: end + 1]) for part in parts for end in range(len(part))}

    def described(name: str) -> dict[str, Any]:
        outer, _, node = name.rpartition(":")
        label = ENDS.get(name, node)
        return {"id": name, "label": label, "where": name.replace(":", "/"), "frame": outer}

    return {
        "nodes": [{**described(name), "kind": ENDS.get(name, "node")} for name in names],
        "edges": [
            {
                "source": source,
                "target": target,
                "conditional": bool(edge.conditional),
                "label": "" if edge.data is None else str(edge.data),
            }
            for (source, target), edge in edges.items()
        ],
        "frames": [described(name) for name in sorted(frames)],
    }
