"""docs/reference/commands.md is the help text of every command; it cannot drift.

After a change: HARNESS_UPDATE_DOCS=1 pytest tests/cli/test_reference.py
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from harness.cli import cli

pytestmark = pytest.mark.wing(
    "rag", "debug", "record", "receipts", "vision", "engines", "learn", "fleet", "train", "judge"
)

HEAD = "# Commands\n\nThe help text of every command, kept equal to the program by a test.\n"


def sections(command: click.Command, name: str, parent: click.Context | None) -> list[str]:
    # click caches a command's help option with the settings of its first context: use these.
    settings: dict[str, Any] = {
        **command.context_settings,
        "max_content_width": 90,
        "terminal_width": 90,
    }
    context = click.Context(command, info_name=name, parent=parent, **settings)
    found = [f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"]
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            loaded = command.get_command(context, child)
            assert loaded is not None
            found += sections(loaded, child, context)
    return found


def test_the_reference_is_the_help_text(repository: Path) -> None:
    # In a process of its own: a test that ran a subcommand alone has left its settings in click.
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.test_reference"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    )
    path = repository / "docs" / "reference" / "commands.md"
    if os.environ.get("HARNESS_UPDATE_DOCS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(done.stdout)
    assert path.read_text() == done.stdout


if __name__ == "__main__":
    sys.stdout.write("\n".join([HEAD, *sections(cli, "harness", None)]))
