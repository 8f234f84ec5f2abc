"""Replies as servers send them, through a whole run: thoughts, usage that is missing, faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.api import EvalSettings, run_evaluation
from harness.cli.eval import report_text
from harness.core import Trajectory
from harness.core.rundir import RunReader
from harness.evals import ItemRecord, read_report, records
from harness.models import Body
from tests.models.http_server import Answer, completion, serve

FOREIGN = (
    "cmd:python3 -c 'import json, os, sys, urllib.request as r; "
    'b = json.dumps({"model": "m", "messages": [{"role": "user", "content": sys.argv[1]}]}); '
    'h = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}; '
    'q = r.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", b.encode(), h); '
    'print(json.load(r.urlopen(q))["choices"][0]["message"]["content"] or "")\' {prompt}'
)
REPLIES: dict[str, Any] = {
    "em": "<think>\nLisbon or Porto?\n</think>\n\nPorto",
    "exact": "It could be Lisbon.</think>Porto",
    "contains": "<thinking>Lisbon is a capital.</thinking>Porto",
    "numeric": "[THINK]3 + 4 is 8?[/THINK]7",
    "json": '<think>{"n": 1}?</think>{"n": 2}',
    "f1": "<|channel|>analysis<|message|>Lisbon<|end|><|channel|>final<|message|>Porto",
    "cut": "<think>It may be Porto, or per",
    "field": None,
}  # fmt: skip
ANSWERS = {"numeric": 7, "json": {"n": 2}, "contains": "Lisbon"}


def reply(body: Body) -> Answer:
    name = body["messages"][-1]["content"]
    text = REPLIES[name]
    thoughts: dict[str, Any] = {"reasoning_content": "Porto, I think."} if text is None else {}
    status, headers, content = completion(text or "", **thoughts)
    answer = json.loads(content)
    if name in ("cut", "field"):
        answer["choices"][0]["finish_reason"] = "length"
    return status, headers, json.dumps(answer).encode()


def run(folder: Path, url: str, rows: list[Body], **settings: Any) -> dict[str, ItemRecord]:
    tasks = folder / "tasks.jsonl"
    tasks.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run_evaluation(
        EvalSettings(
            suite=str(tasks), out=folder / "run", sandbox="none", models=("openai/m",),
            base_url=url, **settings,
        )
    )  # fmt: skip
    return {item.task_id: item for item in records(folder / "run")}


@pytest.mark.parametrize("agent", [None, FOREIGN], ids=["ours", "foreign"])
def test_thoughts_are_never_graded_and_the_trajectory_keeps_them(
    agent: str | None, tmp_path: Path
) -> None:
    rows = [
        {"id": name, "prompt": name, "answer": ANSWERS.get(name, "Porto")}
        | ({"check": name} if name in ("exact", "contains", "numeric", "f1") else {})
        for name in REPLIES
    ]
    settings = {"agent": agent} if agent else {}
    with serve(reply) as server:
        items = run(tmp_path, server.url, rows, **settings)
    assert {name: item.outcome for name, item in items.items()} == {
        "em": "pass", "exact": "pass", "contains": "fail", "numeric": "pass", "json": "pass",
        "f1": "pass", "cut": "invalid", "field": "invalid",
    }  # fmt: skip
    for name in ("cut", "field"):
        assert "thoughts and no answer" in items[name].reason
        assert "max_tokens" in items[name].reason
    rows = list(RunReader(tmp_path / "run").trajectories())
    stored = {run.task_id: run for run in map(Trajectory.model_validate, rows)}
    for name in ("em", "exact", "cut"):
        step = stored[name].steps[-1]
        assert step.extra is not None
        assert step.extra["raw_text"] == REPLIES[name]
        assert step.reasoning_content
        assert sum(step.source == "agent" for step in stored[name].steps) == 1


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 10.5, "completion_tokens": 2.0}, {}])
@pytest.mark.parametrize("agent", [None, FOREIGN], ids=["ours", "foreign"])
def test_usage_that_the_server_does_not_report_is_said_to_be_so(
    agent: str | None, usage: Any, tmp_path: Path
) -> None:
    def silent(_: Body) -> Answer:
        status, headers, content = completion("Porto")
        return status, headers, json.dumps(json.loads(content) | {"usage": usage}).encode()

    rows = [{"id": name, "prompt": name, "answer": "Porto"} for name in ("a", "b")]
    settings = {"agent": agent} if agent else {}
    with serve(silent) as server:
        items = run(tmp_path, server.url, rows, **settings)
    assert [(item.usage.calls, item.usage.unreported) for item in items.values()] == [(1, 1)] * 2
    report = read_report(tmp_path / "run")
    assert (report.passed, report.calls, report.unreported, report.tokens) == (2, 2, 2, 0)
    text = report_text(report, tmp_path / "run")
    assert "usage not reported by the server (2 calls)" in text
    assert "asked no model" not in text
    for row in RunReader(tmp_path / "run").trajectories():
        assert all("prompt_tokens" not in (step.get("metrics") or {}) for step in row["steps"])


def test_an_agent_that_asks_no_model_is_said_to(tmp_path: Path) -> None:
    with serve(reply) as server:
        run(tmp_path, server.url, [{"id": "a", "prompt": "a", "answer": "a"}], agent="cmd:echo a")
    report = read_report(tmp_path / "run")
    assert "the agent asked no model" in report_text(report, tmp_path / "run")
