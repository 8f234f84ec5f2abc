"""`check: rubric` in suites: verdicts of a served model, its cost, its errors in the report."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.judge.coverage import clopper_pearson, lang_reiczigel
from harness.cli import cli
from harness.core import BadInput, LimitReached, Task, Unreachable
from harness.evals import Suite, load_suite, records
from harness.stats import corrected_rate, reliability_curve
from harness.tasks import Calibration, JudgeSettings, family
from tests.judge.cases import between
from tests.models.http_server import Answer, completion, serve

AGENT = "def answer(prompt, workdir, skill):\n    return prompt.split()[-1]\n"
SUITE = """
name: manners
tasks: tasks.jsonl
agent: py:agent.py:answer
judge:
  model: openai/judge
  rubric: |
    - greets the reader
    - has no insult
"""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    words = ["hello", "hello", "hello", "idiot", "unreadable"]
    rows = [
        {"id": f"t{number}", "prompt": f"Say {word}", "check": "rubric"}
        for number, word in enumerate(words)
    ]
    (tmp_path / "tasks.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "suite.yaml").write_text(SUITE)
    return tmp_path


def judge_answer(body: dict[str, Any]) -> Answer:
    members = body["response_format"]["json_schema"]["schema"]["properties"]
    text = between(body["messages"][-1]["content"], "answer")
    if text == "unreadable":
        return completion("I would say yes.")
    word = "yes" if text == "hello" else "no"
    reply = {"key": members["key"]["const"], "reason": f"it says {text}"}
    reply |= {"criterion_1": "yes", "criterion_2": word}
    return completion(json.dumps(reply))


def evaluate(
    suite: Path, *words: str, answer: Callable[[dict[str, Any]], Answer] = judge_answer
) -> tuple[Result, list[dict[str, Any]]]:
    with serve(answer) as served:
        command = ["eval", str(suite), "--trust", "--sandbox", "none", "--json"]
        command += ["--base-url", served.url, "--model", "simulated/lookup", *words]
        return CliRunner().invoke(cli, command), served.bodies


def calibrate(suite: Path, model: str = "openai/judge", **counts: int) -> None:
    judging = load_suite(str(suite)).suite.judge
    assert judging is not None
    fields = {"passes": 40, "right_passes": 38, "fails": 40, "right_fails": 34, **counts}
    found = Calibration.model_validate({"judge": judging.key(model), "model": model, **fields})
    (suite / "calibration.json").write_text(found.model_dump_json())
    (suite / "suite.yaml").write_text(SUITE + "  calibration: calibration.json\n")


def test_a_run_says_that_its_judge_is_uncalibrated(suite: Path) -> None:
    result, bodies = evaluate(suite, "--out", str(suite / "run"))
    report = json.loads(result.stdout)
    assert (report["passed"], report["failed"], report["invalid"]) == (3, 1, 1)
    judge = report["judge"]
    assert judge["labels"] == 0
    assert judge["score"] is None
    assert judge["note"].startswith("uncalibrated")
    assert (judge["judged"], judge["lost"]) == (4, 1)
    assert len(bodies) == 4  # of equal answers one is sent, an unreadable reply is asked for again
    assert judge["tokens"] == 12 * 6
    assert report["tokens"] == 0  # the agent's own


def test_more_answers_than_threads_are_judged_at_a_time(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scoring waits for the event loop, whose own threads the judge's first call needs."""
    monkeypatch.setattr("concurrent.futures.thread.os.cpu_count", lambda: 1)
    rows = [{"id": f"t{n}", "prompt": f"Say no{n}", "check": "rubric"} for n in range(12)]
    (suite / "tasks.jsonl").write_text("\n".join(map(json.dumps, rows)))
    result, bodies = evaluate(suite, "--out", str(suite / "run"), "--concurrency", "12")
    assert (json.loads(result.stdout)["failed"], len(bodies)) == (12, 12)


def test_reasons_name_the_criterion(suite: Path) -> None:
    evaluate(suite, "--out", str(suite / "run"))
    reasons = {item.task_id: item.reason for item in records(suite / "run")}
    assert reasons["t3"].startswith("unmet: has no insult; it says idiot (score 0.50")
    assert reasons["t4"].startswith("the judge: expected one JSON object")


def test_a_calibration_widens_and_moves_the_interval(suite: Path) -> None:
    calibrate(suite)
    result, _ = evaluate(suite, "--out", str(suite / "run"))
    report = json.loads(result.stdout)
    judge = report["judge"]
    assert judge["labels"] == 80
    assert "38 of 40 right and 6 of 40 wrong" in judge["note"]
    assert judge["score"] == pytest.approx((0.75 + 0.85 - 1) / (0.95 + 0.85 - 1))
    assert judge["ci95"] != report["ci95"]


def test_a_calibration_of_a_judge_that_guesses_gives_no_rate(suite: Path) -> None:
    calibrate(suite, right_passes=20, right_fails=21)
    result, _ = evaluate(suite, "--out", str(suite / "run"))
    judge = json.loads(result.stdout)["judge"]
    assert judge["score"] is None
    assert "does not tell" in judge["note"]


def test_a_calibration_of_another_judge_is_refused_before_a_call(suite: Path) -> None:
    calibrate(suite)
    result, bodies = evaluate(suite, "--model", "judge=openai/other", "--out", str(suite / "run"))
    assert isinstance(result.exception, BadInput)
    assert "found one of another judge" in str(result.exception)
    assert bodies == []


