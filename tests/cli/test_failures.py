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


def test_the_reason_of_an_own_check_is_shown_and_what_all_tasks_share_is_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    rows = [
        {"prompt": f"Which team answers this ticket: {word} is late"} for word in ("Tea", "Ink")
    ]
    (folder / "tickets.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "check.py").write_text(
        "def judge(answer):\n    return {'passed': False, 'reason': 'team: expected A, got B'}\n"
    )
    command = ["eval", "tickets.jsonl", "--agent", "py:agent.py:answer", "--model", "none"]
    ended = CliRunner().invoke(cli, [*command, "--check", "check.py:judge", "--out", "run"])
    assert (
        ended.stdout.partition("failed  ")[2].partition("\n\n")[0].count("team: expected A, got B")
        == 2
    )
    assert "…Tea is late" in ended.stdout and "…Ink is late" in ended.stdout


def test_a_check_is_found_from_the_working_folder(folder: Path) -> None:
    (folder / "own").mkdir()
    (folder / "own" / "check.py").write_text("def judge(answer):\n    return 'blue' in answer\n")
    (folder / "suite").mkdir()
    (folder / "tickets.jsonl").rename(folder / "suite" / "tickets.jsonl")
    command = ["eval", "suite/tickets.jsonl", "--agent", "py:agent.py:answer", "--model", "none"]
    command += ["--check", "own/check.py:judge", "--sandbox", "none", "--trust-checks"]
    ended = CliRunner().invoke(cli, [*command, "--out", "run"], catch_exceptions=False)
    assert f"passed {COUNT}" in ended.stdout


def test_the_rate_by_a_column_is_shown_and_a_misspelt_column_costs_no_attempt(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (folder / "triage.py").write_text("def answer(prompt, workdir, skill):\n    return 'billing'\n")
    rows = [
        {"prompt": f"Ticket {n}", "answer": team, "language": language}
        for n, (team, language) in enumerate(
            [("billing", "de"), ("Billing", "de "), ("refund", "de"), ("refund", "fr")]
        )
    ]
    (folder / "teams.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["eval", "teams.jsonl", "--agent", "py:triage.py:answer", "--model", "none"]
    wrong = CliRunner().invoke(cli, [*command, "--out", "run", "--by", "lang"])
    assert "has a column 'lang'" in str(wrong.exception)
    assert "'expected', 'language'" in str(wrong.exception)
    assert not (folder / "run").exists()
    ended = CliRunner().invoke(cli, [*command, "--out", "run", "--by", "language"])
    lines = [line.split() for line in ended.stdout.splitlines()]
    assert ["de", "2", "of", "3", "66.7%", "[20.8%,", "93.9%]", "1", "x", "billing"] in lines
    assert ["fr", "0", "of", "1", "0.0%", "[0.0%,", "79.3%]", "1", "x", "billing"] in lines
    again = CliRunner().invoke(cli, [*command, "--out", "run", "--by", "expected", "--json"])
    by = json.loads(again.stdout)["by"]
    assert [(row["value"], row["passed"], row["judged"]) for row in by] == [
        ("billing", 2, 2), ("refund", 0, 2),
    ]  # fmt: skip
    assert all(row["mean_score"] is None for row in by)
    # Where a check gives fractions, the mean counts; two runs are paired on each group.
    (folder / "marks.py").write_text("def half(answer, task):\n    return 0.5\n")
    command += ["--check", "marks.py:half"]
    scored = CliRunner().invoke(cli, [*command, "--out", "half", "--by", "language"])
    assert not scored.exception, scored.exception
    lines = [line.split() for line in scored.stdout.splitlines()]
    (german,) = [row for row in lines if row[:1] == ["de"]]
    assert german[:5] == ["de", "0", "of", "3", "50.0%"] and german[5].startswith("[")
    assert ["fr", "0", "of", "1", "50.0%", "1", "x", "billing"] in lines  # one task has no interval
    paired = CliRunner().invoke(cli, ["compare", "half", "run", "--by", "language"])
    lines = [line.split() for line in paired.stdout.splitlines()]
    assert [row[:5] for row in lines if row[:1] == ["de"]] == [
        ["de", "3", "0.0%", "66.7%", "+66.7%"]
    ]


def test_what_a_check_expected_and_got_fits_into_eighty_columns(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (folder / "json.py").write_text(
        'def answer(prompt, workdir, skill):\n    return \'{"team": "Billing"}\'\n'
    )
    rows = [
        {"prompt": f"Which team answers this ticket? {word}", "answer": {"team": "Escalation"}}
        for word in ("Parcel lost " * 9, "Lawyer involved " * 9)
    ]
    (folder / "teams.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["eval", "teams.jsonl", "--agent", "py:json.py:answer", "--model", "none"]
    ended = CliRunner().invoke(cli, [*command, "--out", "run"], catch_exceptions=False)
    shown = [line for line in ended.stdout.splitlines() if "…Parcel" in line or "…Lawyer" in line]
    assert len(shown) == 2 and all(len(line) <= 80 for line in shown)
    assert all("expected 'Escalation', got 'Billing'" in line for line in shown), ended.stdout
