"""The hooks and the action that other repositories use, run as they are written."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.core import assets

HOOKS: dict[str, dict[str, Any]] = {
    hook["id"]: hook
    for hook in yaml.safe_load((assets.root() / ".pre-commit-hooks.yaml").read_text())
}
BROKEN = "---\nname: Not A Name\n---\n"


def run(hook: str, folder: Path) -> int:
    """The exit code of a hook on the files that pre-commit would give it."""
    files = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    given = [name for name in sorted(files) if re.search(HOOKS[hook]["files"], name)]
    assert given
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    words = [*shlex.split(HOOKS[hook]["entry"]), *given]
    return subprocess.run(
        words, cwd=folder, env={**os.environ, "PATH": path}, check=False
    ).returncode


def test_valid_skills_pass_and_a_broken_one_does_not(tmp_path: Path) -> None:
    shutil.copytree(assets.root() / "skills", tmp_path / "skills")
    assert run("skill-validate", tmp_path) == 0
    (tmp_path / "skills" / "broken").mkdir()
    (tmp_path / "skills" / "broken" / "SKILL.md").write_text(BROKEN)
    assert run("skill-validate", tmp_path) == 1


@pytest.mark.wing("receipts")
def test_a_receipt_of_another_skill_is_noticed(tmp_path: Path) -> None:
    shutil.copytree(assets.root() / "skills", tmp_path / "skills")
    assert run("skill-verify", tmp_path) == 0
    skill = tmp_path / "skills" / "short-answers" / "SKILL.md"
    skill.write_text(skill.read_text() + "\n- Another rule.\n")
    assert run("skill-verify", tmp_path) == 1


def test_the_action_runs_its_command(tmp_path: Path) -> None:
    steps = yaml.safe_load((assets.root() / "action.yml").read_text())["runs"]["steps"]
    (script,) = (step["run"] for step in steps if "/.ci/action" in step.get("run", ""))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=tmp_path, check=True, capture_output=True, text=True,
        env={**os.environ, "PATH": path, "COMMAND": "init 'my suite' --json",
             "GITHUB_ACTION_PATH": str(assets.root())},
    )  # fmt: skip
    assert "my suite" in done.stdout
    assert (tmp_path / "my suite" / "suite.yaml").is_file()
