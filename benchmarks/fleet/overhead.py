"""CPU time of an eval sample: in one process, in two worker processes, in two Ray actors.

    python -m benchmarks.fleet.overhead            # again: adds a round to the report

The task and the mock endpoint of :mod:`benchmarks.evals.overhead`: three model calls a sample, two
files read. Every arm runs a small and a large number of samples, each in fresh processes; the
difference is what a sample costs, what is left is what the start costs. CPU seconds of every
process that the arm has started are counted (driver, workers, Ray's own daemons), by a mark in
their environment; the endpoint's are not.
"""

from __future__ import annotations

import json
import os
import secrets
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.endpoints import endpoint
from benchmarks.evals.overhead import evaluate, skill_in
from benchmarks.reports import earlier_report, last_line, option, read_options, report

MARK = "HARNESS_FLEET_OVERHEAD"
ARMS: dict[str, dict[str, Any]] = {
    "one process": {},
    "two processes": {"workers": 2},
    "two Ray actors": {"executor": "ray", "workers": 2},
}
TICKS = os.sysconf("SC_CLK_TCK")


def run_arm(arm: str, url: str, samples: int, folder: Path) -> None:
    """Run an arm in this process; prints how many passed, and the CPU seconds of this process."""
    final_report = evaluate(folder, 0, samples, url, skill_in(folder), **ARMS[arm])
    print(json.dumps({"passed": final_report.passed, "driver": time.process_time()}))


class Meter(threading.Thread):
    """CPU seconds of all processes whose environment holds a mark, the ended ones too."""

    def __init__(self, mark: str) -> None:
        super().__init__()
        self._mark, self._ended = f"{MARK}={mark}".encode(), threading.Event()
        self._seconds: dict[int, float] = {}
        self._strangers = {
            int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()
        }

    def run(self) -> None:
        """Look five times a second."""
        while not self._ended.wait(0.2):
            self._look()

    def stop(self) -> float:
        """Stop, and the sum."""
        self._ended.set()
        self.join()
        return sum(self._seconds.values())

    def _look(self) -> None:
        for path in Path("/proc").iterdir():
            if not path.name.isdigit() or int(path.name) in self._strangers:
                continue
            try:
                if self._mark in (path / "environ").read_bytes():
                    fields = (path / "stat").read_text().rpartition(")")[2].split()
                    self._seconds[int(path.name)] = (int(fields[11]) + int(fields[12])) / TICKS
            except OSError:
                continue


def once(arm: str, samples: int, url: str, where: Path | None) -> dict[str, float]:
    """CPU seconds of an arm: of the driver and of all its processes."""
    mark = secrets.token_hex(8)
    with tempfile.TemporaryDirectory(dir=where, prefix="f") as folder:
        environment = {
            **os.environ, "OPENAI_API_KEY": "none", "LANGSMITH_TRACING": "false", MARK: mark,
            "RAY_TMPDIR": folder,
        }  # fmt: skip
        environment.pop("RAY_ADDRESS", None)
        meter = Meter(mark)
        meter.start()
        command = [sys.executable, "-m", "benchmarks.fleet.overhead", "--one", arm, url,
                   samples, folder]  # fmt: skip
        figures = last_line(command, env=environment)
        total = meter.stop()
    assert figures["passed"] == samples, (arm, figures)
    return {"driver": figures["driver"], "all": total}


def slopes(few: int, many: int, url: str, where: Path | None) -> dict[str, dict[str, float]]:
    """A round: what a sample costs and what the start costs, for every arm."""
    figures: dict[str, dict[str, float]] = {}
    for arm in ARMS:
        small, large = (once(arm, samples, url, where) for samples in (few, many))
        figures[arm] = {}
        for name in ("driver", "all"):
            slope = (large[name] - small[name]) / (many - few)
            figures[arm][f"a sample: CPU ms, {name}"] = round(1000 * slope, 2)
            figures[arm][f"the start: CPU ms, {name}"] = round(1000 * (small[name] - few * slope))
    return figures


def main() -> None:
    """Add a round to the report."""
    options = read_options(
        __doc__,
        few=20,
        many=160,
        folder=option(type=Path, help="for the runs; default a temporary one"),
        out=Path("evals/results/fleet_overhead.json"),
        one=option(nargs=4, metavar=("ARM", "URL", "SAMPLES", "FOLDER")),
    )
    if options.one:
        arm, url, samples, folder = options.one
        run_arm(arm, url, int(samples), Path(folder))
        return
    old = earlier_report(options.out).get("rounds", [])
    with endpoint() as url:
        rounds = [*old, slopes(options.few, options.many, url, options.folder)]
    medians = {
        arm: {
            name: statistics.median(figures[arm][name] for figures in rounds)
            for name in rounds[0][arm]
        }
        for arm in ARMS
    }
    report(
        {"samples": [options.few, options.many], "medians": medians, "rounds": rounds}, options.out
    )


if __name__ == "__main__":
    main()
