"""Re-execution of recorded spreadsheet runs: how many reproduce their recorded label, how fast.

`python -m benchmarks.evals.replay RUNS --tasks TASKS [--python PATH] [--workers 2] [--json]`
The JSON holds ids, booleans, reasons and times; nothing of the recorded texts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from harness.evals.reexecution import format_table, reexecute
from harness.sandbox import select
from harness.tasks import load_spreadsheetbench
from harness.trajectories import open_trajectories

_VERSIONS = "import openpyxl, pandas; print(openpyxl.__version__, pandas.__version__)"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--python", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=120.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report = reexecute(
        open_trajectories(options.runs),
        load_spreadsheetbench(options.tasks),
        sandbox=select("auto"),
        workers=options.workers,
        timeout_s=options.timeout,
        python=options.python,
    )
    if options.json:
        result = {"packages": packages(options.python), **report.model_dump(mode="json")}
        print(json.dumps(result, indent=1))
    else:
        print(format_table(report))


def packages(python: Path | None) -> dict[str, str]:
    """Versions of what the recorded code uses most."""
    command = [str(python or sys.executable), "-c", _VERSIONS]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return {"openpyxl": answer[0], "pandas": answer[1]}


if __name__ == "__main__":
    main()
