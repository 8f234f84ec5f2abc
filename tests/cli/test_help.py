"""`harness --help` imports no room; every command in the table exists and has an example."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from harness.cli import INTENTS, cli
from harness.core import BadInput

ROOMS = ("models", "sandbox", "skills", "trajectories", "tasks", "agents", "evals", "evolve")


def test_help_imports_no_room() -> None:
    program = (
        "import sys\nsys.argv = ['harness', '--help']\n"
        "from harness.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('|'.join(sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "Measure:" in done.stdout
    loaded = set(done.stderr.strip().split("|"))
    heavy = {"pydantic", "openai", "langgraph", "numpy", "httpx", "jinja2"}
    assert not loaded & heavy
    # A face alone costs nothing: it loads its members when they are asked for.
    assert not {name for name in loaded for room in ROOMS if name.startswith(f"harness.{room}.")}


def test_a_plugin_that_does_not_load_leaves_help_standing(tmp_path: Path) -> None:
    metadata = tmp_path / "broken_wing-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-wing\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[harness.commands]\nmend = absent_wing:mend\n")
    done = subprocess.run(
        [sys.executable, "-m", "harness", "--help"], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{Path.cwd()}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Measure:" in done.stdout
    assert "does not load" in done.stdout


def commands(command: click.Command, name: str) -> list[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        return [(name, command)]
    context = click.Context(command)
    found: list[tuple[str, click.Command]] = []
    for child in command.list_commands(context):
        loaded = command.get_command(context, child)
        assert loaded is not None
        found += commands(loaded, f"{name} {child}".strip())
    return found


@pytest.mark.parametrize(("name", "command"), commands(cli, ""))
def test_every_command_has_help_with_an_example(name: str, command: click.Command) -> None:
    assert command.help, name
    assert "Example:" in command.help, name
    assert f"harness {name}" in command.help, name


def test_help_names_the_page_that_explains_the_words(repository: Path) -> None:
    (page,) = re.findall(r"docs/\w+\.md", CliRunner().invoke(cli, ["--help"]).output)
    words = re.findall(r"^\| \*\*([\w ]+)\*\* \| \w", (repository / page).read_text(), re.MULTILINE)
    asked = {"receipt", "look", "unit", "rung", "habit", "stratum", "detectable lift"}
    assert asked <= set(words) and len(words) >= 10
    linking = [path for path in (repository / "docs").rglob("*.md") if page[5:] in path.read_text()]
    assert len(linking) >= 4, linking


def test_every_command_of_the_table_loads() -> None:
    context = click.Context(cli)
    for group in INTENTS.values():
        for name in group:
            assert cli.get_command(context, name) is not None


def test_an_unknown_command_is_bad_input() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "harness", "no-such"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "no-such" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "meant"),
    [(["evl"], "eval"), (["skill", "shw"], "show"), (["runs", "lst"], "list")],
)
def test_a_misspelt_command_gets_a_suggestion(words: list[str], meant: str) -> None:
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 2
    assert result.output.count(f"Did you mean '{meant}'?") == 1


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["eval", "demoo"], "did you mean 'demo'?"),
        pytest.param(
            ["models", "serve", "simulated/lookup"],
            "simulated/ models need no server",
            marks=pytest.mark.wing("engines"),
        ),
    ],
)
def test_a_refusal_says_what_to_give(words: list[str], reason: str) -> None:
    error = CliRunner().invoke(cli, words).exception
    assert isinstance(error, BadInput)
    assert reason in str(error)


def test_commands_on_trajectories_say_what_they_do_and_to_what() -> None:
    text = CliRunner().invoke(cli, ["trajectories", "--help"]).output
    assert "PATH is a store, a run folder, the side of a gate" in " ".join(text.split())
    for verb in ("Read logs", "Write them", "List them", "Show the messages", "Count them"):
        assert f"  {verb}" in text
