"""Runs programs, each in a process forked from this one: a script that stands alone.

It runs inside the sandbox, in a folder with `trials.json`: modules to import once, programs, and
trials as [folder, folder of the inputs, index of the program, values]. A trial leaves its work
folder, its printed text in FOLDER.out, and a line "FOLDER CODE" on the standard output.
"""

import contextlib
import importlib
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from types import CodeType
from typing import Any


def attempt(folder: str, code: CodeType, values: dict[str, Any], seconds: int) -> int:
    """Run a program in a folder; return its exit code, negative for a signal."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        signal.alarm(seconds)
        printed = os.open(folder + ".out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(printed, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.chdir(folder)
        exec(code, {"__name__": "__main__", **values})  # noqa: S102  # inside the sandbox
        sys.stdout.flush()
        status = 0
    except SystemExit as ending:
        sys.stdout.flush()
        status = 0 if ending.code in (None, 0) else 1
    finally:
        os._exit(status)


def main() -> None:
    """Run the trials of the plan, one after the other."""
    plan: dict[str, Any] = json.loads(Path("trials.json").read_text("utf-8"))
    for name in plan["modules"]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    programs: list[CodeType] = [compile(text, "<program>", "exec") for text in plan["programs"]]
    trials: list[tuple[str, str, int, dict[str, Any]]] = plan["trials"]
    for folder, inputs, index, values in trials:
        shutil.copytree(inputs, folder)
        print(folder, attempt(folder, programs[index], values, plan["seconds"]), flush=True)


if __name__ == "__main__":
    main()
