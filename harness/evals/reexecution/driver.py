"""Runs inside the sandbox, alone: scripts in order, each in a process of its own, files shared.

Standard library only, and no import of the harness: the interpreter may be another one. The slow
imports happen once, before the forks. Reads `plan.json` in the current folder and writes to
stdout a JSON list with, per script, null or the name of the exception that ended it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from typing import Any

PRELOADED = ("openpyxl", "pandas")


def main() -> None:
    """Run the plan: `{"root": str, "codes": [str, ...]}`."""
    with open("plan.json", encoding="utf-8") as file:
        plan: dict[str, Any] = json.load(file)
    # The folder of the recording machine lies below this one.
    codes = [code.replace(plan["root"], os.path.abspath("root")) for code in plan["codes"]]
    for module in PRELOADED:
        if any(module in code for code in codes):
            with contextlib.suppress(ImportError):
                importlib.import_module(module)
    print(json.dumps([run(code) for code in codes]))


def run(code: str) -> str | None:
    """Run one script in a fork; the name of the exception that ended it, or None."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        silence()
        error = evaluate(code)
        os.write(writer, (error or "").encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        error = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    return error or (None if status == 0 else "Killed")


def evaluate(code: str) -> str | None:
    """Execute as a notebook cell would: any exception ends this script and nothing else."""
    try:
        exec(compile(code, "<reply>", "exec"), {"__name__": "__main__"})
    except BaseException as error:
        return None if isinstance(error, SystemExit) else type(error).__name__
    return None


def silence() -> None:
    """What the script prints is not needed, and must not mix with the result."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    sys.stdin = open(os.devnull, encoding="utf-8")


if __name__ == "__main__":
    main()
