"""The table of systems in docs/concepts/papers.md: its files are there, its commands run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from math import isfinite
from pathlib import Path
from typing import Any

import pytest

from benchmarks.synth.fog import people
from examples.objectives.proofs import PROOFS
from harness.core import assets
from tests.typed import typed

PAGE = (assets.root() / "docs/concepts/papers.md").read_text("utf-8").partition("## Systems of")[2]
ROWS = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| ")][1:]
COMMANDS = [re.findall(r"`([^`]+)`", cells[3])[0] for cells in ROWS]
SLOW = ["GD2PO", "SiameseNorm"]
RECIPES = [name for name, (problem, _) in PROOFS.items() if isinstance(problem, str)]
"""Those that train in TRL."""
QUICK = [n[2:] for n in COMMANDS if n[:2] == "P " and n[2:] not in (*SLOW, *RECIPES)]
MODULES = {
    "python -m benchmarks.vision.premises": ("--seeds", "1"),
}
HERE = {"harness synth --kind fog": "people.csv", "harness synth --kind longdoc": "documents"}
ELSEWHERE = {
    "harness judge ROWS --method skill": "judge/test_command.py::test_the_other_methods_are_wired",
    "harness judge ROWS --method openrs": "judge/test_command.py::test_the_other_methods_are_wired",
    "harness speak FILE --out FILE": "speech/test_commands.py::test_a_text_is_spoken",
    "harness eval SUITE --agent AGENT --guard SPEC":
        "judge/test_guard_setting.py::test_the_agent_meets_the_guard_at_the_gateway",
    "harness synth --kind search": "synth/test_command.py::test_tasks_are_made_solved_kept_and_run",
}  # fmt: skip
"""Command -> the test that runs it."""
SCRIPT = [
    {"match": "Write one question", "text": '{"question": "Who built the lighthouse of Corvin, '
     'whose lamp came from the workshop of Harrow?", "answer": "Anselm Vogt"}'},
    {"match": "Empty", "text": "Answer: none"},
    {"text": "Answer: Anselm Vogt"},
]  # fmt: skip


def test_places_and_checks_are_there() -> None:
    assert len(ROWS) == 27  # 26 systems; WebSailor has two
    paths = [path for cells in ROWS for path in re.findall(r"`([^`]+)`", cells[1] + cells[2])]
    assert len(paths) >= 2 * len(ROWS)
    assert [path for path in paths if not (assets.root() / path).exists()] == []


def test_every_command_is_run_by_a_test() -> None:
    run = {*MODULES, *HERE, *ELSEWHERE, *(f"P {name}" for name in (*QUICK, *SLOW, *RECIPES))}
    others = {command for command in COMMANDS if command not in run}
    assert all(command.startswith("pytest tests/") for command in others), others
    for test in (*(command.split("tests/")[1] for command in others), *ELSEWHERE.values()):
        file, _, name = test.partition("::")
        assert f"def {name or 'test_'}" in (assets.root() / "tests" / file).read_text("utf-8"), test


def proofs_of(names: list[str], *options: str) -> dict[str, Any]:
    """Rows of the command of the table."""
    assert set(names) <= set(PROOFS)
    command = [sys.executable, "-m", "examples.objectives.proofs", *options, "--only", *names]
    done = subprocess.run(command, cwd=assets.root(), capture_output=True, text=True, check=True)
    start = done.stdout.rindex('{\n "command"')
    proofs = json.loads(done.stdout[start:])["proofs"]
    assert list(proofs) == names
    return proofs


@pytest.mark.parametrize("names", [QUICK, pytest.param(SLOW, marks=pytest.mark.full)])
def test_proofs_run_from_the_table(names: list[str]) -> None:
    assert all(row["gain"] > 0 for row in proofs_of(names, "--seeds", "2").values())


@pytest.mark.slow
@pytest.mark.parametrize("names", [RECIPES[:1], pytest.param(RECIPES, marks=pytest.mark.full)])
def test_recipes_in_trl_run_from_the_table(names: list[str]) -> None:
    pytest.importorskip("trl")
    for row in proofs_of(names, "--seeds", "1", "--steps", "2").values():
        assert all(isfinite(row[key]) for key in ("before", "control", "ours"))


@pytest.mark.parametrize("command", MODULES)
def test_modules_run_from_the_table(command: str) -> None:
    words = [sys.executable, *command.split()[1:], *MODULES[command]]
    assert subprocess.run(words, cwd=assets.root(), capture_output=True, check=True).stdout


@pytest.mark.parametrize("command", HERE)
def test_task_factories_run_from_the_table(tmp_path: Path, command: str) -> None:
    people(tmp_path / "people.csv")
    (tmp_path / "documents").symlink_to(assets.root() / "examples/jobs/documents")
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT))
    words = *command.split()[1:], "--from", HERE[command], "--n", "1", "--json"
    done = typed(*words, "--model", "scripted/script.json", "--out", "made", cwd=tmp_path)
    assert json.loads(done.stdout)["accepted"] == 1, done.stderr
