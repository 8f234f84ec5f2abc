"""Make the recording that `harness demo` replays.

Run: python -m benchmarks.receipts.record_demo [--from demo-out/live]

Runs the demo live with the embedded model (or takes the calls of a live run that is finished) and
writes every call to evals/recordings/demo.jsonl.zst. The digests of the requests are verified when
the recording is read; a changed prompt, suite or function makes the replay miss, and a test fails.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.reports import Options, benchmark, option
from harness.cli import EventLines
from harness.core import assets
from harness.models import CallStore, export_calls
from harness.receipts.demo import RECORDING, run_demo


def gather(run: Path, target: Path) -> int:
    """Write the calls of every run folder below `run` to `target`; the number of calls."""
    with CallStore() as merged:
        for path in sorted(run.rglob("calls.sqlite")):
            with CallStore(path) as store:
                merged.put(store.answered())
        return export_calls(merged, target)


@benchmark(finished=option(type=Path))
def main(options: Options) -> None:
    """Record."""
    target = assets.root() / RECORDING
    if options.finished is not None:
        print(f"{gather(options.finished, target)} calls -> {RECORDING}")
        return
    with tempfile.TemporaryDirectory() as folder:
        run_demo(Path(folder), model="local/qwen2.5-coder-0.5b", tell=EventLines())
        print(f"{gather(Path(folder), target)} calls -> {RECORDING}")
