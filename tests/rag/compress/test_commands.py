"""`harness compress` with and without its first word, and `harness compress train`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.core import BadInput
from tests.train.training_data import tiny_data, tiny_encoder


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
    assert all(word in ran.output for word in ("--budget", "expand", "train"))


def test_train_needs_data(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    options = ["--out", str(tmp_path / "out")]
    for data, message in ((tmp_path / "none", "expected a folder"), (tmp_path, "nq_oracle.jsonl")):
        ran = CliRunner().invoke(cli, ["compress", "train", "--data", str(data), *options])
        assert isinstance(ran.exception, BadInput)
        assert message in str(ran.exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_train_resumes_and_reports(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("onnx")
    tiny_encoder(tmp_path / "encoder")
    tiny_data(tmp_path / "data")
    options = [
        *("compress", "train", "--data", str(tmp_path / "data"), "--out", str(tmp_path / "out")),
        *("--encoder", str(tmp_path / "encoder"), "--windows", "40"),
    ]
    ran = CliRunner().invoke(cli, options)
    assert ran.exit_code == 0, ran.output
    assert "mean recall" in ran.stdout
    again = CliRunner().invoke(cli, options)
    assert "--resume" in str(again.exception)
    resumed = CliRunner().invoke(cli, [*options, "--resume", "--json"])
    assert resumed.exit_code == 0, resumed.output
    report = json.loads(resumed.stdout)
    assert report["manifest"]["options"]["windows"] == 40
    assert {path.name for path in (tmp_path / "out" / "weights").iterdir()} == {
        *("critic.onnx", "tokenizer.json", "report.json", "fusion.json"),
    }
