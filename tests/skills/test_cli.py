"""The command group, as a user drives it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from zipfile import is_zipfile

import pytest
from click.testing import CliRunner

from harness.cli.skill.commands import skill
from harness.core import Refused
from harness.skills import new_skill, write_skill


def call(*arguments: str) -> str:
    result = CliRunner().invoke(skill, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_validate_and_show(repository: Path) -> None:
    folder = str(repository / "skills/spreadsheet-basics")
    assert json.loads(call("validate", folder, "--json")) == {"valid": True, "problems": []}
    shown = json.loads(call("show", folder, "--json"))
    assert shown["skill_tokens"] < 1000
    assert "Look" in call("show", folder)


def test_an_invalid_skill_exits_5_with_places(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text("---\nname: Bad\ndescription: d\n---\n# T\n")
    result = CliRunner().invoke(skill, ["validate", str(tmp_path)])
    assert isinstance(result.exception, Refused)
    assert result.exception.exit_code == 5
    assert "error: SKILL.md:2: name 'Bad'" in result.stdout


def test_scripts_are_tried_only_when_asked_for(tmp_path: Path) -> None:
    bad = replace(
        new_skill("a-skill", "d", "\n# A\n\nRun `scripts/a.py`.\n"),
        files={"scripts/a.py": b"def f(:"},
    )
    write_skill(bad, tmp_path / "a-skill")
    call("validate", str(tmp_path / "a-skill"))
    with pytest.raises(Refused, match="1 errors"):
        call("validate", str(tmp_path / "a-skill"), "--run-scripts")


def test_install_export_and_diff(repository: Path, tmp_path: Path) -> None:
    folder = str(repository / "skills/spreadsheet-basics")
    call("install", folder, "--into", str(tmp_path))
    again = json.loads(call("install", folder, "--into", str(tmp_path), "--json"))
    assert {one["status"] for one in again} == {"unchanged"}
    archive = tmp_path / "spreadsheet-basics.skill"
    printed = call("export", folder, "--target", "zip", "--out", str(tmp_path))
    assert (
        f"written: {archive} (a ZIP archive)\nlock file: {tmp_path}/harness-skills.lock.json"
        in printed
    )
    assert is_zipfile(archive)
    copy = str(tmp_path / ".agents/skills/spreadsheet-basics")
    assert json.loads(call("diff", folder, copy, "--json"))["equal"] is True


@pytest.mark.parametrize("command", ["validate", "show", "diff", "explain", "export", "install"])
def test_every_command_has_help_with_an_example(command: str) -> None:
    assert f"Example: harness skill {command}" in call(command, "--help")
