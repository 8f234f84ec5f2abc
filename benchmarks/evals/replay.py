"""Re-execution of recorded spreadsheet runs: how many reproduce their recorded label, how fast.

`python -m benchmarks.evals.replay RUNS --tasks TASKS [--python PATH] [--workers 2] [--json]`
The JSON holds ids, booleans, reasons and times; nothing of the recorded texts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.reports import last_line, option, read_options
from harness.evals.reexecution import format_table, reexecute
from harness.sandbox import select
from harness.tasks import load_spreadsheetbench
from harness.trajectories import open_trajectories

_VERSIONS = """import json, openpyxl, pandas
print(json.dumps({"openpyxl": openpyxl.__version__, "pandas": pandas.__version__}))"""


def main() -> None:
    """Measure and print."""
    options = read_options(
        __doc__, "runs", tasks=Path, python=option(type=Path), workers=2, timeout=120.0, json=False
    )
    report = reexecute(
        open_trajectories(options.runs),
        load_spreadsheetbench(options.tasks),
        sandbox=select("auto"),
        workers=options.workers,
        timeout_s=options.timeout,
        python=options.python,
    )
    if options.json:
        packages = last_line([options.python or sys.executable, "-c", _VERSIONS])
        print(json.dumps({"packages": packages, **report.model_dump(mode="json")}, indent=1))
    else:
        print(format_table(report))


if __name__ == "__main__":
    main()
