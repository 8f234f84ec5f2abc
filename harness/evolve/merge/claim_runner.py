"""Runs programs that judge claims, inside a sandbox; nothing of the harness is imported.

Called as `python claim_runner.py`, beside `programs.json`: a list of {"program", "code"}. Every
program runs in a process and a folder of its own. The last line that is printed is JSON:
{"packages": {name: version}, "ends": [{"holds", "printed", "error"}]}.

A program may set `holds`; where it does not, an AssertionError refutes what it judges and an end
without an exception confirms it. `code` says that the program is code of a rule: it is wrong if it
does not parse, or misuses a name or a parameter; what else it raises is due to missing data.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import io
import json
import os
import re
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

# Processor seconds of a program, seconds on the clock for one that waits, characters printed.
SECONDS, LONGEST, PRINTED = 10, 60, 1500
EXCUSED = re.compile(r"NoneType|missing \d+ required")
MISUSE = (SyntaxError, AttributeError, TypeError, ImportError)


def judge(program: str, code: bool) -> dict[str, Any]:
    """Return a program's verdict on its claim."""
    names: dict[str, Any] = {"__name__": "__claim__"}
    holds: bool | None = None
    error = ""
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            exec(compile(program, "claim", "exec"), names)  # noqa: S102  # it is in a sandbox
        holds = names.get("holds", True)
    except BaseException as raised:  # noqa: BLE001  # SystemExit is an answer, too
        error = f"{type(raised).__name__}: {raised}"
        misused = code and isinstance(raised, MISUSE) and not EXCUSED.search(error)
        if isinstance(raised, AssertionError) or misused:
            holds = False
        if isinstance(raised, ModuleNotFoundError):
            holds = None
    holds = None if holds is None else bool(holds)
    return {"holds": holds, "printed": output.getvalue()[:PRINTED].strip(), "error": error}


def run(program: str, code: bool) -> dict[str, Any]:
    """Judge in a process of its own, in a new folder."""
    reader, writer = os.pipe()
    process = os.fork()
    if not process:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(LONGEST)
        os.chdir(tempfile.mkdtemp(dir="."))
        os.write(writer, json.dumps(judge(program, code)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        answer = stream.read()
    os.waitpid(process, 0)
    return json.loads(answer or '{"holds": null, "printed": "", "error": "it did not end"}')


def main() -> None:
    """Run all programs; packages are imported once, before the processes part."""
    programs = json.loads(Path("programs.json").read_text("utf-8"))
    text = "\n".join(row["program"] for row in programs if not row["code"])
    packages = {"python": sys.version.split()[0]}
    for name in sorted(set(re.findall(r"^\s*(?:from|import) (\w+)", text, re.M))):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
            packages[name] = importlib.metadata.version(name)
    ends = [run(row["program"], row["code"]) for row in programs]
    sys.stdout.write(json.dumps({"packages": packages, "ends": ends}) + "\n")


if __name__ == "__main__":
    main()
