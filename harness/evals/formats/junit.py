"""Eval runs as JUnit XML, for continuous integration."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from harness.core import write_atomic
from harness.core.junit import JUnitCase, junit
from harness.evals.report import ItemRecord, records


def write_junit(runs: Iterable[Path], out: Path) -> None:
    """Write run folders as JUnit XML: a suite per folder, a case per attempt.

    Invalid attempts are errors, not failures.

    Raises:
        BadInput: if one is no run folder or `out` cannot be written.
    """

    def case(item: ItemRecord) -> JUnitCase:
        seconds = item.usage.seconds
        if item.outcome == "pass":
            return JUnitCase(item.id, seconds=seconds)
        kind = "error" if item.outcome == "invalid" else "failure"
        text = "" if item.answer is None else f"answer: {item.answer}"
        return JUnitCase(item.id, kind, item.reason, item.outcome, text, seconds)

    write_atomic(out, junit({run.name: map(case, records(run)) for run in runs}))
