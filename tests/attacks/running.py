"""The real command line, and suites for it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.typed import typed

KEY = "sk-storm-0123456789abcdef"
"""That no page, file or message may hold."""


def command(
    *words: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, as the installed program does: the folder is not on its path."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "harness", *map(str, words)],
        cwd=cwd, env={**os.environ, "OPENAI_API_KEY": KEY, **(env or {})},
        capture_output=True, text=True, errors="replace", check=False, timeout=240,
    )  # fmt: skip


def in_time(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in this process; one that reads without end fails the test."""

    def late(*_: object) -> None:
        pytest.fail("more than 240 s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(240)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENAI_API_KEY", KEY)
            return typed(*words, cwd=cwd)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def suite_of(folder: Path, rows: Sequence[Mapping[str, Any]], **head: Any) -> Path:
    """Write a suite; returns its folder."""
    folder.mkdir(parents=True)
    (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "suite.yaml").write_text(json.dumps({"name": "s", "tasks": "tasks.jsonl", **head}))
    return folder
