"""What agents call: python and bash in the sandbox, and the files of a skill."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core import BadInput
from harness.tools.execution import BASH, PYTHON
from harness.tools.skill_file import READ_SKILL_FILE
from harness.tools.truncation import truncate
from harness.tools.types import Arguments, Bench, Tool, ToolArgumentError

TOOLS = {tool.name: tool for tool in (PYTHON, BASH, READ_SKILL_FILE)}

__all__ = ["TOOLS", "Arguments", "Bench", "Tool", "ToolArgumentError", "get_tools", "truncate"]


def get_tools(names: Sequence[str]) -> tuple[Tool, ...]:
    """Tools by name.

    Raises:
        BadInput: for a name that no tool has.
    """
    for name in names:
        if name not in TOOLS:
            raise BadInput(f"no tool {name!r}: expected one of {', '.join(TOOLS)}")
    return tuple(TOOLS[name] for name in names)
