"""Git as a program that runs no hooks, asks nothing and speaks only protocols that are named."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from harness.core.errors import BadInput

_ASIDE = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0")
_SILENT = {
    "GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
}  # fmt: skip


def git(folder: Path, *words: str, protocols: str = "none", seconds: int = 120) -> str:
    """Run a git command and return its output.

    Args:
        folder: in which it runs.
        words: the command.
        protocols: by which it may fetch. A repository says by which program a missing object is
            fetched: git would run it.
        seconds: that it may take.

    Raises:
        BadInput: if git is missing, the command fails or takes too long.
    """
    try:
        process = subprocess.run(
            ["git", *_ASIDE, "-C", str(folder), *words],
            capture_output=True, text=True, errors="replace", timeout=seconds, check=False,
            env={**os.environ, **_SILENT, "GIT_ALLOW_PROTOCOL": protocols},
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise BadInput("git is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise BadInput(f"git {words[0]} took more than {seconds} s") from error
    if process.returncode:
        tail = process.stderr.strip().splitlines()[-1:] or ["no message"]
        raise BadInput(f"git {words[0]}: {tail[0][:200]}")
    return process.stdout.strip()
