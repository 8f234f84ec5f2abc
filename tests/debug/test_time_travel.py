"""Forks and replays from the checkpoints of every shape, compared with a fresh run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.checkpoints import CheckpointStore, open_store
from harness.debug import Debugger, Point, Stop, compare
from tests.debug.shapes import Log, Shape
from tests.debug.suite import SHAPES


class Watched(CheckpointStore):
    """The store, noting how much of the log was there when a checkpoint was saved."""

    def __init__(self, path: Path, log: Log) -> None:
        super().__init__(path)
        self.log = log
        self.seen: dict[str, int] = {}

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        # The input is saved beside the first tasks: on a busy machine, after one of them.
        begins = metadata["step"] < 0 and not config["configurable"].get("checkpoint_ns")
        self.seen.setdefault(checkpoint["id"], 0 if begins else len(self.log))
        return super().put(config, checkpoint, metadata, new_versions)


def finish(debugger: Debugger, stop: Stop, answers: tuple[Any, ...]) -> Any:
    """Run to the end; what was answered before is asked again if it lies behind the fork."""
    while not stop.ended:
        stop = debugger.go()
    left = list(answers)
    while stop.reason == "interrupt":
        asked = str(next(iter(stop.interrupts.values())))
        if asked == "second?":
            left = left[-1:]
        stop = debugger.answer(left.pop(0))
    assert stop.reason == "done", stop
    return stop.values


@pytest.mark.parametrize(
    "every", [pytest.param(1, marks=pytest.mark.full, id="every"), pytest.param(4, id="fourth")]
)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_fork_runs_only_what_follows(shape: Shape, every: int, tmp_path: Path) -> None:
    """From every checkpoint, or from every fourth one: which, differs from shape to shape."""
    log: Log = []
    graph = shape.build(log)
    store = Watched(tmp_path / "c.sqlite", log)
    debugger = Debugger(graph, store)
    start: Any = shape.start or {"path": []}
    expected = finish(debugger, debugger.start(start, hold=False), shape.answers)
    whole, trail = list(log), debugger.history().trail()
    for moment in trail[SHAPES.index(shape) % min(every, len(trail)) :: every]:
        log.clear()
        stop = debugger.fork(Point(moment.ns, moment.id), of="main", hold=False)
        again = finish(debugger, stop, shape.answers)
        place = f"{moment.ns!r} step {moment.step}"
        assert again == expected, place
        rest = whole[store.seen[moment.id] :]
        if shape.sequential:
            assert log == rest, place
        else:
            assert not Counter(log) - Counter(rest), place
    debugger.quit()
    store.close()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_replay_runs_no_node_and_comes_to_the_same_states(shape: Shape, tmp_path: Path) -> None:
    log: Log = []
    with open_store(tmp_path / "c.sqlite") as store:
        debugger = Debugger(shape.build(log), store)
        start: Any = shape.start or {"path": []}
        expected = finish(debugger, debugger.start(start, hold=False), shape.answers)
        log.clear()
        stop = debugger.replay("main")
        assert (stop.reason, stop.values) == ("done", expected)
        assert log == []
        assert debugger.branch is not None
        both = [debugger.history(name) for name in ("main", debugger.branch.name)]
        steps = [pair for pair in compare(*both).pairs if pair.place[0] == ()]
        assert steps
        assert all(pair.same for pair in steps)
        debugger.quit()


def test_there_are_thirty_shapes_and_no_two_of_one_name() -> None:
    assert len({shape.name for shape in SHAPES}) == len(SHAPES) >= 30
