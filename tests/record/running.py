"""A command under the proxy of this process: what it printed, and the report."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.models import Budget
from harness.record import Plan, Report, find_upstream, run
from tests.record.provider import KEY

PYTHON = [sys.executable, "-c"]
KEYS = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": f"{KEY}-anthropic"}


@dataclass
class Done:
    """Result of a command."""

    report: Report
    output: str


def recorded(folder: Path, url: str, command: Sequence[str], budget: Budget | None = None) -> Done:
    """Record a command, which writes what it has to say to a file beside the recording."""
    return running(Plan(folder, find_upstream(url), budget or Budget()), command, KEYS)


def running(plan: Plan, command: Sequence[str], variables: Mapping[str, str]) -> Done:
    """Run a command with these variables beside those of this process."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        return _run(plan, command)


def again(folder: Path, command: Sequence[str]) -> Done:
    """Replay it, without any key."""
    with pytest.MonkeyPatch.context() as patch:
        for name in KEYS:
            patch.delenv(name, raising=False)
        return _run(Plan(folder, None, Budget()), command)


def _run(plan: Plan, command: Sequence[str]) -> Done:
    output = plan.folder.parent / "output.txt"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANGSMITH_TRACING", "false")
        report = run(plan, ["bash", "-c", '"$0" "$@" > ' + f"'{output}'", *command])
    return Done(report, output.read_text())
