"""`harness compress` with and without its first word."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import cli


def test_the_first_word_may_be_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "train"  # named like a command
    path.write_text("\n\n".join(f"Thing {number} is blue." for number in range(200)))
    given = ["--query", "thing 50", "--budget", "60", "--critic", "lexical", str(path)]
    short = CliRunner().invoke(cli, ["compress", *given])
    long = CliRunner().invoke(cli, ["compress", "keep", *given])
    assert short.exit_code == 0, short.output
    assert "Thing 50 is blue." in short.stdout
    assert short.stdout == long.stdout


@pytest.mark.parametrize("given", [["report.md"], ["--query", "x"], ["expand"], []])
def test_what_is_missing_is_named(given: list[str]) -> None:
    ran = CliRunner().invoke(cli, ["compress", *given])
    assert ran.exit_code == 2
    assert "Missing" in ran.output


def test_help_shows_options_and_commands() -> None:
    ran = CliRunner().invoke(cli, ["compress", "--help"])
    assert ran.exit_code == 0
    assert all(word in ran.output for word in ("--budget", "expand"))
