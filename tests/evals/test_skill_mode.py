"""Reports tell a preloaded skill from a discovered one."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.api import compare_runs
from harness.cli import cli
from harness.evals import read_report


def test_a_command_that_never_sees_the_skill_is_no_run_with_it(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text('{"id": "a", "prompt": "?", "answer": "3"}\n')
    words = ["eval", str(tasks), "--sandbox", "none", "--model", "simulated/librarian"]
    words += ["--skill", "skills/short-answers"]
    for dry in ([], ["--dry-run"]):
        command = [*words, "--agent", "cmd:echo 3", "--out", str(tmp_path / "run"), *dry]
        refused = CliRunner().invoke(cli, command)
        assert "'cmd:echo 3 {skill}'" in str(refused.exception)
        assert not (tmp_path / "run").exists()
    command = [*words, "--agent", "cmd:echo 3", "--out", str(tmp_path / "run")]
    assert CliRunner().invoke(cli, [*command, "--skill-mode", "discovered"]).exit_code == 0


@pytest.mark.parametrize("skill", [True, False])
def test_reports_show_how_the_skill_was_given(skill: bool, tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(
        '{"id": "a", "prompt": "Text: Ada is 3.\\nQuestion: How old is Ada?", "answer": "3"}\n'
    )
    runs: dict[str, Path] = {}
    for mode in ("preloaded", "discovered"):
        runs[mode] = tmp_path / mode
        words = ["eval", str(tasks), "--model", "simulated/librarian", "--out", str(runs[mode])]
        words += ["--skill-mode", mode, *(["--skill", "skills/short-answers"] if skill else [])]
        done = CliRunner().invoke(cli, words)
        assert done.exit_code == 0, done.output
        assert (f"skill short-answers ({mode})" in done.output) is skill
        assert ("skill none:" in done.output) is not skill
        assert read_report(runs[mode]).skill_mode == (mode if skill else None)
    assert "skill_mode" in compare_runs(*runs.values()).differs
