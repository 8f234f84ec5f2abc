"""The store: append, find again, survive a kill, stay small in memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from harness.core import AgentInfo, BadInput, Step, Trajectory
from harness.core.rundir import RunWriter
from harness.trajectories import TrajectoryStore, collect_stats, dump, open_trajectories


def make(name: str, text: str = "hello", outcome: str = "pass") -> Trajectory:
    return Trajectory(
        trajectory_id=name,
        agent=AgentInfo(name="a", version="1"),
        steps=(Step(step_id=1, source="user", message=text),),
        extra={"harness": {"outcome": outcome, "task_id": name.split("@")[0]}},
    )


def test_append_iterate_get(tmp_path: Path) -> None:
    with TrajectoryStore(tmp_path / "s") as store:
        for number in range(5):
            store.append(make(str(number), text=f"text {number}"))
    again = TrajectoryStore(tmp_path / "s")
    assert len(again) == 5
    assert again.ids == ["0", "1", "2", "3", "4"]
    assert again.get("3") == make("3", text="text 3")
    assert [t.trajectory_id for t in again] == again.ids
    assert list(open_trajectories(tmp_path / "s")) == list(again)


def test_unknown_and_taken_ids(tmp_path: Path) -> None:
    with TrajectoryStore(tmp_path / "s") as store:
        store.append(make("x"))
        with pytest.raises(BadInput, match="does not hold yet, got 'x'"):
            store.append(make("x"))
        with pytest.raises(BadInput, match="no trajectory 'y'"):
            store.get("y")


def test_one_writer(tmp_path: Path) -> None:
    with TrajectoryStore(tmp_path / "s") as first:
        first.append(make("x"))
        second = TrajectoryStore(tmp_path / "s")
        with pytest.raises(BadInput, match="another process"):
            second.append(make("y"))
        assert len(list(second)) == 1


def test_a_torn_record_is_dropped_and_the_index_made_again(tmp_path: Path) -> None:
    with TrajectoryStore(tmp_path / "s") as store:
        for name in ("a", "b", "c"):
            store.append(make(name))
    segment = tmp_path / "s" / "trajectories.seg"
    segment.write_bytes(segment.read_bytes()[:-4])
    (tmp_path / "s" / "index.jsonl").unlink()
    with TrajectoryStore(tmp_path / "s") as again:
        assert again.ids == ["a", "b"]
        again.append(make("c", text="second try"))
        again.append(make("d"))
    last = TrajectoryStore(tmp_path / "s")
    assert last.ids == ["a", "b", "c", "d"]
    assert last.get("c") == make("c", text="second try")


def test_an_index_behind_the_segment_is_made_again(tmp_path: Path) -> None:
    with TrajectoryStore(tmp_path / "s") as store:
        for name in ("a", "b"):
            store.append(make(name))
    index = tmp_path / "s" / "index.jsonl"
    index.write_text(index.read_text().splitlines()[0] + "\n")
    assert TrajectoryStore(tmp_path / "s").ids == ["a", "b"]


def test_iteration_holds_one_record(tmp_path: Path) -> None:
    with TrajectoryStore(tmp_path / "s") as store:
        for number in range(30):
            store.append(make(str(number), text=f"{number}" * 200_000))
    tracemalloc.start()
    total = sum(len(t.steps[0].message) for t in TrajectoryStore(tmp_path / "s"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total >= 10_000_000
    assert peak < 5_000_000


def test_a_run_folder_opens_the_same_way(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run", {"suite": "s"}) as run:
        run.append_trajectory(dump(make("a")))
    assert list(open_trajectories(tmp_path / "run")) == [make("a")]


def test_stats() -> None:
    found = collect_stats([make("a@0"), make("a@1", outcome="fail"), make("b", outcome="")])
    assert found.outcomes == {"pass": 1, "fail": 1, "unlabelled": 1}
    assert (found.trajectories, found.tasks, found.steps) == (3, 2, 3)
    assert found.without_tokens == 3
