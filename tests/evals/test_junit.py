"""A run with a pass, a failure and an attempt without an outcome, as a build server reads it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

from click.testing import CliRunner

from harness.cli import cli

AGENT = "cmd:sh -c 'case \"$0\" in *two*) exit 3;; *) echo 4;; esac' {prompt}"
TASKS = [("one", "What is 2 + 2?", "4"), ("two", "two", "2"), ("three", "What is 1 + 2?", "3")]


def test_an_invalid_attempt_is_an_error_and_no_failure(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.jsonl"
    rows = [{"id": name, "prompt": asked, "answer": gold} for name, asked, gold in TASKS]
    tasks.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["eval", str(tasks), "--agent", AGENT, "--out", str(tmp_path / "run")]
    options = [
        "--sandbox",
        "none",
        "--model",
        "openai/none",
        "--base-url",
        "http://127.0.0.1:9",
        "--junit",
        str(tmp_path / "j.xml"),
    ]
    done = CliRunner().invoke(cli, [*command, *options])
    assert done.exit_code == 0, done.output
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()[0]
    assert suite.get("name") == "run"
    assert [suite.get(key) for key in ("tests", "failures", "errors")] == ["3", "1", "1"]
    found = {case.get("name"): case for case in suite}
    assert len(found["one"]) == 0
    assert float(found["one"].get("time", "-1")) > 0
    failure, error = found["three"][0], found["two"][0]
    assert (failure.tag, failure.text) == ("failure", "answer: 4")
    assert error.tag == "error"
    assert "exit code 3" in error.get("message", "")
