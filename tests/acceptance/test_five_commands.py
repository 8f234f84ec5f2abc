"""The first hour: an agent that imports nothing of ours, and lines that are typed as printed."""

from __future__ import annotations

import json
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness import core
from tests.acceptance.conftest import ChatServer, Harness
from tests.backends import fresh_cache


class Wordy(ChatServer):
    """Knows every answer of the template; wraps it in a sentence unless the prompt or a skill asks
    for the bare answer."""

    def answer(self, body: dict[str, Any]) -> str:
        text = str(body["messages"][-1]["content"])
        answer = next(row["answer"] for row in template() if row["prompt"] in text)
        skilled = any("at most" in str(m["content"]) for m in body["messages"][:-1])
        if skilled or not text.endswith("?"):
            return answer
        return f"The note says that the answer to this is {answer}."


@cache
def template() -> list[dict[str, Any]]:
    path = Path(core.__file__).parent / "init_template" / "text" / "tasks.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def following(output: str) -> list[str]:
    """The commands below `next:`, as words behind `harness`."""
    lines = output.partition("next:\n")[2].splitlines()
    return [line.strip() for line in lines if line.startswith("  harness ")]


def test_every_step_prints_the_next_one(
    harness: Harness, chat_server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """init, eval, evolve with a gate, eval of what was held out, compare; then export."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("HARNESS_CACHE", fresh_cache(tmp_path / "cache"))
    monkeypatch.setattr(chat_server, "answer", Wordy().answer)

    def type_in(command: str) -> str:
        done = harness(*shlex.split(command)[1:])
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout

    pull, first = following(type_in("harness init my-suite"))
    assert pull == "harness models pull qwen2.5-coder-0.5b"
    lacking = harness(*shlex.split(first)[1:])
    assert lacking.returncode == 2
    assert pull in lacking.stderr
    model = f"--model openai/test --base-url {chat_server.url} --limit 16"
    out = type_in(first.replace("--model local/qwen2.5-coder-0.5b", model))
    assert "passed 6  failed 10  invalid 0" in out
    (evolve,) = following(out)
    out = type_in(evolve)
    assert "my-skill: accepted (better: +" in out
    compare, audit, export = following(out)
    assert "rollouts" in type_in(f"{audit} --dry-run")
    out = type_in(compare)
    assert "-> 100.0%" in out
    assert "skill" in out.splitlines()[-1]
    type_in(export)
    assert (tmp_path / ".agents" / "skills" / "my-skill" / "SKILL.md").is_file()
    agent = (tmp_path / "my-suite" / "agent.py").read_text()
    assert "harness" not in "".join(line for line in agent.splitlines() if "import" in line[:8])


def test_what_no_gate_decided_is_staged_for_review(
    harness: Harness, chat_server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setattr(chat_server, "answer", Wordy().answer)
    rows = template()[:12]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert harness("init", "mine", "--tasks", "mine.jsonl").returncode == 0
    done = harness(
        "evolve", "--suite", "mine", "--agent", "py:mine/agent.py:answer", "--create", "short",
        "--model", "openai/test", "--base-url", chat_server.url, "--out", "out", "--limit", "4",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "plan: only 4 tasks to learn from" in done.stderr
    (review,) = following(done.stdout)
    assert review == "harness skill review out/skill/short"
    assert harness(*shlex.split(review)[1:], "--approve", "all").returncode == 0
    export = ("skill", "export", "out/skill/short", "--target", "agents", "--out", ".")
    refused = harness(*export)
    assert refused.returncode == 5
    assert "its gate could not tell whether it helps (not gated: too few tasks" in refused.stderr
    assert harness(*export, "--ungated").returncode == 0


def test_a_suites_own_agent_has_no_network_untrusted(
    harness: Harness, chat_server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    assert harness("init", "my-suite").returncode == 0
    with (tmp_path / "my-suite" / "suite.yaml").open("a") as file:
        file.write("agent: cmd:python3 {suite}/agent.py {prompt} {workdir} {skill}\n")
    done = harness(
        "eval", "my-suite", "--model", "openai/test", "--base-url", chat_server.url, "--json",
        "--limit", "4",
    )  # fmt: skip
    assert done.returncode == 2, "a model that no attempt reaches is no result"
    assert json.loads(done.stdout)["invalid"] == 4
    assert "without network (--trust runs it outside): urllib.error.URLError" in done.stderr
    assert done.stderr.count(" of them: ") == 1, "one reason, whatever the task"
    assert not chat_server.requests
