"""Replies as servers send them, through a whole run: thoughts, usage that is missing, faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.api import EvalSettings, run_evaluation
from harness.core import Trajectory
from harness.core.rundir import RunReader
from harness.evals import ItemRecord, records
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
