"""An eval run as JUnit XML: a case for every attempt; what is invalid is an error, no failure."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from harness.core import write_atomic
from harness.core.junit import JUnitCase, junit
from harness.core.rundir import RunReader
from harness.evals.runner import finished_items
from harness.evals.types import ItemRecord


def write_junit(runs: Iterable[Path], out: Path) -> None:
    """Write run folders as one document, each a test suite with its folder's name.

    Raises:
        BadInput: if one is no run folder or `out` cannot be written.
    """
    found = {run.name: list(map(_case, finished_items(RunReader(run)))) for run in runs}
    write_atomic(out, junit(found))


def _case(item: ItemRecord) -> JUnitCase:
    seconds = item.usage.seconds
    if item.outcome == "pass":
        return JUnitCase(item.id, seconds=seconds)
    kind = "error" if item.outcome == "invalid" else "failure"
    text = "" if item.answer is None else f"answer: {item.answer}"
    return JUnitCase(item.id, kind, item.reason, item.outcome, text, seconds)
