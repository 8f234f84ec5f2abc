"""The tools of the spine: python and bash in the sandbox, the files of a skill; tools by name."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.core import BadInput, remove_tree
from harness.core.plugins import load, plugins
from harness.sandbox import Result
from harness.tools.types import Arguments, Bench, Tool, ToolArgumentError, text_argument

SCRIPT = ".harness_script.py"
NO_OUTPUT = "[No output]"
LONGEST = 6000
KEPT_EACH_SIDE = 3000


async def _run(bench: Bench, command: Sequence[str], files: dict[str, bytes]) -> str:
    sandbox = bench.sandbox
    if sandbox is None:
        raise BadInput("this agent runs code and needs a sandbox: see `harness doctor`")
    scripts = skill_scripts(bench.skill)
    # Warnings of openpyxl about what it does not keep are long, and no model can act on them.
    env = {"PYTHONWARNINGS": "ignore"} | ({"PYTHONPATH": str(scripts)} if scripts else {})
    result = await asyncio.to_thread(
        sandbox.exec, command, workdir=bench.workdir, files=files, limits=bench.limits, env=env,
        readable=[scripts] if scripts else [],
    )  # fmt: skip
    remove_tree(bench.workdir / SCRIPT)
    return observation(result)


def observation(result: Result) -> str:
    """Format an execution for the model: output, then the exit code if it is not zero."""
    text = "\n".join(part.rstrip() for part in (result.stdout, result.stderr) if part.strip())
    if result.limit is not None:
        return f"{text}\n\n[Stopped: {result.limit} limit]".strip()
    if result.exit_code != 0:
        return f"{text}\n\n[Exit code: {result.exit_code}]".strip()
    return text or NO_OUTPUT


def skill_scripts(skill: Path | None) -> Path | None:
    """The folder of a skill's modules, which code in the sandbox may import; None without any.

    A link is not followed: it would let the skill's author open any folder to the sandbox.
    """
    folder = None if skill is None else skill.resolve() / "scripts"
    if folder is None or folder.is_symlink() or not any(folder.glob("*.py")):
        return None
    return folder


def truncate(text: str) -> str:
    """Keep the first and the last 3,000 of more than 6,000 characters.

    As in the reference (Trace2Skill, rollouts), so that recorded runs compare.
    """
    if len(text) <= LONGEST:
        return text
    elided = len(text) - 2 * KEPT_EACH_SIDE
    warning = (
        f"[WARNING: Output truncated. Showing first {KEPT_EACH_SIDE} and last {KEPT_EACH_SIDE} "
        f"characters. {elided} characters elided.]"
    )
    return f"{text[:KEPT_EACH_SIDE]}\n{warning}\n{text[-KEPT_EACH_SIDE:]}"


async def _read_skill_file(arguments: Arguments, bench: Bench) -> str:
    """Progressive disclosure: the agent reads the files of a skill on demand."""
    if bench.skill is None:
        raise ToolArgumentError("there is no skill to read from")
    relative, root = text_argument(arguments, "path"), bench.skill.resolve()
    path = (root / relative).resolve()
    if not path.is_relative_to(root) or not path.is_file():
        names = sorted(file.relative_to(root).as_posix() for file in root.rglob("*.*"))
        raise ToolArgumentError(f"no file {relative!r} in the skill; it has {', '.join(names)}")
    return await asyncio.to_thread(path.read_text, "utf-8", errors="replace")


PYTHON = Tool(
    name="python",
    description="Run a Python script in the work folder and return what it prints. Every call is "
    "a fresh process; files stay. openpyxl is installed.",
    parameters={
        "type": "object",
        "properties": {"code": {"type": "string", "description": "The whole script."}},
        "required": ["code"],
    },
    run=lambda arguments, bench: _run(
        bench, [sys.executable, SCRIPT], {SCRIPT: text_argument(arguments, "code").encode()}
    ),
)

BASH = Tool(
    name="bash",
    description="Run a shell command in the work folder and return its output.",
    parameters={
        "type": "object",
        "properties": {"command": {"type": "string", "description": "The command."}},
        "required": ["command"],
    },
    run=lambda arguments, bench: _run(
        bench, ["bash", "-c", text_argument(arguments, "command")], {}
    ),
)

READ_SKILL_FILE = Tool(
    name="read_skill_file",
    description="Read a file of the skill, such as SKILL.md or references/x.md.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string", "description": "Path inside the skill."}},
        "required": ["path"],
    },
    run=_read_skill_file,
)

TOOLS = {tool.name: tool for tool in (PYTHON, BASH, READ_SKILL_FILE)}


def is_remote(name: str) -> bool:
    """Return True if a tool's name is that of an MCP server which is reached over the network."""
    base, _, server = name.partition(":")
    return base.partition("[")[0] == "mcp" and server.startswith(("http://", "https://"))


def get_tools(names: Sequence[str], bench: Bench | None = None) -> tuple[Tool, ...]:
    """Tools by name, some with a setting: `search:lexical`, `mcp:mcp-server-time`.

    Args:
        names: of tools.
        bench: where servers of tools are started; without it there are none.

    Raises:
        BadInput: for a name that no tool has, a setting that it does not know, or two tools of one
            name.
    """
    tools: list[Tool] = []
    for name in dict.fromkeys(names):
        base, _, setting = name.partition(":")
        if name in TOOLS:
            tools.append(TOOLS[name])
        elif base.partition("[")[0] == "mcp" and bench is not None:
            from harness.tools.mcp import mcp_tools

            tools += mcp_tools(name, bench)
        elif base in plugins("tools"):
            tools.append(load("tools", base)(base, setting))
        else:
            names_of_tools = ", ".join([*TOOLS, *plugins("tools"), "mcp:SERVER"])
            raise BadInput(f"no tool {name!r}: expected one of {names_of_tools}")
    names_of_tools = [tool.name for tool in tools]
    if twice := next((name for name in names_of_tools if names_of_tools.count(name) > 1), None):
        raise BadInput(f"two tools are named {twice!r}: name those wanted, as in mcp[TOOL]:SERVER")
    return tuple(tools)
