"""Progressive disclosure: the agent reads the files of a skill on demand."""

from __future__ import annotations

import asyncio
from pathlib import Path

from harness.tools.types import Arguments, Bench, Tool, ToolArgumentError, text_argument


async def _read(arguments: Arguments, bench: Bench) -> str:
    return await asyncio.to_thread(_contained_text, bench.skill, text_argument(arguments, "path"))


def _contained_text(skill: Path | None, relative: str) -> str:
    if skill is None:
        raise ToolArgumentError("there is no skill to read from")
    root = skill.resolve()
    path = (root / relative).resolve()
    if not path.is_relative_to(root) or not path.is_file():
        known = sorted(file.relative_to(root).as_posix() for file in root.rglob("*.*"))
        raise ToolArgumentError(f"no file {relative!r} in the skill; it has {', '.join(known)}")
    return path.read_text("utf-8", errors="replace")


READ_SKILL_FILE = Tool(
    name="read_skill_file",
    description="Read a file of the skill, such as SKILL.md or references/x.md.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string", "description": "Path inside the skill."}},
        "required": ["path"],
    },
    run=_read,
)
