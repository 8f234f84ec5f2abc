"""Tools that run model-written code, always in the sandbox."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from harness.core import BadInput
from harness.sandbox import Result
from harness.tools.types import Arguments, Bench, Tool, text_argument

SCRIPT = ".harness_script.py"


async def _python(arguments: Arguments, bench: Bench) -> str:
    code = text_argument(arguments, "code")
    return await _run(bench, [sys.executable, SCRIPT], {SCRIPT: code.encode()})


async def _bash(arguments: Arguments, bench: Bench) -> str:
    return await _run(bench, ["bash", "-c", text_argument(arguments, "command")], {})


async def _run(bench: Bench, command: Sequence[str], files: dict[str, bytes]) -> str:
    sandbox = bench.sandbox
    if sandbox is None:
        raise BadInput("this agent runs code and needs a sandbox: see `harness doctor`")
    result = await asyncio.to_thread(
        sandbox.exec, command, workdir=bench.workdir, files=files, limits=bench.limits
    )
    (bench.workdir / SCRIPT).unlink(missing_ok=True)
    return observation(result)


def observation(result: Result) -> str:
    """What the model sees of an execution: output, then the exit code if it is not zero."""
    text = "\n".join(part.rstrip() for part in (result.stdout, result.stderr) if part.strip())
    if result.limit is not None:
        return f"{text}\n\n[Stopped: {result.limit} limit]".strip()
    if result.exit_code != 0:
        return f"{text}\n\n[Exit code: {result.exit_code}]".strip()
    return text or "[No output]"


PYTHON = Tool(
    name="python",
    description="Run a Python script in the work folder and return what it prints. Every call is "
    "a fresh process; files stay. openpyxl is installed.",
    parameters={
        "type": "object",
        "properties": {"code": {"type": "string", "description": "The whole script."}},
        "required": ["code"],
    },
    run=_python,
)

BASH = Tool(
    name="bash",
    description="Run a shell command in the work folder and return its output.",
    parameters={
        "type": "object",
        "properties": {"command": {"type": "string", "description": "The command."}},
        "required": ["command"],
    },
    run=_bash,
)
