"""What agents call: python and bash in the sandbox, the files of a skill, and documents."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core import BadInput
from harness.tools.execution import BASH, PYTHON
from harness.tools.skill_file import READ_SKILL_FILE
from harness.tools.truncation import truncate
from harness.tools.types import Arguments, Bench, Tool, ToolArgumentError
from harness.tools.vision import VISION_TOOLS, vision_tool

TOOLS = {tool.name: tool for tool in (PYTHON, BASH, READ_SKILL_FILE)}
DOCUMENT_TOOLS = ("search", "read", "expand", "context")
"""Tools that look into documents; some take a setting: `search:lexical`, `context:compress:800`."""

__all__ = [
    "DOCUMENT_TOOLS",
    "TOOLS",
    "VISION_TOOLS",
    "Arguments",
    "Bench",
    "Tool",
    "ToolArgumentError",
    "get_tools",
    "truncate",
]


def get_tools(names: Sequence[str]) -> tuple[Tool, ...]:
    """Tools by name, with their settings.

    Raises:
        BadInput: for a name that no tool has, or a setting that it does not know.
    """
    return tuple(map(_tool, names))


def _tool(name: str) -> Tool:
    base, _, setting = name.partition(":")
    if base in DOCUMENT_TOOLS:
        from harness.tools.search import document_tool  # retrieval is loaded where it is used

        return document_tool(base, setting)
    if name in VISION_TOOLS:
        return vision_tool(name)
    if name not in TOOLS:
        known = ", ".join([*TOOLS, *DOCUMENT_TOOLS, *VISION_TOOLS])
        raise BadInput(f"no tool {name!r}: expected one of {known}")
    return TOOLS[name]
