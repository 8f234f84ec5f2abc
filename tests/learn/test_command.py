"""`harness learn` from planted logs to a skill, with a model server that keeps what arrives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance import conftest as acceptance
from tests.acceptance.conftest import ChatServer, Harness
from tests.learn.clients import Event, write_claude, write_codex
from tests.learn.planted import PLANTED, events

LESSON = "Run the whole test suite after the last edit of a change."


chat_server = acceptance.chat_server
harness = acceptance.harness


class Analyst(ChatServer):
    """Draws one lesson from every transcript and quotes the edit that stands in each."""

    def answer(self, body: dict[str, Any]) -> str:
        prompt = str(body["messages"][-1]["content"])
        kind = "error" if '"analyst_type": "error"' in prompt else "success"
        item = {"title": "Test after the edit", "lesson": LESSON, "generalization": "always"}
        quote = "apply_patch" if "apply_patch" in prompt else "old_string"
        found = {**item, "evidence": [quote]}
        reason = "root_cause" if kind == "error" else "summary"
        return json.dumps({"analyst_type": kind, reason: "as quoted", "memory_items": [found]})


def _logs(home: Path) -> None:
    for number in range(3):
        prompt = f"The {('discount', 'tax', 'rounding')[number]} is ignored."
        write_claude(home / ".claude", f"c{number}", events(PLANTED, prompt))
        red: Event = ("sh", "pytest -q", "1 failed, 3 passed in 0.10s", 1)
        found = (("user", f"{prompt} Please."), ("edit", f"m{number}.py"), red)
        write_codex(home / ".codex", f"x{number}", found, form=number + 1)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    _logs(home)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    return home


def test_from_logs_to_a_staged_skill(
    harness: Harness,
    home: Path,
    chat_server: ChatServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chat_server, "answer", Analyst().answer)
    broken = next(home.rglob("c0.jsonl")).with_name("broken.jsonl")
    good = next(home.rglob("c1.jsonl")).read_text().splitlines()
    broken.write_text("\n".join([*good[:2], '{"type": "user", "mess', *good[2:]]) + "\n")
    model = ("--model", "openai/test", "--base-url", chat_server.url)
    command = ("learn", "--out", "learned", *model)

    planned = harness(*command, "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert f"skipped 1 x {broken}:3: damaged" in planned.stdout
    assert "6 sessions (claude-code, codex): 3 pass, 3 fail, 0 unknown" in planned.stdout
    assert "pass by tests: '4 passed in 0.10s'" in planned.stdout
    refused = harness(*command)
    assert refused.returncode == 2
    assert "nothing was sent" in refused.stderr
    assert chat_server.requests == []

    done = harness(*command, "--yes", "--json")
    assert done.returncode == 0, done.stderr
    told = f"would be sent to the analysts' model openai/test at {chat_server.url}: 6 sessions of "
    assert told in done.stderr
    result = json.loads(done.stdout)
    sent = json.dumps(chat_server.requests, ensure_ascii=False)
    assert len(chat_server.requests) == 6
    assert [kind for kind, secret in PLANTED.items() if secret in sent] == []
    # What could be inspected beforehand is what arrived.
    prompts = [str(body["messages"][-1]["content"]) for body in chat_server.requests]
    for file in (tmp_path / "learned" / "sent").glob("*.txt"):
        assert any(file.read_text().strip() in prompt for prompt in prompts)
    _claims_stand_in_their_files(result["gathered"])
    again = harness("learn", "--resume", "learned", *model, "--yes", "--json")
    assert json.loads(again.stdout)["evolved"]["edits"] == result["evolved"]["edits"]
    assert len(chat_server.requests) == 6  # what was answered is not asked again

    skill = Path(result["evolved"]["skill"])
    assert result["staged"] is True
    assert LESSON in (tmp_path / skill / "SKILL.md").read_text()
    provenance = (tmp_path / skill).with_suffix(".provenance.json")
    assert json.loads(provenance.read_text())["gate"] == "none"
    export = ("skill", "export", skill, "--target", "claude")
    assert harness(*export).returncode == 5
    assert harness("skill", "review", skill, "--approve", "all").returncode == 0
    assert harness(*export).returncode == 5  # a reader's consent is no gate
    assert harness(*export, "--ungated").returncode == 0
    files = [path for path in (tmp_path / "learned").rglob("*") if path.is_file()]
    left = {kind for kind, secret in PLANTED.items() for file in files if _holds(file, secret)}
    assert left == set()


def test_an_output_that_is_a_file_is_refused_and_stays(
    harness: Harness, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for command in (("learn", "--out", "notes.txt"), ("learn", "--resume", "notes.txt")):
        refused = harness(*command, "--model", "openai/test", "--yes")
        assert refused.returncode == 2
        assert "give an empty folder for --out" in refused.stderr
        assert (tmp_path / "notes.txt").read_text() == "mine"
    below = harness("learn", "--out", "notes.txt/learned", "--dry-run")
    assert below.returncode == 2, below.stderr
    assert "cannot write the folder 'notes.txt/learned': Not a directory" in below.stderr


def _holds(file: Path, secret: str) -> bool:
    return secret.encode() in file.read_bytes()


def _claims_stand_in_their_files(gathered: dict[str, Any]) -> None:
    claims = [claim for one in gathered["sessions"] for claim in one["outcome"]["claims"]]
    assert len(claims) >= 6
    for claim in claims:
        lines = Path(str(claim["file"])).read_text().splitlines()
        assert claim["quote"] in lines[claim["line"] - 1]


def _repository(folder: Path, number: int) -> None:
    """A repository with a fault, and a later commit that mends it and brings a test."""

    def git(*words: str, when: str = "2026-01-01T00:00:00Z") -> None:
        who = {"GIT_AUTHOR_NAME": "A", "GIT_COMMITTER_NAME": "A"}
        who |= {"GIT_AUTHOR_EMAIL": "a@b.c", "GIT_COMMITTER_EMAIL": "a@b.c"}
        who |= {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "HOME": str(folder)}
        environment = {**who, "PATH": os.environ["PATH"]}
        subprocess.run(
            ["git", *words], cwd=folder, check=True, capture_output=True, env=environment
        )

    folder.mkdir(parents=True)
    git("init", "-q", "-b", "main")
    secret = PLANTED["OpenAI key"]
    (folder / "prices.py").write_text(f"KEY = {secret!r}\n\n\ndef add(a, b):\n    return 0\n")
    git("add", ".")
    git("commit", "-qm", "first")
    (folder / "prices.py").write_text("def add(a, b):\n    return a + b\n")
    (folder / "test_prices.py").write_text(
        "import unittest\n\nfrom prices import add\n\n\nclass Adds(unittest.TestCase):\n"
        f"    def test_sum(self):\n        self.assertEqual(add({number}, 1), {number + 1})\n"
    )
    git("add", ".")
    git("commit", "-qm", "second", when="2026-06-01T00:00:00Z")


# Mends the fault, and keeps what it was given to read.
AGENT = """
import pathlib, sys

