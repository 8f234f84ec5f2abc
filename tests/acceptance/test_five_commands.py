"""An agent that imports nothing of ours goes init -> eval -> evolve -> eval -> export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.core.rundir import RunReader
from harness.evals import finished_items
from tests.acceptance.conftest import ChatServer, Harness

ANSWERS = {
    "largest order": "Marrow & Finch",
    "marked paid": "4",
    "Teal Harbour buy": "desk lamp",
    "which city": "Aldermere",
    "which day": "Thursday",
}


class Wordy(ChatServer):
    """Knows the answers; wraps two of five in a sentence unless a skill stands in the prompt."""

    def answer(self, body: dict[str, Any]) -> str:
        text = str(body["messages"][-1]["content"])
        key = next(key for key in ANSWERS if key in text)
        skilled = any("at most" in str(m["content"]) for m in body["messages"][:-1])
        if key.startswith("which") and not skilled:
            return f"The note says that the answer to this is {ANSWERS[key]}."
        return ANSWERS[key]


def test_five_commands(
    harness: Harness,
    chat_server: ChatServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setattr(chat_server, "answer", Wordy().answer)
    model = ("--model", "openai/test", "--base-url", chat_server.url)
    agent = ("--agent", "py:agent.py:answer")
    suite = tmp_path / "my-suite"

    def run(*arguments: str) -> dict[str, Any]:
        done = harness(*arguments, "--json", cwd=suite if suite.exists() else tmp_path)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    run("init", "my-suite")
    assert "harness" not in "".join(
        line for line in (suite / "agent.py").read_text().splitlines() if "import" in line[:8]
    )
    first = run("eval", ".", *agent, *model, "--out", "runs/first")
    assert (first["passed"], first["failed"], first["invalid"]) == (3, 2, 0)
    assert first["tokens"] == 5 * 25
    evolved = run(
        "evolve", "--suite", ".", *agent, *model, "--create", "my-skill",
        "--analyst", "exemplar", "--gate", "none", "--out", "evolved",
    )  # fmt: skip
    assert evolved["edits"] > 0
    assert evolved["accepted"] is None
    second = run(
        "eval", ".", *agent, *model, "--skill", "evolved/skill/my-skill", "--out", "runs/second"
    )
    assert second["passed"] == 5
    export = ("skill", "export", "evolved/skill/my-skill", "--target", "agents", "--out", ".")
    refused = harness(*export, cwd=suite)
    assert refused.returncode == 5
    assert "gate: none" in refused.stderr
    run(*export, "--ungated")
    assert (suite / ".agents" / "skills" / "my-skill" / "SKILL.md").is_file()
    assert {item.task_id for item in finished_items(RunReader(suite / "runs" / "second"))} == {
        "largest-order", "paid-count", "blue-item", "delivery-city", "delivery-day",
    }  # fmt: skip


def test_a_suites_own_agent_has_no_network_untrusted(
    harness: Harness, chat_server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    assert harness("init", "my-suite").returncode == 0
    with (tmp_path / "my-suite" / "suite.yaml").open("a") as file:
        file.write("agent: cmd:python3 {suite}/agent.py {prompt} {workdir} {skill}\n")
    done = harness(
        "eval", "my-suite", "--model", "openai/test", "--base-url", chat_server.url, "--json"
    )
    report = json.loads(done.stdout)
    assert report["invalid"] == 5
    assert "exit code" in done.stderr
    assert not chat_server.requests
