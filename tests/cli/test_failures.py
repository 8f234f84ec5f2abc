"""The table of failed attempts that `harness eval` prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.cli.failures import ROWS

AGENT = "def answer(prompt, workdir, skill):\n    return 'blue\\x1b[31m ' + 'long ' * 60\n"
COUNT = 14


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(AGENT)
    prompts = [f"Ticket {number}:\nthe\x1b]0;title parcel is late" for number in range(COUNT)]
    rows = [{"prompt": prompt, "answer": f"red {prompt[7:9]}"} for prompt in prompts]
    (tmp_path / "tickets.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_tasks_that_failed_are_shown_with_expected_and_answer(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    command = ["eval", "tickets.jsonl", "--agent", "py:agent.py:answer", "--model", "none"]
    ended = CliRunner().invoke(cli, [*command, "--out", "run"], catch_exceptions=False)
    lines = ended.stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("failed  "))
    rows = lines[start + 1 : start + 1 + ROWS]
    assert all("Ticket" in row and "red" in row and "blue" in row for row in rows)
    assert all(len(line) <= 90 for line in lines[start : start + 1 + ROWS])
    assert "\x1b" not in ended.stdout
    assert lines[start + 1 + ROWS] == f"{COUNT - ROWS} more: harness view run"
    again = CliRunner().invoke(cli, [*command, "--out", "run", "--json"], catch_exceptions=False)
    assert json.loads(again.stdout)["failed"] == COUNT


def test_a_check_that_cannot_judge_costs_no_attempt(folder: Path) -> None:
    (folder / "check.py").write_text("def judge(output, context):\n    return True\n")
    command = ["eval", "tickets.jsonl", "--agent", "py:agent.py:answer", "--model", "none"]
    ended = CliRunner().invoke(cli, [*command, "--check", "check.py:judge", "--out", "run"])
    assert ended.exit_code
    assert "expected any of answer, expected" in str(ended.exception)
    assert not (folder / "run").exists()
