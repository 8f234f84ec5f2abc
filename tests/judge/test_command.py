"""`harness judge`: rows of three kinds, labels, calibration, budgets, resuming."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.cli import cli
from harness.core import BadInput, LimitReached, Unreachable
from harness.judge.rows import passes, read_judged
from harness.tasks import JudgeSettings, read_calibration
from tests.judge.cases import between
from tests.models.http_server import Answer, completion, serve

ANSWERS = [
    {"id": f"r{n}", "question": "Say a colour.", "answer": text, "extra": 1}
    for n, text in enumerate(["red", "blue", "horse", "green", "table", "red horse"])
]
LABELS = {"r0": "pass", "r1": "pass", "r2": False, "r3": True, "r4": "fail", "r5": "fail"}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")


def colour_judge(body: dict[str, Any]) -> Answer:
    """Passes what names a colour, prefers the shorter answer."""
    members = body["response_format"]["json_schema"]["schema"]["properties"]
    prompt = body["messages"][-1]["content"]
    reply: dict[str, Any] = {"key": members["key"]["const"], "reason": "r"}
    if "better" in members:
        first, second = between(prompt, "first"), between(prompt, "second")
        reply["better"] = "first" if len(first) < len(second) else "second"
    else:
        colours = ("red", "blue", "green")
        reply["criterion_1"] = (
            "yes" if any(word in between(prompt, "answer") for word in colours) else "no"
        )
    return completion(json.dumps(reply))


def judge(
    path: Path, *words: object, answer: Callable[[dict[str, Any]], Answer] = colour_judge
) -> tuple[Result, int]:
    with serve(answer) as served:
        command = ["judge", str(path), "--json", "--model", "openai/j", "--base-url", served.url]
        result = CliRunner().invoke(cli, [*command, *map(str, words)])
        return result, len(served.bodies)


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_calibration_is_what_a_suite_reads(tmp_path: Path) -> None:
    rows = write(tmp_path / "rows.jsonl", ANSWERS)
    labels = write(tmp_path / "labels.jsonl", [{"id": i, "label": v} for i, v in LABELS.items()])
    words = ("--calibrate", labels, "--rubric", "names a colour", "--out", tmp_path / "run")
    result, calls = judge(rows, *words)
    report = json.loads(result.stdout)
    assert (report["rows"], report["passed"], report["invalid"], calls) == (6, 4, 0, 6)
    found = read_calibration(tmp_path / "run" / "calibration.json")
    assert (found.passes, found.right_passes, found.fails, found.right_fails) == (3, 3, 3, 2)
    assert found.judge == JudgeSettings(rubric="names a colour\n").key("openai/j")
    assert [score for score, _, _ in found.curve] == [0.0, 1.0]
    assert "do not show" in report["note"]  # six labels are too few
    refused, calls = judge(rows, *words)
    assert isinstance(refused.exception, BadInput)
    again, calls = judge(rows, *words[:4], "--resume", tmp_path / "run")
    assert (json.loads(again.stdout)["passed"], calls) == (4, 0)


def test_pairs_and_candidates(tmp_path: Path) -> None:
    pairs = [{"id": "p", "prompt": "Say it briefly.", "a": "yes", "b": "yes yes", "label": "A"}]
    result, calls = judge(write(tmp_path / "pairs.jsonl", pairs), "--out", tmp_path / "run")
    report = json.loads(result.stdout)
    assert (report["preferences"], report["agreement"]) == ({"A": 1, "B": 0, "tie": 0}, 1.0)
    assert (report["accuracy"], report["labels"], calls) == (1.0, 1, 2)
    rows = [{"id": "c", "prompt": "p", "candidates": ["three", "two", "o"], "label": 2}]
    result, calls = judge(write(tmp_path / "best.jsonl", rows), "--out", tmp_path / "best")
    assert (json.loads(result.stdout)["accuracy"], calls) == (1.0, 4)


def test_a_plan_makes_no_call(tmp_path: Path) -> None:
    rows = write(tmp_path / "rows.jsonl", ANSWERS)
    result, calls = judge(rows, "--dry-run", "--votes", "3", "--out", tmp_path / "run")
    assert json.loads(result.stdout)["calls"] == 18
    assert calls == 0
    assert not (tmp_path / "run").exists()


def test_a_budget_stops_and_what_is_judged_is_kept(tmp_path: Path) -> None:
    rows = write(tmp_path / "rows.jsonl", ANSWERS)
    stopped, calls = judge(rows, "--budget-calls", "2", "--out", tmp_path / "run")
    assert isinstance(stopped.exception, LimitReached)
    assert calls == 2
    result, more = judge(rows, "--resume", tmp_path / "run")
    assert json.loads(result.stdout)["rows"] == 6
    assert more == 4


def test_no_verdict_at_all_is_no_success(tmp_path: Path) -> None:
    rows = write(tmp_path / "rows.jsonl", ANSWERS[:2])
    result, _ = judge(rows, "--out", tmp_path / "run", answer=lambda body: completion("well"))
    assert isinstance(result.exception, Unreachable)
    assert result.exception.exit_code == 4


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "nothing to judge"),
        ([{"id": "a", "prompt": "p"}], "none of them"),
        ([{"id": "a", "prompt": "p", "answer": "x", "a": "x", "b": "y"}], "pointwise, pairwise"),
        ([{"id": "a", "prompt": "p", "answer": "x"}] * 2, "unique"),
        (
            [
                {"id": "a", "prompt": "p", "answer": "x"},
                {"id": "b", "prompt": "p", "a": "", "b": ""},
            ],
            "one kind",
        ),
        ([{"id": "a", "answer": "x"}], "prompt"),
    ],
)
def test_rows_that_cannot_be_judged(tmp_path: Path, rows: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_judged(write(tmp_path / "rows.jsonl", rows))


def test_labels_are_true_or_false() -> None:
    assert [passes(label, "x") for label in (True, "pass", "fail", False)] == [1, 1, 0, 0]
    for label in ("maybe", 1, None):
        with pytest.raises(BadInput, match="label"):
            passes(label, "x")


def test_the_other_methods_are_wired(tmp_path: Path) -> None:
    rows = [{"id": "p", "prompt": "2 + 2?", "a": "it is 4", "b": "it is 5", "reference": "4"}]
    path = write(tmp_path / "pairs.jsonl", rows)
    result, calls = judge(path, "--method", "openrs", "--out", tmp_path / "openrs")
    report = json.loads(result.stdout)
    assert (report["verified"], report["preferences"]["A"], calls) == (1, 1, 0)
    assert report["judge"] == "openrs:openai/j"
    lost, calls = judge(
        path, "--method", "skill", "--out", tmp_path / "skill", answer=lambda body: completion("?")
    )
    assert isinstance(lost.exception, Unreachable)
    assert calls > 10
    single = write(tmp_path / "rows.jsonl", ANSWERS)
    refused, calls = judge(single, "--method", "openrs", "--out", tmp_path / "refused")
    assert isinstance(refused.exception, BadInput)
    assert "compares answers" in str(refused.exception)


def test_the_answers_of_a_run_are_judged(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("def answer(prompt, workdir, skill):\n    return 'red'\n")
    write(tmp_path / "tasks.jsonl", [{"id": "t", "prompt": "Say a colour.", "answer": "red"}])
    command = ["eval", str(tmp_path / "tasks.jsonl"), "--agent", f"py:{tmp_path}/agent.py:answer"]
    command += ["--trust", "--model", "simulated/lookup", "--sandbox", "none"]
    done = CliRunner().invoke(cli, [*command, "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    result, calls = judge(tmp_path / "run", "--rubric", "a colour", "--out", tmp_path / "judged")
    assert (json.loads(result.stdout)["passed"], calls) == (1, 1)
