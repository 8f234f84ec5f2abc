"""Attempts as rows for trainers, and what a set of attempts says without training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from harness.cli import cli
from harness.core import AgentInfo, Step, Trajectory
from harness.trajectories import TrajectoryStore, collect_stats, export_trajectories


def attempt(
    name: str, reply: str, outcome: str = "pass", prompt: str = "q", **facts: Any
) -> Trajectory:
    steps = (
        Step(step_id=1, source="system", message="be brief"),
        Step(step_id=2, source="user", message=prompt),
        Step(step_id=3, source="agent", message=reply),
    )
    labels = {"task_id": name.split("@")[0], "outcome": outcome, **facts}
    agent = AgentInfo(name="a", version="1")
    return Trajectory(trajectory_id=name, agent=agent, steps=steps, extra={"harness": labels})


def exported(
    attempts: list[Trajectory], folder: Path, target: str, rows: int
) -> list[dict[str, Any]]:
    with TrajectoryStore(folder / "store") as store:
        for trajectory in attempts:
            store.append(trajectory)
    report = export_trajectories(folder / "store", folder / target, target)
    assert (report.exported, report.rows, report.files) == (len(attempts), rows, 1)
    lines = (folder / target / f"{target}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


ATTEMPTS = [
    attempt("t", "yes", score=0.9),
    attempt("t@1", "no", "fail"),
    attempt("t@2", "", "invalid"),
    attempt("t@3", "never", "fail", score=0.2),
    attempt("u", "so", prompt="r"),
]


def test_rollouts_have_a_reward_and_leave_out_what_was_not_judged(tmp_path: Path) -> None:
    rows = exported(ATTEMPTS, tmp_path, "rollouts", 4)
    assert [(row["id"], row["reward"]) for row in rows] == [
        ("t", 0.9), ("t@1", 0.0), ("t@3", 0.2), ("u", 1.0),
    ]  # fmt: skip
    assert [turn["role"] for turn in rows[0]["prompt"]] == ["system", "user"]
    assert rows[0]["completion"] == [{"role": "assistant", "content": "yes"}]


def test_groups_are_the_attempts_at_a_prompt(tmp_path: Path) -> None:
    groups = exported([*ATTEMPTS, attempt("t@4", "yes", prompt="other")], tmp_path, "groups", 3)
    assert [group["ids"] for group in groups] == [["t", "t@1", "t@3"], ["u"], ["t@4"]]
    assert groups[0]["rewards"] == [0.9, 0.0, 0.2]
    assert len(groups[0]["completions"]) == 3


def test_preferences_use_no_attempt_twice(tmp_path: Path) -> None:
    (row,) = exported(ATTEMPTS, tmp_path, "preferences", 1)
    assert (row["chosen"][0]["content"], row["rejected"][0]["content"]) == ("yes", "no")
    assert row["prompt"][1] == {"role": "user", "content": "q"}


def test_the_command_says_how_many_rows(tmp_path: Path) -> None:
    exported(ATTEMPTS, tmp_path, "groups", 2)
    words = ["trajectories", "export", str(tmp_path / "store"), "--format", "preferences"]
    result = CliRunner().invoke(cli, [*words, "--out", str(tmp_path / "out")])
    assert result.output.splitlines()[-1] == "1 rows"


def test_one_attempt_a_task_cannot_be_compared() -> None:
    stats = collect_stats([attempt("a", "x"), attempt("b", "y", "fail")])
    assert (stats.longer_passes, stats.outliers) == (None, ())
    assert stats.score_against_brevity is None


def test_rewards_of_long_right_answers_conflict_with_brevity() -> None:
    right, wrong = attempt("t", "a long and right answer"), attempt("t@1", "wrong", "fail")
    assert collect_stats([right, wrong]).score_against_brevity == 1.0
    assert collect_stats([right, wrong]).longer_passes == 1.0
    short = attempt("t@2", "ok")
    assert collect_stats([short, wrong]).score_against_brevity == 0.0
    assert collect_stats([right, wrong, short]).longer_passes == 0.5


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 9)), min_size=2, max_size=8))
def test_shares_are_shares_whatever_was_tried(tries: list[tuple[bool, int]]) -> None:
    attempts = [
        attempt(f"t@{number}", "x" * length, "pass" if passed else "fail")
        for number, (passed, length) in enumerate(tries)
    ]
    stats = collect_stats(attempts)
    assert stats.score_against_brevity is not None
    assert 0 <= stats.score_against_brevity <= 1
    assert (stats.longer_passes is None) == (len({passed for passed, _ in tries}) == 1)
    swapped = collect_stats(
        [
            attempt(f"t@{number}", "x" * length, "fail" if passed else "pass")
            for number, (passed, length) in enumerate(tries)
        ]
    )
    if stats.longer_passes is not None and swapped.longer_passes is not None:
        assert stats.longer_passes + swapped.longer_passes == pytest.approx(1.0)


def test_the_planted_outlier_of_those_that_passed_is_named() -> None:
    alike = [attempt(f"t@{number}", f"sum the column, then say {number}") for number in range(4)]
    planted = attempt("t@9", "guess from experience")
    wrong = attempt("t@8", "another unlike text", "fail")
    assert collect_stats([*alike, planted, wrong]).outliers == ("t@9",)
    assert collect_stats([*alike[:1], planted, wrong]).outliers == ()
