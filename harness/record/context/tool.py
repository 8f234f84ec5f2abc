"""The tool by which a model gets back what was left out; the proxy answers it itself."""

from __future__ import annotations

import json
from typing import Any

from harness.core import BadInput
from harness.rag.compress import Store
from harness.record.wires import Body, Call
from harness.trajectories.lenient import listing, mapping, string

NAME = "expand"
OTHER_NAME = "expand_left_out"
"""Where the agent has a tool of the first name already."""
_DESCRIPTION = (
    "Some tool results are shortened: a mark such as [… 812 tokens left out: expand 0a1b2c3d4e] "
    "stands for a part that seemed not to matter. This gives the part back, word for word, by "
    "its ID. Use it only with an ID that stands in a result."
)
_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "string", "description": "The ten characters of the mark."}},
    "required": ["id"],
    "additionalProperties": False,
}


def name_for(body: Body) -> str:
    """The tool's name in a request."""
    used = {_name(mapping(tool)) for tool in listing(body.get("tools"))}
    return OTHER_NAME if NAME in used else NAME


def _name(tool: Body) -> str:
    return string(tool.get("name")) or string(mapping(tool.get("function")).get("name"))


def offered(wire: str, body: Body, name: str) -> Body:
    """The request with the tool behind its own tools."""
    tools = [*listing(body.get("tools")), definition(wire, name)]
    return {**body, "tools": tools}


def without(tools: Any, name: str) -> list[Any]:
    """A list of tools without ours."""
    return [tool for tool in listing(tools) if _name(mapping(tool)) != name]


def definition(wire: str, name: str) -> Body:
    """The tool in a format."""
    if wire == "messages":
        return {"name": name, "description": _DESCRIPTION, "input_schema": _PARAMETERS}
    function = {"name": name, "description": _DESCRIPTION, "parameters": _PARAMETERS}
    if wire == "responses":
        return {"type": "function", **function, "strict": True}
    return {"type": "function", "function": function}


def answer(call: Call, store: Store) -> tuple[str, str]:
    """The ID that a call asks for, and its text; for one that is not known, what to do."""
    try:
        arguments: Any = json.loads(call.arguments or "{}")
    except ValueError:
        arguments = {}
    id_ = string(mapping(arguments).get("id")).strip()
    try:
        return id_, store.expand(id_)
    except BadInput:
        return id_, f"no part has the ID {id_!r}; use one that stands in a mark, or go on without"