def test_an_outage_is_invalid_and_exits_4(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.models import transport

    monkeypatch.setattr(transport, "BASE_S", 0.001)
    result, _ = evaluate(
        suite, "--out", str(suite / "run"), answer=lambda body: (500, {}, b'{"error": {}}')
    )
    assert isinstance(result.exception, Unreachable)
    assert {item.outcome for item in records(suite / "run")} == {"invalid"}


def test_the_budget_holds_for_the_judge(suite: Path) -> None:
    result, bodies = evaluate(suite, "--out", str(suite / "run"), "--budget-calls", "2")
    assert isinstance(result.exception, LimitReached)
    assert len(bodies) == 2


def test_criteria_must_be_there(suite: Path) -> None:
    (suite / "suite.yaml").write_text(SUITE.partition("judge:")[0])
    result, bodies = evaluate(suite, "--out", str(suite / "run"))
    assert isinstance(result.exception, BadInput)
    assert "expected criteria" in str(result.exception)
    assert bodies == []


def test_files_of_the_judge_lie_below_the_suite(suite: Path) -> None:
    (suite / "rules.md").write_text("- greets\n")
    judging = JudgeSettings(rubric="rules.md").loaded(suite, trusted=False)
    assert judging.rubric == "- greets\n"
    with pytest.raises(BadInput, match="below"):
        JudgeSettings(rubric="../rules.md").loaded(suite / "sub", trusted=False)
    with pytest.raises(BadInput, match="cannot read"):
        JudgeSettings(rubric="none.md").loaded(suite, trusted=False)


def test_without_a_model_the_check_is_refused() -> None:
    with pytest.raises(BadInput, match="asks a model"):
        family(Task(id="a", prompt="p", check="rubric"))


def test_suites_without_a_judge_keep_their_digest() -> None:
    assert "judge" not in Suite(name="a", tasks="t.jsonl").model_dump(mode="json")


@pytest.mark.parametrize(
    ("trials", "least", "most"),
    [(30, 27, 27), pytest.param(1000, 930, 970, marks=pytest.mark.full)],
)
def test_the_corrected_rate_covers_the_true_one(trials: int, least: int, most: int) -> None:
    draw, covered = random.Random(3), 0

    def heads(count: int, chance: float) -> int:
        return sum(draw.random() < chance for _ in range(count))

    true, sensitivity, specificity, n, labels = 0.6, 0.9, 0.8, 200, 60
    for _ in range(trials):
        right = heads(n, true)
        judged = heads(right, sensitivity) + heads(n - right, 1 - specificity)
        counts = heads(labels, sensitivity), labels, heads(labels, specificity), labels
        corrected = corrected_rate(judged / n, n, *counts)
        covered += corrected is not None and corrected.low <= true <= corrected.high
    assert least <= covered <= most


def test_a_perfect_judge_changes_no_rate_and_a_guessing_one_has_none() -> None:
    corrected = corrected_rate(0.3, 100, 5000, 5000, 5000, 5000)
    assert corrected is not None
    assert corrected.value == pytest.approx(0.3)
    assert corrected_rate(0.3, 100, 10, 20, 10, 20) is None
    assert corrected_rate(0.3, 100, 0, 0, 10, 10) is None
    assert corrected_rate(0.3, 0, 10, 10, 10, 10) is None


@pytest.mark.parametrize(
    "counts",
    [(12, 30, 8, 10, 7, 10), (27, 60, 18, 20, 15, 20), (90, 100, 25, 30, 29, 30)],
)
def test_the_ends_of_a_corrected_interval_are_those_of_other_draws(
    counts: tuple[int, int, int, int, int, int],
) -> None:
    """With 4,000 draws the ends of the first were a point off."""
    passed, n, *labels = counts
    corrected = corrected_rate(passed / n, n, *labels)
    assert corrected is not None
    draw = np.random.default_rng(7)
    judged, sensitivity, specificity = (
        draw.beta(hits + 0.5, size - hits + 0.5, 400_000)
        for hits, size in (counts[:2], counts[2:4], counts[4:])
    )
    informed = sensitivity + specificity > 1
    rates = ((judged + specificity - 1) / (sensitivity + specificity - 1))[informed]
    ends = np.clip(np.quantile(rates, (0.025, 0.975)), 0, 1)
    assert list(corrected[1:]) == pytest.approx(list(ends), abs=0.005)


def test_the_reliability_curve_never_falls() -> None:
    curve = reliability_curve([0.0, 0.5, 0.5, 1.0, 1.0], [False, True, False, False, True])
    assert [score for score, _, _ in curve] == [0.0, 0.5, 1.0]
    assert [count for _, _, count in curve] == [1, 2, 2]
    assert [share for _, share, _ in curve] == [0.0, 0.5, 0.5]


@given(st.data())
def test_the_interval_holds_the_estimate_and_is_the_same_every_time(data: st.DataObject) -> None:
    sizes = [data.draw(st.integers(5, 200)) for _ in range(3)]
    counts = [data.draw(st.integers(0, size)) for size in sizes]
    (n, passes, fails), (judged, right_passes, right_fails) = sizes, counts
    corrected = corrected_rate(judged / n, n, right_passes, passes, right_fails, fails)
    assert corrected == corrected_rate(judged / n, n, right_passes, passes, right_fails, fails)
    if corrected is not None:
        assert 0 <= corrected.low <= corrected.value <= corrected.high <= 1
        assert corrected.low < corrected.high


def test_the_intervals_that_are_compared_are_near_each_other_with_many_labels() -> None:
    counts = 600, 1000, 900, 1000, 850, 1000
    corrected = corrected_rate(0.6, *counts[1:])
    assert corrected is not None
    assert lang_reiczigel(counts) == pytest.approx(corrected[1:], abs=0.005)
    low, high = clopper_pearson(counts)
    assert low < corrected.low < corrected.high < high


def test_a_rate_that_no_such_judge_gives_has_no_interval_of_width_0() -> None:
    assert corrected_rate(0.0, 9, 65, 65, 6, 15) is None  # it passes three of five wrong answers