work, seen = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
with seen.open("a") as handle:
    handle.write((work / "prices.py").read_text() + sys.argv[3])
assert not (work / ".git").exists() and not (work / "test_prices.py").exists()
(work / "prices.py").write_text("def add(a, b): return a + b")
print("done")
"""


@pytest.mark.slow
def test_tasks_are_made_again_and_gate_the_skill(
    harness: Harness,
    home: Path,
    chat_server: ChatServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chat_server, "answer", Analyst().answer)
    for number in range(4):
        folder = home / "code" / f"shop{number}"
        _repository(folder, number)
        session: tuple[Event, ...] = (
            ("user", f"add() of shop {number} gives nothing."),
            ("edit", "prices.py"),
            ("sh", "python -m unittest 2>&1 | tail -3", "Ran 1 test in 0.001s\n\nOK", 0),
        )
        write_claude(home / ".claude", f"g{number}", session, cwd=str(folder))
    (tmp_path / "agent.py").write_text(AGENT)
    command = f"{sys.executable} {tmp_path}/agent.py {{workdir}} {tmp_path}/seen.txt {{prompt}}"
    agent = f"cmd:{command} {{skill}}"
    model = ("--model", "openai/test", "--base-url", chat_server.url)
    project = ("--project", home / "code")
    done = harness(
        "learn", "--out", "learned", *project, "--agent", agent, *model, "--yes", "--json"
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    tasks = result["gathered"]["tasks"]
    assert [bool(one["task"]) and one["verified"] for one in tasks] == [True] * 4, tasks
    held_out = {one["task"] for one in tasks if one["held_out"]}
    taught = {one["task"] for one in result["gathered"]["sessions"] if one["teaches"]}
    assert (len(held_out), len(taught), held_out & taught) == (2, 2, set())
    assert len(chat_server.requests) == 2
    gate = result["evolved"]["gate"]
    assert (gate["tasks"], gate["before"], gate["after"]) == (2, 1.0, 1.0)
    assert result["staged"] is (gate["verdict"] == "not gated")
    seen = (tmp_path / "seen.txt").read_text()
    assert "return 0" in seen
    assert PLANTED["OpenAI key"] not in seen
    again = harness("eval", "learned/suite", "--agent", agent, *model, "--json")
    assert json.loads(again.stdout)["passed"] == 4, again.stderr
