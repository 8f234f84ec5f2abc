"""Runs inside the sandbox, alone: the scripts of one run, in order, as one notebook would.

All share one namespace: recorded runs use names that an earlier reply imported. (Their tracebacks
say `Cell In[1]` in every reply because that kernel kept no history.) An exception ends its script
and nothing else. Standard library only, and no import of the harness: the interpreter may be
another one. Reads `plan.json` in the current folder; writes to stdout a JSON list with, per script,
null or the name of the exception that ended it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def main() -> None:
    """Run the plan: `{"root": str, "codes": [str, ...]}`."""
    plan: dict[str, Any] = json.loads(Path("plan.json").read_text("utf-8"))
    result = silence()
    # The folder of the recording machine lies below this one.
    root = str(Path("root").resolve())
    namespace: dict[str, Any] = {"__name__": "__main__"}
    errors = [evaluate(code.replace(plan["root"], root), namespace) for code in plan["codes"]]
    os.write(result, json.dumps(errors).encode())


def evaluate(code: str, namespace: dict[str, Any]) -> str | None:
    """Execute one script; the name of the exception that ended it, or None."""
    try:
        exec(compile(code, "<reply>", "exec"), namespace)  # noqa: S102  # the sandbox is around us
    except BaseException as error:  # noqa: BLE001  # a notebook survives SystemExit, too
        return type(error).__name__
    return None


def silence() -> int:
    """Send what the scripts print to nowhere; a descriptor of the true stdout."""
    result = os.dup(1)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(null, 1)
    os.dup2(null, 2)
    return result


if __name__ == "__main__":
    main()
