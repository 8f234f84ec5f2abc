"""Judging a finished run again: in this process, and in two worker processes.

    python -m benchmarks.fleet.regrade_workers           # again: adds a round to the report

Three kinds of judging that are work, of a run of 200 tasks and 10 attempts each: a check of the
suite that adds up a workbook (trusted, in the judging process), math-verify, and the same check in
the sandbox (a tenth of the attempts: each takes a process of its own). In turn, each in fresh
processes; CPU seconds of a command and all that it waited for, start and reading included (what
runs within the sandbox is not among them), and seconds on the wall, which say little while other
work shares the cores. The records that both leave are compared.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.endpoints import endpoint
from benchmarks.reports import earlier_report, option, read_options, report, write_suite

ROWS, COLUMNS = 120, 6
CHECK = """
from pathlib import Path

def total(task, workdir, answer):
    from openpyxl import load_workbook

    book = load_workbook(Path(workdir) / "input.xlsx", read_only=True)
    found = sum(cell for row in book.active.iter_rows(values_only=True) for cell in row)
    return int(answer) == found % 10
"""
ARMS = {"this process": (), "two workers": ("--workers", "2")}
KINDS: dict[str, tuple[str, ...]] = {
    "workbook": ("--trust-checks",),
    "math": ("--trust-checks",),
    "workbook in the sandbox": (),
}


def judged_suite(folder: Path, tasks: int, check: str) -> Path:
    """Tasks whose right answer is 4, half of them with another answer in their files."""
    from openpyxl import Workbook

    folder.mkdir()
    (folder / "check.py").write_text(CHECK)
    rows: list[dict[str, Any]] = []
    for number in range(tasks):
        row: dict[str, Any] = {"id": f"t{number}", "prompt": f"{number}: what is 2 + 2?"}
        if check == "math":
            row |= {"answer": f"\\frac{{{8 + 2 * (number % 2)}}}{{2}}", "check": "math"}
        else:
            book: Any = Workbook()
            for line in range(ROWS):
                book.active.append([(number + line * place) % 97 for place in range(COLUMNS)])
            book.save(folder / f"{number}.xlsx")
            row |= {"files": {"input.xlsx": f"{number}.xlsx"}, "check": "check.py:total"}
        rows.append(row)
    return write_suite(folder, rows)


def harness(*words: str) -> tuple[float, float]:
    """CPU seconds of a command, with all that it waited for, and seconds on the wall."""
    began = time.monotonic()
    command = [sys.executable, "-m", "harness", "eval", *words]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"failed: {' '.join(command)}")
    return used.ru_utime + used.ru_stime, time.monotonic() - began


def measured(kind: str, tasks: int, epochs: int, folder: Path, first: int) -> dict[str, Any]:
    """A round of one kind: all arms, beginning with another one each time."""
    suite = judged_suite(folder / "suite", tasks, kind)
    with endpoint() as url:
        harness(
            "run", str(suite), "--out", str(folder / "run"), "--epochs", str(epochs),
            "--trust-checks", "--sandbox", "none", "--model", "openai/mock", "--base-url", url,
        )  # fmt: skip
    arms = list(ARMS)[first:] + list(ARMS)[:first]
    result: dict[str, Any] = {"attempts": tasks * epochs}
    for arm in arms:
        out = folder / arm
        cpu, wall = harness(
            "regrade", str(folder / "run"), "--out", str(out), *KINDS[kind], *ARMS[arm]
        )
        result[arm] = {"CPU s": round(cpu, 2), "wall s": round(wall, 2)}
    local_rows, worker_rows = (
        {path.name: path.read_bytes() for path in (folder / arm).iterdir() if path.is_file()}
        for arm in ARMS
    )
    assert local_rows == worker_rows, f"{kind}: the arms have left different records"
    return result


def main() -> None:
    """Add a round to the report."""
    options = read_options(
        __doc__,
        tasks=200,
        epochs=10,
        kind=option(choices=list(KINDS), action="append"),
        folder=option(type=Path, help="for the runs; default a temporary one"),
        out=Path("evals/results/regrade_workers.json"),
    )
    os.environ.setdefault("OPENAI_API_KEY", "none")
    rounds: dict[str, list[dict[str, Any]]] = earlier_report(options.out).get("rounds", {})
    for kind in options.kind or KINDS:
        epochs = options.epochs if KINDS[kind] else max(1, options.epochs // 10)
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            earlier = rounds.setdefault(kind, [])
            earlier.append(
                measured(kind, options.tasks, epochs, Path(folder), len(earlier) % len(ARMS))
            )
    alone, spread = ARMS
    ratios = {  # medians of two workers over this process
        kind: {
            unit: round(statistics.median(row[spread][unit] / row[alone][unit] for row in rows), 2)
            for unit in ("CPU s", "wall s")
        }
        for kind, rows in rounds.items()
    }
    report({"ratios": ratios, "rounds": rounds}, options.out)


if __name__ == "__main__":
    main()
