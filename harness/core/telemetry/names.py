"""Short names of what is watched."""

from __future__ import annotations

import shlex
from pathlib import PurePath

from harness.core.redaction import redact
from harness.core.signals import Operation


def name_of(operation: Operation) -> str:
    """The name of an operation; of an agent that is a command, the program alone.

    A command line may hold paths and keys, and a name that differs for everyone groups nothing.
    """
    kind, colon, rest = operation.name.partition(":")
    if operation.kind != "invoke_agent" or kind != "cmd" or not colon:
        return redact(operation.name)
    try:
        program = next(iter(shlex.split(rest)), "")
    except ValueError:  # an open quote
        program = ""
    return f"cmd:{PurePath(program).name}"
