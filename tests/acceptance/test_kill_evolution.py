"""kill -9 at random moments of an evolution: the same skill, no answered call repeated."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.core import digest_tree
from tests.acceptance.conftest import ChatServer
from tests.acceptance.test_kill_and_resume import RAY
from tests.typed import typed

CONCURRENCY = 4
KILLS = (
    ((), 2),
    pytest.param((), 10, marks=pytest.mark.full),
    *(pytest.param(RAY, n, marks=[pytest.mark.full, pytest.mark.wing("fleet")]) for n in (1, 10)),
)
"""On a cluster `make test` kills a run: an evolution makes its attempts by the same executor."""
LESSONS = (
    ("Bare number", "Answer with the bare number and leave every other word of the sentence out."),
    ("No sentence", "Answer with the bare number and leave out every other word of a sentence."),
    ("Check twice", "Compute the product a second time before you give the final answer."),
)


class Teacher(ChatServer):
    """The doubling agent, and an analyst, mapper and merger beside it."""

    def answer(self, body: dict[str, Any]) -> str:
        """By what the prompt asks for."""
        text = str(body["messages"][-1]["content"])
        numbered = re.findall(r"^(e\d+) \(support \d+\): (\{.*\})$", text, re.MULTILINE)
        if numbered:
            return _merge(numbered)
        if "<record>" in text:
            record = re.search(r"<record>\n(.*?)\n</record>", text, re.DOTALL)
            assert record is not None
            items = json.loads(record[1])["items"]
            return json.dumps({"reasoning": "lessons", "edits": [_edit(one) for one in items]})
        if '"memory_items"' in text:
            return _record(text)
        return super().answer(body)


def _record(text: str) -> str:
    shown = re.search(r"The answer is \d+\.|\[\d+\] AGENT\n\d+", text)
    assert shown is not None
    title, lesson = LESSONS[len(text) % len(LESSONS)]
    item = {"title": title, "lesson": lesson, "generalization": ""}
    return json.dumps({"root_cause": "talk", "evidence": [shown[0]], "memory_items": [item]})


def _edit(item: dict[str, str]) -> dict[str, str]:
    content = f"- **{item['title']}**: {item['lesson']}"
    section = "## Lessons"
    return {"file": "SKILL.md", "op": "add_section", "target_section": section, "content": content}


def _merge(numbered: list[tuple[str, str]]) -> str:
    groups: dict[str, dict[str, Any]] = {}
    for name, text in numbered:
        edit = json.loads(text)
        groups.setdefault(edit["content"], {"from": [], **edit})["from"].append(name)
    return json.dumps({"reasoning": "same", "edits": list(groups.values())})


@pytest.fixture
def teacher(chat_server: ChatServer, suite: Path) -> ChatServer:
    rows = [
        {"id": f"t{n}", "prompt": f"What is two times {n} ?", "answer": str(2 * n), "check": "em"}
        for n in range(1, 49)
    ]
    (suite / "tasks.jsonl").write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    chat_server.__class__ = Teacher
    return chat_server


def line(suite: Path, out: Path, server: ChatServer) -> list[str]:
    return [
        "evolve", "--suite", str(suite), "--create", "doubling",
        "--out", str(out), "--merge", "model", "--merge-batch", "3", "--model", "openai/test",
        "--base-url", server.url, "--concurrency", str(CONCURRENCY), "--sandbox", "none", "--json",
    ]  # fmt: skip


def start(suite: Path, out: Path, server: ChatServer, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "harness", *line(suite, out, server), *more],
        cwd=out.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=600)
    assert process.returncode in (0, 5), err
    return json.loads(out)


def undisturbed(suite: Path, out: Path, server: ChatServer) -> dict[str, Any]:
    """The same command to its end, in this process."""
    done = typed(*line(suite, out, server), cwd=out.parent)
    assert done.returncode in (0, 5), done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(("executor", "kills"), KILLS)
def test_kill_at_random_moments(
    suite: Path,
    tmp_path: Path,
    teacher: ChatServer,
    executor: tuple[str, ...],
    kills: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    whole = undisturbed(suite, tmp_path / "whole", teacher)
    assert whole["edits"] > 0 and whole["records"] > 5
    wanted = {json.dumps(body, sort_keys=True) for body in teacher.requests}
    teacher.requests.clear()
    skill = digest_tree(tmp_path / "whole" / "skill")
    assert undisturbed(suite, tmp_path / "whole", teacher)["gate"] == whole["gate"]
    assert digest_tree(tmp_path / "whole" / "skill") == skill
    assert not teacher.requests, "an evolution that ended is made again without a call"
    teacher.delay_s = 0.25

    rng = random.Random(7)
    out = tmp_path / "killed"
    done = 0
    while done < kills:
        process = start(suite, out, teacher, *executor)
        seen = len(teacher.requests)
        while len(teacher.requests) == seen and process.poll() is None:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.25))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            done += 1
        process.communicate()
        assert process.returncode != 0, f"the evolution ended after {done} kills"
    teacher.delay_s = 0.0
    again = finish(start(suite, out, teacher, *executor))

    assert digest_tree(out / "skill") == skill
    assert (again["records"], again["edits"]) == (whole["records"], whole["edits"])
    sent = Counter(json.dumps(body, sort_keys=True) for body in teacher.requests)
    repeats = sum(count - 1 for count in sent.values())
    assert sent.keys() == wanted
    assert 0 < repeats <= kills * CONCURRENCY
    listed = json.loads((out / "interrupted_calls.json").read_text())
    assert len(listed) >= repeats and all(one["repeated"] for one in listed)
