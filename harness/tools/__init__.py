"""What agents call: python and bash in the sandbox, the files of a skill, and documents."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core import BadInput
from harness.core.plugins import load, plugins
from harness.tools.execution import BASH, PYTHON
from harness.tools.skill_file import READ_SKILL_FILE
from harness.tools.truncation import truncate
from harness.tools.types import Arguments, Bench, Tool, ToolArgumentError

TOOLS = {tool.name: tool for tool in (PYTHON, BASH, READ_SKILL_FILE)}

__all__ = [
    "TOOLS",
    "Arguments",
    "Bench",
    "Tool",
    "ToolArgumentError",
    "get_tools",
    "truncate",
]


def get_tools(names: Sequence[str]) -> tuple[Tool, ...]:
    """Tools by name, some with a setting: `search:lexical`, `context:compress:800`.

    Raises:
        BadInput: for a name that no tool has, or a setting that it does not know.
    """
    return tuple(map(_tool, names))


def _tool(name: str) -> Tool:
    base, _, setting = name.partition(":")
    if name in TOOLS:
        return TOOLS[name]
    if base in plugins("tools"):
        return load("tools", base)(base, setting)
    raise BadInput(f"no tool {name!r}: expected one of {', '.join([*TOOLS, *plugins('tools')])}")
