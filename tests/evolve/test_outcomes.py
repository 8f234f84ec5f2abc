"""What a rule rests on is judged by failed and by passed runs to which it applies."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from harness.core import Trajectory
from harness.evolve import AnalystRecord, AnalystType, EvolveOptions, MemoryItem, evolve
from harness.evolve.types import Reading
from harness.skills import load_skill
from tests.evolve.conftest import trajectory, write_trajectories

HABIT = "I open the sheet and read its 12 rows."
SKIPPED, LESSON = "I pass over the hidden rows.", "Count the hidden rows, too."
LATE, FRIEND = "I sort at the very end.", "Sort all rows by date."
ADDED, REFUND = "Money is added like all other money.", "Subtract money that was refunded."
LOOK = "Read the sheet with care."


def evolved(
    tmp_path: Path, runs: list[Trajectory], taught: dict[str, str]
) -> tuple[str, list[dict[str, str]]]:
    """SKILL.md, and what was left out.

    Args:
        tmp_path: to write to.
        runs: failed and passed.
        taught: line of a failed run -> the lesson that its analyst draws from it.
    """

    async def read(run: Trajectory, kind: AnalystType) -> Reading:
        items = tuple(
            MemoryItem(title="Rule", lesson=lesson, evidence=(line,))
            for line, lesson in taught.items()
            if line in run.answer
        )
        record = AnalystRecord(
            kind=kind, trajectory_id=run.trajectory_id, task_id=run.task_id, items=items
        )
        return Reading(record=record if items else None)

    folder = write_trajectories(tmp_path / "runs", runs)
    options = EvolveOptions(
        out=tmp_path / "out", create="sheets", trajectories=folder, signal="error"
    )
    result = asyncio.run(evolve(options, read=read))
    discarded = json.loads((tmp_path / "out" / "discarded.json").read_text())
    return load_skill(result.skill).text, discarded


def made(name: str, outcome: str, count: int, *lines: str, prompt: str = "") -> list[Trajectory]:
    return [
        trajectory(f"{name}{n}", outcome, "\n".join(lines), prompt or f"Sum up sheet {n}.")
        for n in range(count)
    ]


def test_a_true_cause_stays_though_it_is_harmless_where_it_does_not_apply(tmp_path: Path) -> None:
    """Only where money was refunded is it wrong to add all of it; most runs have no refund."""
    refund = "Sum up the sheet. It holds money that was refunded."
    runs = [
        *made("r", "fail", 6, ADDED, prompt=refund),
        *made("s", "fail", 30, SKIPPED),
        *made("p", "pass", 40, ADDED),
        *made("q", "pass", 6, "I subtract it.", prompt=refund),
    ]
    skill, _ = evolved(tmp_path, runs, {ADDED: REFUND, SKIPPED: LESSON})
    assert REFUND in skill and LESSON in skill


def test_a_habit_of_all_runs_is_no_rule(tmp_path: Path) -> None:
    runs = [*made("f", "fail", 9, HABIT, SKIPPED), *made("p", "pass", 9, HABIT)]
    skill, discarded = evolved(tmp_path, runs, {HABIT: LOOK, SKIPPED: LESSON})
    assert LESSON in skill and LOOK not in skill
    (row,) = [row for row in discarded if LOOK in row["content"]]
    assert "in 9 of 9 failed and 9 of 9 passed" in row["reason"]


def test_a_false_friend_is_explained_by_the_cause_that_it_comes_with(tmp_path: Path) -> None:
    runs = [
        *made("a", "fail", 8, SKIPPED, LATE),
        *made("b", "fail", 4, SKIPPED),
        *made("p", "pass", 3, LATE),
        *made("q", "pass", 20, "I add up."),
    ]
    skill, discarded = evolved(tmp_path, runs, {SKIPPED: LESSON, LATE: FRIEND})
    assert LESSON in skill and FRIEND not in skill
    assert any("false friend" in row["reason"] and FRIEND in row["content"] for row in discarded)


def test_a_rare_cause_stays(tmp_path: Path) -> None:
    runs = [
        *made("a", "fail", 12, SKIPPED),
        *made("b", "fail", 2, LATE),
        *made("q", "pass", 20, "I add up."),
    ]
    skill, _ = evolved(tmp_path, runs, {SKIPPED: LESSON, LATE: FRIEND})
    assert LESSON in skill and FRIEND in skill
