"""The checkpoint store against LangGraph's SqliteSaver: size on disk and CPU time of writing.

`python -m benchmarks.debug.checkpoint_store [--steps 200 1000] [--rounds 5] [--out FILE]`
One run of a graph that appends a message of 1 kB per step is recorded; what it saved is then
written into both stores in turn, both with `synchronous = FULL`. Times are CPU seconds; on a busy
machine the fastest of the rounds says most.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver

from benchmarks.reports import Options, Result, benchmark, option
from harness.checkpoints import CheckpointStore, open_store
from tests.checkpoints.graphs import size, talk, thread

Call = tuple[str, tuple[Any, ...]]


class Recorder(CheckpointStore):
    """Notes what LangGraph asks a saver to write."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.calls: list[Call] = []

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """Note a checkpoint."""
        copy = {**checkpoint, "channel_values": dict(checkpoint["channel_values"])}
        self.calls.append(("put", (config, copy, dict(metadata), dict(new_versions))))
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        """Note a task's writes."""
        self.calls.append(("put_writes", (config, list(writes), task_id, task_path)))
        super().put_writes(config, writes, task_id, task_path)


def recorded(steps: int, *, typed: bool) -> list[Call]:
    """Make the saves of a run of `steps` steps; `typed` has LangChain messages instead of dicts."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Recorder(Path(folder) / "recorded.sqlite")) as store,
    ):
        graph = talk(steps, typed=typed).compile(checkpointer=store)
        graph.invoke({"messages": [], "turn": 0}, thread("t", 2 * steps + 10), durability="sync")
        return store.calls


def written(calls: list[Call], opened: AbstractContextManager[Any]) -> float:
    """CPU seconds that a saver takes to write the calls."""
    with opened as saver:
        if isinstance(saver, SqliteSaver):
            saver.setup()
        begun = time.process_time()
        for name, arguments in calls:
            getattr(saver, name)(*arguments)
        return time.process_time() - begun


def measure(steps: int, rounds: int, *, typed: bool) -> dict[str, Any]:
    """Sizes and times of both, `rounds` times in turn."""
    seconds: dict[str, list[float]] = {"ours": [], "sqlite_saver": []}
    sizes: dict[str, int] = {}
    savers: dict[str, Callable[[Path], AbstractContextManager[Any]]] = {
        "ours": open_store,
        "sqlite_saver": lambda path: SqliteSaver.from_conn_string(str(path)),
    }  # fmt: skip
    calls = recorded(steps, typed=typed)
    for saver in [*savers] * rounds:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "store.sqlite"
            seconds[saver].append(written(calls, savers[saver](path)))
            sizes[saver] = size(path)
    medians, fastest = (
        {saver: figure(times) for saver, times in seconds.items()}
        for figure in (statistics.median, min)
    )
    return {
        "steps": steps,
        "messages": "langchain" if typed else "dict",
        "megabytes": {saver: round(size / 1e6, 3) for saver, size in sizes.items()},
        "size_ratio": round(sizes["sqlite_saver"] / sizes["ours"], 1),
        "cpu_ms_per_step_fastest": {s: round(1e3 * t / steps, 3) for s, t in fastest.items()},
        "cpu_ms_per_step_median": {s: round(1e3 * t / steps, 3) for s, t in medians.items()},
        "time_ratio_fastest": round(fastest["ours"] / fastest["sqlite_saver"], 2),
        "time_ratio_median": round(medians["ours"] / medians["sqlite_saver"], 2),
        "time_ratio_rounds": [
            round(our_seconds / peer_seconds, 2)
            for our_seconds, peer_seconds in zip(
                seconds["ours"], seconds["sqlite_saver"], strict=True
            )
        ],
    }


@benchmark(
    steps=option(type=int, nargs="+", default=[200, 1000]),
    rounds=5,
    out=option(type=Path),
)
def main(options: Options) -> Result:
    """Measure and print."""
    results = [
        measure(steps, options.rounds, typed=typed)
        for steps in options.steps
        for typed in (False, True)
    ]
    return {"results": results}
