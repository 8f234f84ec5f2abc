"""The table of systems in docs/concepts/papers.md: its files are there, its commands run."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import click

from examples.objectives.proofs import PROOFS
from harness.cli import cli
from harness.core import assets

PAGE = (assets.root() / "docs/concepts/papers.md").read_text("utf-8").partition("## Systems of")[2]
ROWS = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| ")][1:]
COMMANDS = [re.findall(r"`([^`]+)`", cells[3])[0] for cells in ROWS]
SLOW = {"GD2PO", "DIR", "SoLoPO", "SiameseNorm"}


def test_places_and_checks_are_there() -> None:
    assert len(ROWS) == 27  # 26 systems; WebSailor has two
    paths = [path for cells in ROWS for path in re.findall(r"`([^`]+)`", cells[1] + cells[2])]
    assert len(paths) >= 2 * len(ROWS)
    assert [path for path in paths if not (assets.root() / path).exists()] == []


def test_commands_are_there() -> None:
    for command in COMMANDS:
        program, *words = command.split()
        if program == "harness":
            shown = cli.get_command(click.Context(cli), words[0])
            if isinstance(shown, click.Group):  # `harness eval` is `harness eval run`
                shown = shown.get_command(click.Context(shown), "run")
            assert shown is not None, command
            options = {
                name for option in shown.get_params(click.Context(shown)) for name in option.opts
            }
            assert {word for word in words if word.startswith("--")} <= options, command
        elif program == "pytest":
            assert (assets.root() / words[0]).is_file()
        elif program == "P":
            assert words[0] in PROOFS
        else:
            assert command == "python -m benchmarks.vision.premises"


def test_quick_proofs_run_from_the_table() -> None:
    names = [command.split()[1] for command in COMMANDS if command.startswith("P ")]
    assert set(names) > SLOW
    quick = [name for name in names if name not in SLOW]
    command = [sys.executable, "-m", "examples.objectives.proofs", "--seeds", "2", "--only", *quick]
    done = subprocess.run(command, cwd=assets.root(), capture_output=True, text=True, check=True)
    start = done.stdout.rindex('{\n "command"')
    proofs = json.loads(done.stdout[start:])["proofs"]
    assert list(proofs) == quick
    assert all(row["gain"] > 0 for row in proofs.values())
