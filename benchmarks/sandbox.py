"""Overhead of each sandbox back end over the same command unsandboxed.

Interleaved repeats, medians, ratios. `python -m benchmarks.sandbox [--repeats N] [--json]`
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.reports import read_options
from harness.sandbox import probe_backends, select

COMMANDS = {"python": "pass", "openpyxl": "import openpyxl"}


def main() -> None:
    """Measure and print."""
    options = read_options(__doc__, repeats=15, json=False)
    admitted = [report.name for report in probe_backends() if report.admitted]
    rows: list[dict[str, str | float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for label, script in COMMANDS.items():
            rows += measure(
                label, [sys.executable, "-c", script], admitted, folder, options.repeats
            )
    if options.json:
        print(json.dumps({"selected": select().name, "repeats": options.repeats, "rows": rows}))
        return
    print("| command | back end | median ms | ratio to unsandboxed |\n|---|---|---|---|")
    for row in rows:
        print(f"| {row['command']} | {row['rung']} | {row['ms']:.1f} | {row['ratio']:.3f} |")


def measure(
    label: str, command: list[str], names: list[str], folder: str, repeats: int
) -> list[dict[str, str | float]]:
    """Median milliseconds and ratio of a command, plainly and in each back end in turn."""

    def plain() -> None:
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    def boxed(name: str) -> Callable[[], None]:
        sandbox = select(name)

        def run() -> None:
            if not sandbox.exec(command, workdir=Path(folder)).ok:
                raise SystemExit(f"{name}: {command} failed")

        return run

    runs = {"unsandboxed": plain, **{name: boxed(name) for name in names}}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats + 1):
        for name, run in runs.items():
            begin = time.perf_counter()
            run()
            times[name].append(1000 * (time.perf_counter() - begin))
    medians = {name: statistics.median(values[1:]) for name, values in times.items()}
    base = medians["unsandboxed"]
    return [
        {"command": label, "rung": name, "ms": value, "ratio": value / base}
        for name, value in medians.items()
    ]


if __name__ == "__main__":
    main()
