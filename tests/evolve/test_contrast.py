"""What a quote shows must not be more frequent in runs that passed."""

from __future__ import annotations

from harness.core import Trajectory
from harness.evolve.artifacts import ArtifactStore
from harness.evolve.merge.evidence import Contrast, pattern
from harness.evolve.types import AnalystRecord, MemoryItem
from tests.evolve.conftest import trajectory

CAUSE, HABIT = "I skipped the hidden rows.", "I opened the sheet with 12 rows."


def _runs(failed: int, passed: int) -> list[Trajectory]:
    """All open the sheet, each with another number of rows; failed ones skip some of them."""
    opened = [f"I opened the sheet with {n} rows." for n in range(failed + passed)]
    return [
        *(trajectory(f"f{n}", "fail", f"{opened[n]}\n{CAUSE}") for n in range(failed)),
        *(trajectory(f"p{n}", "pass", opened[failed + n]) for n in range(passed)),
    ]


def _contrast(runs: list[Trajectory]) -> Contrast:
    store = ArtifactStore()
    return Contrast.of(store.take_in(runs).runs, store)


def _record(*evidence: tuple[str, ...], kind: str = "error") -> AnalystRecord:
    items = [
        MemoryItem(title="T", lesson=f"Lesson {n}.", evidence=e) for n, e in enumerate(evidence)
    ]
    return AnalystRecord.model_validate(
        {"kind": kind, "trajectory_id": "f0", "task_id": "f0", "items": items}
    )


def test_a_pattern_leaves_out_what_belongs_to_one_task() -> None:
    assert pattern('"Sum of  1,204.50 at 12:30"') == pattern("sum of 7 at 9:05") == "sum of # at #"
    assert pattern("row A") != pattern("row B")


def test_what_every_run_shows_is_not_called_ordinary() -> None:
    contrast = _contrast(_runs(20, 20))
    assert not contrast.ordinary(HABIT, "f0")
    assert not contrast.ordinary(CAUSE, "f0")


def test_what_passed_runs_show_more_often_explains_no_failure() -> None:
    quiet = [trajectory(f"q{n}", "fail", CAUSE) for n in range(20)]
    contrast = _contrast([*_runs(3, 20), *quiet])
    record, losses = contrast.sift(_record((HABIT,), (HABIT, CAUSE), (CAUSE,), ()))
    assert record is not None
    assert [item.lesson for item in record.items] == ["Lesson 1.", "Lesson 2.", "Lesson 3."]
    assert [loss.trajectory_id for loss in losses] == ["f0"]
    assert "more often" in losses[0].reason and HABIT in losses[0].reason


def test_successes_and_few_runs_are_left_alone() -> None:
    quiet = [trajectory(f"q{n}", "fail", CAUSE) for n in range(20)]
    many, few = _contrast([*_runs(3, 20), *quiet]), _contrast(_runs(1, 1))
    assert many.sift(_record((HABIT,), kind="success"))[1] == ()
    assert few.sift(_record((HABIT,)))[1] == ()
    assert many.sift(_record((HABIT,)))[0] is None


def test_a_task_counts_once_and_a_long_run_by_head_and_tail() -> None:
    again = [trajectory("p0", "pass", "I opened the sheet with 3 rows.")] * 3
    long = trajectory("long", "pass", "start " + "x" * 200_000 + " end of it")
    contrast = _contrast([*_runs(2, 1), *again, long])
    assert len(contrast.passed) == 2
    assert "start x" in "".join(contrast.passed.values())
    assert max(map(len, contrast.passed.values())) < 61_000
