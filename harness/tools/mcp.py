"""Tools of MCP servers: `mcp:COMMAND` inside the sandbox, `mcp:URL` over HTTP.

`mcp[NAME,NAME]:...` offers only the tools that are named: small models choose badly among many. A
name with a dot or another sign that servers of models refuse is offered with `_` in its place. A
command is started anew for every call, so a server keeps between calls what it writes into the work
folder (`{workdir}` in the command), and nothing else. Source: modelcontextprotocol.io,
specification of 2026-07-28, with the official SDK.
"""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import shutil
import sys
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

from harness.core import BadInput, remove_tree
from harness.core.loops import run
from harness.core.plugins import require
from harness.tools import mcp_driver
from harness.tools.types import Arguments, Bench, Tool, ToolArgumentError

DRIVER, REQUEST = ".harness_mcp.py", ".harness_mcp.json"
LONGEST_NAME = 61
"""Servers of models take names of up to 64 characters; three are left for a number."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
LONGEST_DESCRIPTION = 1024
_SOURCE = Path(mcp_driver.__file__).read_bytes()
Listed = list[dict[str, Any]]
_LISTED: dict[tuple[str, str], Listed] = {}
"""Tools by server and sandbox: every attempt of a run asks for the same ones."""


def mcp_tools(name: str, bench: Bench) -> tuple[Tool, ...]:
    """The tools of a server.

    Args:
        name: `mcp:SERVER` or `mcp[TOOL,...]:SERVER`.
        bench: where its command runs.

    Raises:
        BadInput: if the SDK is missing, the server does not answer, or a named tool is not there.
    """
    base, _, server = name.partition(":")
    requested = base.partition("[")[2].rstrip("]").split(",") if "[" in base else []
    if not server.strip():
        raise BadInput(f"{name!r}: expected a command or an address behind 'mcp:'")
    key = (server, "" if bench.sandbox is None else bench.sandbox.name)
    if key not in _LISTED:
        try:
            _LISTED[key] = run(_ask(server, {"tool": None}, bench))["tools"]
        except ToolArgumentError as error:
            raise BadInput(str(error)) from error
    rows = {row["name"]: row for row in _LISTED[key]}
    if missing := [tool for tool in requested if tool.strip() not in rows]:
        raise BadInput(
            f"the MCP server {server!r} has no tool {missing[0]!r}: expected one of "
            f"{', '.join(rows) or 'none'}"
        )
    tools: dict[str, Tool] = {}
    for row in [rows[tool.strip()] for tool in requested] if requested else rows.values():
        plain = _NOT_IN_NAMES.sub("_", row["name"])[:LONGEST_NAME]
        numbered = (f"{plain}_{number}" for number in count(2))
        name = next(name for name in chain([plain], numbered) if name not in tools)
        tools[name] = Tool(
            name=name,
            description=str(row["description"])[:LONGEST_DESCRIPTION],
            parameters={"type": "object", "properties": {}, **row["parameters"]},
            run=partial(_call, server, row["name"]),
        )
    return tuple(tools.values())


async def _call(server: str, tool: str, arguments: Arguments, bench: Bench) -> str:
    reply = await _ask(server, {"tool": tool, "arguments": arguments}, bench)
    if reply["error"]:
        raise ToolArgumentError(reply["text"] or f"{tool} failed")
    return reply["text"] or "[No output]"


async def _ask(server: str, request: dict[str, Any], bench: Bench) -> dict[str, Any]:
    """The answer of a server.

    Raises:
        BadInput: if this takes what is not there: the SDK, a sandbox.
        ToolArgumentError: if the server cannot be started or reached, or breaks off.
    """
    require("mcp", "tools of MCP servers need the official SDK", extra="mcp")
    if server.startswith(("http://", "https://")):
        try:
            return await asyncio.wait_for(mcp_driver.answer(server, request), bench.limits.wall_s)
        except Exception as error:  # of a foreign server, through several libraries
            raise ToolArgumentError(_failed(server, f"{type(error).__name__}: {error}")) from error
    if bench.sandbox is None:
        raise BadInput("the command of an MCP server needs a sandbox: see `harness doctor`")
    words = [word.replace("{workdir}", str(bench.workdir)) for word in shlex.split(server)]
    words[0] = shutil.which(words[0], path=str(Path(sys.executable).parent)) or words[0]
    files = {DRIVER: _SOURCE, REQUEST: json.dumps({**request, "command": words}).encode()}
    result = await asyncio.to_thread(
        bench.sandbox.exec, [sys.executable, DRIVER, REQUEST], workdir=bench.workdir, files=files,
        limits=bench.limits,
    )  # fmt: skip
    for name in files:
        remove_tree(bench.workdir / name)
    try:
        reply: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    except (IndexError, ValueError) as error:
        why = result.limit or "\n".join(result.stderr.strip().splitlines()[-3:])
        raise ToolArgumentError(_failed(server, why)) from error
    return reply


def _failed(server: str, why: str) -> str:
    return f"the MCP server {server!r} does not answer: {why[:500]}"
