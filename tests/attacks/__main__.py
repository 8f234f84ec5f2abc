"""`python -m tests.attacks`: every attack on this machine, as this user, and a Markdown table.

Attacks on the harness are the tests of this folder, one row each; attacks in a sandbox are the
storm that `harness doctor` runs, a column for each back end. Exit code 1 if one got through.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from harness.sandbox import probe_backends

HERE = Path(__file__).parent
RESULTS = {"passed": "held", "failed": "**got through**", "skipped": "not tried"}


class Rows:
    """Collects a row for each test function: several cases of one attack are one."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], str] = {}
        self.cases: defaultdict[tuple[str, str], list[str]] = defaultdict(list[str])

    def pytest_collection_modifyitems(self, items: list[pytest.Function]) -> None:
        """Remember what each test says of itself."""
        for item in items:
            where = item.path.stem.removeprefix("test_").replace("_", " ")
            self.rows[item.nodeid.partition("[")[0], where] = str(
                getattr(item.obj, "__doc__", "")
            ).strip()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember how it ended."""
        if report.when == "call" or report.outcome != "passed":
            name = report.nodeid.partition("[")[0]
            key = next(key for key in self.rows if key[0] == name)
            self.cases[key].append(report.outcome)

    def table(self) -> list[str]:
        """The rows in Markdown."""
        lines = ["| attack | where | result |", "|---|---|---|"]
        for key, says in self.rows.items():
            worst = min(self.cases[key] or ["skipped"], key=["failed", "skipped", "passed"].index)
            lines.append(f"| {says.rstrip('.')} | {key[1]} | {RESULTS[worst]} |")
        return lines


def main() -> int:
    """Run all attacks; print the tables."""
    rows = Rows()
    os.chdir(HERE.parent.parent)
    with Path(os.devnull).open("w") as quiet:
        shown, sys.stdout = sys.stdout, quiet
        try:
            code = pytest.main(["-q", "-p", "no:cacheprovider", "--tb=no", str(HERE)], [rows])
        finally:
            sys.stdout = shown
    reports = probe_backends(refresh=True)
    user = "root" if os.geteuid() == 0 else "an unprivileged user"
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                            check=False).stdout.strip()  # fmt: skip
    print(f"As {user}, Linux {platform.release()}, Python {platform.python_version()}, {commit}.\n")
    print("\n".join(rows.table()))
    tried = [report for report in reports if report.available]
    names = [*tried[0].stopped, *tried[0].escaped] if tried else []
    print("\n| attack in a sandbox |", " | ".join(report.name for report in tried), "|")
    print("|---|" + "---|" * len(tried))
    for name in names:
        cells = ("**got through**" if name in report.escaped else "held" for report in tried)
        print(f"| {name.replace('_', ' ')} |", " | ".join(cells), "|")
    for report in reports:
        if report not in tried:
            print(f"\n{report.name}: {report.reason}")
    return 1 if code or any(report.escaped for report in tried) else 0


if __name__ == "__main__":
    sys.exit(main())
