"""`harness judge`: rows of three kinds, labels, calibration, budgets, resuming."""

from __future__ import annotations

import asyncio
import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.cli import cli
from harness.core import BadInput, LimitReached, Unreachable, assets
from harness.evals import Tally, records
from harness.judge.report import Judged
from harness.judge.rows import Row, passes, read_judged
from harness.judge.session import JudgeCommand, judge_rows
from harness.judge.types import Verdict
from harness.models import transport
from harness.tasks import JudgeSettings, read_calibration
from tests.judge.cases import between
from tests.models.http_server import Answer, completion, error, serve

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
    again, calls = judge(rows, *words)
    assert (again.exit_code, json.loads(again.stdout), calls) == (0, report, 0)
    refused, calls = judge(rows, *words, "--votes", "3")
    assert isinstance(refused.exception, BadInput) and calls == 0
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


def test_the_script_of_the_page_prints_verdicts_in_the_order_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{**row, "label": LABELS[str(row["id"])]} for row in ANSWERS]
    path = write(tmp_path / "rows.jsonl", rows)
    judge(path, "--rubric", "names a colour", "--out", tmp_path / "run", "--concurrency", "1")
    write(path, rows[::-1])
    monkeypatch.setattr("sys.argv", ["verdicts.py", str(tmp_path / "run")])
    runpy.run_path(str(assets.root() / "examples/jobs/verdicts.py"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["r5 PASS (label: fail, DISAGREES)", "r4 FAIL (label: fail)"]
    assert lines[2:4] == ["    unmet: names a colour r", "r3 PASS (label: pass)"]


def test_a_stopped_run_goes_on_from_its_folder_alone(tmp_path: Path) -> None:
    rows = write(tmp_path / "rows.jsonl", ANSWERS)
    options = ("--rubric", "names a colour", "--limit", "5", "--model", "openai/k")
    stopped, _ = judge(rows, *options, "--budget-calls", "2", "--out", tmp_path / "run")
    assert isinstance(stopped.exception, LimitReached)
    with serve(colour_judge) as served:
        command = ["judge", "--json", "--resume", str(tmp_path / "run"), "--base-url", served.url]
        result = CliRunner().invoke(cli, command)
        report = json.loads(result.stdout)
        assert (report["rows"], report["judge"], len(served.bodies)) == (5, "direct:openai/k", 3)
        refused = CliRunner().invoke(cli, [*command, "--votes", "3"])
        assert isinstance(refused.exception, BadInput)
    without = CliRunner().invoke(cli, ["judge", "--resume", str(tmp_path)])
    assert "name the ROWS" in str(without.exception)
    assert "Missing argument 'ROWS'" in CliRunner().invoke(cli, ["judge"]).output


def test_a_slow_judge_is_told_of_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, nothing was said until the first row had a verdict."""
    monkeypatch.setattr("harness.judge.session.BEAT_S", 0.01)
    states: list[tuple[int, int]] = []
    enough = asyncio.Event()

    async def slow(row: Row, *_: object) -> Judged:
        await enough.wait()
        return Judged(id=row.id, verdict=Verdict(score=1.0))

    def show(_: str, tally: Tally) -> None:
        states.append((tally.done, tally.total))
        if len(states) == 3:
            enough.set()

    monkeypatch.setattr("harness.judge.session._judged", slow)
    rows = write(tmp_path / "rows.jsonl", ANSWERS)
    settings = JudgeCommand(rows=rows, out=tmp_path / "run", models=("openai/k",))
    asyncio.run(judge_rows(settings, show))
    assert states[:3] == [(0, 6)] * 3


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


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"answer": "x", "label": "good"}, "label"),
        ({"a": "x", "b": "y", "label": "A>B"}, "A, B or tie"),
        ({"candidates": ["x", "y"], "label": 2}, "index"),
        ({"candidates": ["x", "y"], "label": "1"}, "index"),
        ({"candidates": ["x"]}, "two or more"),
    ],
)
def test_labels_that_fit_no_row_are_refused_before_a_call(
    tmp_path: Path, row: dict[str, Any], message: str
) -> None:
    rows = write(tmp_path / "rows.jsonl", [{"id": "r", "prompt": "p", **row}])
    result, calls = judge(rows, "--out", tmp_path / "run")
    assert isinstance(result.exception, BadInput)
    assert message in str(result.exception)
    assert calls == 0


def test_labels_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    rows = write(tmp_path / "rows.jsonl", ANSWERS)
    twice: list[dict[str, Any]] = [{"id": "r0", "label": label} for label in (True, False)]
    labels = write(tmp_path / "labels.jsonl", twice)
    result, calls = judge(rows, "--calibrate", labels, "--out", tmp_path / "run")
    assert isinstance(result.exception, BadInput)
    assert "r0" in str(result.exception)
    assert calls == 0


def test_lost_comparisons_of_a_knockout_are_shown(tmp_path: Path) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        prompt = body["messages"][-1]["content"]
        lost = "o" in (between(prompt, "first"), between(prompt, "second"))
        return completion("?") if lost else colour_judge(body)

    candidates = ["o", *("x" * length for length in range(2, 10))]
    rows = write(tmp_path / "best.jsonl", [{"id": "c", "prompt": "p", "candidates": candidates}])
    result, _ = judge(rows, "--out", tmp_path / "run", answer=answer)
    report = json.loads(result.stdout)
    assert (report["rows"], report["invalid"]) == (1, 0)
    assert report["lost"] >= 2


def test_a_plan_counts_what_may_be_asked(tmp_path: Path) -> None:
    pair = {"id": "p", "prompt": "p", "a": "x", "b": "y", "constraints": ["one word", "no dot"]}
    rows = write(tmp_path / "pairs.jsonl", [pair])
    for method, calls in (("direct", 2), ("openrs", 7), ("skill", 20)):
        result, _ = judge(rows, "--dry-run", "--method", method)
        assert json.loads(result.stdout)["calls"] == calls
    single = write(tmp_path / "rows.jsonl", ANSWERS)
    refused, _ = judge(single, "--dry-run", "--method", "openrs")
    assert isinstance(refused.exception, BadInput)


@pytest.mark.parametrize("words", [("--votes", 100), ("--concurrency", 0)])
def test_numbers_out_of_range_are_bad_input(tmp_path: Path, words: tuple[str, int]) -> None:
    rows = write(tmp_path / "rows.jsonl", ANSWERS)
    result, calls = judge(rows, *words, "--out", tmp_path / "run", "--dry-run")
    assert result.exit_code == 2 or isinstance(result.exception, BadInput)
    assert calls == 0


def test_an_accuracy_with_ties_has_an_interval(tmp_path: Path) -> None:
    texts = [("yes", "yes yes"), ("ab", "xy"), ("a", "bb")]
    pairs = [
        {"id": str(n), "prompt": "p", "a": a, "b": b, "label": "A"}
        for n, (a, b) in enumerate(texts)
    ]
    result, _ = judge(write(tmp_path / "pairs.jsonl", pairs), "--out", tmp_path / "run")
    report = json.loads(result.stdout)
    assert report["accuracy"] == pytest.approx(2.5 / 3)
    low, high = report["ci95"]
    assert low < report["accuracy"] < high


def test_a_suite_is_calibrated_on_what_its_check_shows_the_judge(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("def answer(prompt, workdir, skill):\n    return 'red'\n")
    task = {"id": "t", "prompt": "Say it.", "answer": "crimson", "check": "rubric"}
    write(tmp_path / "tasks.jsonl", [{**task, "meta": {"rubric": "- own criterion"}}])
    (tmp_path / "suite.yaml").write_text(
        f"name: s\ntasks: tasks.jsonl\nagent: py:{tmp_path}/agent.py:answer\n"
        "judge: {rubric: general}\n"
    )
    prompts: list[str] = []

    def answer(body: dict[str, Any]) -> Answer:
        prompts.append(body["messages"][-1]["content"])
        return colour_judge(body)

    command = ["eval", str(tmp_path), "--trust", "--sandbox", "none", "--model", "simulated/lookup"]
    with serve(answer) as served:
        command += ["--model", "judge=openai/j", "--base-url", served.url]
        done = CliRunner().invoke(cli, [*command, "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    name = str(records(tmp_path / "run")[0].id)
    labels = write(tmp_path / "labels.jsonl", [{"id": name, "label": True}])
    words = ("--suite", tmp_path, "--calibrate", labels, "--out", tmp_path / "judged")
    result, calls = judge(tmp_path / "run", *words, answer=answer)
    assert calls == 1, result.output
    first, second = prompts
    assert second == first
    assert "crimson" in first
    assert "own criterion" in first


def test_a_calibration_is_of_one_rubric(tmp_path: Path) -> None:
    rows = write(tmp_path / "rows.jsonl", [{**ANSWERS[0], "rubric": "another"}])
    labels = write(tmp_path / "labels.jsonl", [{"id": "r0", "label": True}])
    result, calls = judge(rows, "--rubric", "r", "--calibrate", labels, "--out", tmp_path / "run")
    assert isinstance(result.exception, BadInput)
    assert "rubric" in str(result.exception)
    assert calls == 0


def test_the_biases_of_a_judge_stand_beside_its_verdicts(tmp_path: Path) -> None:
    rows = write(tmp_path / "pairs.jsonl", [{"id": "p", "prompt": "p", "a": "yes", "b": "yes yes"}])
    planned, calls = judge(rows, "--probe", "--dry-run")
    assert (json.loads(planned.stdout)["calls"], calls) == (2 + 6 * 64, 0)
    result, _ = judge(rows, "--probe", "--out", tmp_path / "run")
    report = json.loads(result.stdout)
    shares = {row["bias"]: (row["rate"], row["found"]) for row in report["bias"]["probes"]}
    assert shares["length"] == (0.0, True)  # it takes the shorter answer
    assert shares["position"][1] is False
    assert report["tokens"] == 12 * (2 + 6 * 64)
    again, calls = judge(rows, "--resume", tmp_path / "run")
    assert (json.loads(again.stdout)["bias"], calls) == (report["bias"], 0)
    command = ["judge", str(rows), "--model", "openai/j", "--resume", str(tmp_path / "run")]
    text = CliRunner().invoke(cli, command).output
    assert "bias: length" in text
    assert "FOUND: marked answer preferred in 0.0% [0.0%, " in text
    (tmp_path / "run" / "bias.json").write_text("{}")
    torn, _ = judge(rows, "--resume", tmp_path / "run")
    assert isinstance(torn.exception, BadInput)
    refused, _ = judge(rows, "--probe", "--method", "openrs", "--dry-run")
    assert isinstance(refused.exception, BadInput)


def test_an_unprobed_judge_is_said_to_be_one(tmp_path: Path) -> None:
    rows = write(tmp_path / "rows.jsonl", ANSWERS)
    with serve(colour_judge) as served:
        command = ["judge", str(rows), "--model", "openai/j", "--base-url", served.url]
        result = CliRunner().invoke(cli, [*command, "--out", str(tmp_path / "run")])
    assert "not looked for (--probe)" in result.output


def test_the_pairs_of_a_probe_can_be_chosen(tmp_path: Path) -> None:
    rows = write(tmp_path / "pairs.jsonl", [{"id": "p", "prompt": "p", "a": "x", "b": "y"}])
    planned, _ = judge(rows, "--probe", "--probe-pairs", "5", "--dry-run")
    assert json.loads(planned.stdout)["calls"] == 2 + 6 * 5


@pytest.mark.parametrize(("setting", "shown"), [("fair", False), ("operational", True)])
def test_a_setting_decides_whether_the_skill_sees_a_reference(
    tmp_path: Path, setting: str, shown: bool
) -> None:
    prompts: list[str] = []

    def answer(body: dict[str, Any]) -> Answer:
        prompts.append(body["messages"][-1]["content"])
        return completion("?")

    row = {"id": "p", "prompt": "p", "a": "x", "b": "y", "reference": "SECRET"}
    rows = write(tmp_path / "pairs.jsonl", [row])
    words = ("--method", "skill", "--setting", setting, "--sandbox", "none")
    judge(rows, *words, "--out", tmp_path / "run", answer=answer)
    assert any("SECRET" in prompt for prompt in prompts) is shown


def test_a_dead_endpoint_ends_the_run_with_its_first_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, each row waited for its own tries: minutes for what the first rows had said."""
    monkeypatch.setattr(transport, "BASE_S", 0.001)
    rows = [{"id": f"r{n}", "prompt": "Say a colour.", "answer": "red"} for n in range(40)]
    result, calls = judge(
        write(tmp_path / "rows.jsonl", rows), "--out", tmp_path / "run", "--concurrency", 4,
        answer=lambda body: error(503),
    )  # fmt: skip
    assert isinstance(result.exception, Unreachable)
    assert calls < 40 * transport.ATTEMPTS / 2


def test_one_number_of_passed_is_shown(tmp_path: Path) -> None:
    """Before, the progress counted verdicts as passed, and the report answers."""
    rows = write(tmp_path / "rows.jsonl", ANSWERS)
    with serve(colour_judge) as served:
        words = ("judge", rows, "--model", "openai/j", "--base-url", served.url)
        done = CliRunner().invoke(cli, [*map(str, words), "--out", str(tmp_path / "run")])
    assert "4 passed" in done.stdout
    assert "passed 4" in done.stderr and "passed 6" not in done.stderr


def test_an_empty_rubric_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rules.md").write_text(" \n")
    rows = write(tmp_path / "rows.jsonl", ANSWERS)
    result, calls = judge(rows, "--rubric", tmp_path / "rules.md", "--out", tmp_path / "run")
    assert isinstance(result.exception, BadInput) and "is empty" in str(result.exception)
    assert calls == 0
