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
from functools import partial
from pathlib import Path

from benchmarks.reports import Options, benchmark, in_turn
from harness.sandbox import Sandbox, probe_backends, select

COMMANDS = {"python": "pass", "openpyxl": "import openpyxl"}


def run_in(sandbox: Sandbox, command: list[str], folder: str) -> None:
    """Run a command in a sandbox."""
    if not sandbox.exec(command, workdir=Path(folder)).ok:
        raise SystemExit(f"{sandbox.name}: {command} failed")


@benchmark(repeats=15, json=False)
def main(options: Options) -> None:
    """Measure and print."""
    sandboxes = {report.name: select(report.name) for report in probe_backends() if report.admitted}
    rows: list[dict[str, str | float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for label, script in COMMANDS.items():
            command = [sys.executable, "-c", script]
            plain = partial(subprocess.run, command, cwd=folder, check=True, capture_output=True)
            arms: dict[str, Callable[[], object]] = {"unsandboxed": plain}
            for name, sandbox in sandboxes.items():
                arms[name] = partial(run_in, sandbox, command, folder)
            seconds = in_turn(arms, options.repeats, time.perf_counter)
            medians = {name: 1000 * statistics.median(times) for name, times in seconds.items()}
            base = medians["unsandboxed"]
            rows += [
                {"command": label, "rung": name, "ms": value, "ratio": value / base}
                for name, value in medians.items()
            ]
    if options.json:
        print(json.dumps({"selected": select().name, "repeats": options.repeats, "rows": rows}))
        return
    print("| command | back end | median ms | ratio to unsandboxed |\n|---|---|---|---|")
    for row in rows:
        print(f"| {row['command']} | {row['rung']} | {row['ms']:.1f} | {row['ratio']:.3f} |")
