"""A trusted agent is no trusted judge: what a model wrote is judged in the sandbox."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from harness.api import EvalSettings, run_evaluation
from harness.evals import records
from tests.backends import available_backend

KEY = "sk-of-the-host"
LEFT = """
import os, unittest
class Planted(unittest.TestCase):
    def test(self):
        open({outside!r}, "w").write(os.environ.get("HOST_KEY", ""))
"""


@pytest.fixture(params=["bubblewrap", "landlock"])
def rung(request: pytest.FixtureRequest) -> str:
    return available_backend(request.param)


@pytest.fixture
def fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A suite whose agent leaves a test, as a model would; its check runs tests."""
    monkeypatch.setenv("HOST_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "left.py").write_text(LEFT.format(outside=str(tmp_path / "outside")))
    row = {"id": "t", "prompt": "p", "check": "{python} -m unittest -q"}
    (folder / "tasks.jsonl").write_text(json.dumps(row))
    agent = "cmd:sh -c " + shlex.quote("cp {suite}/left.py test_left.py; echo done")
    (folder / "suite.yaml").write_text(f"name: s\ntasks: tasks.jsonl\nagent: {json.dumps(agent)}\n")
    return {
        "suite": str(folder / "suite.yaml"), "models": ("openai/x",), "out": tmp_path / "run",
        "base_url": "http://127.0.0.1:9/v1", "trust": True,
    }  # fmt: skip


def test_what_a_trusted_agent_left_is_judged_in_the_sandbox(
    fields: dict[str, Any], tmp_path: Path, rung: str
) -> None:
    run_evaluation(EvalSettings(**fields, sandbox=rung))
    assert not (tmp_path / "outside").exists()
    (item,) = records(tmp_path / "run")
    assert item.outcome != "invalid", item.reason  # the test ran


def test_judging_in_the_open_is_a_flag_of_its_own(fields: dict[str, Any], tmp_path: Path) -> None:
    run_evaluation(EvalSettings(**fields, trust_checks=True))
    assert (tmp_path / "outside").read_text() == KEY
