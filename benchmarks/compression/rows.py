"""Rows of a benchmark that are kept while it runs, and what they say together, with intervals."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from harness.core import write_atomic
from harness.stats import wilson


def interval(hits: int, count: int) -> list[float]:
    """Wilson's, 95 %, in percent."""
    low, high = wilson(hits, count) or (0.0, 1.0)
    return [round(100 * low, 1), round(100 * high, 1)]


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Recall of pieces of evidence, and of samples with all of theirs, with intervals."""
    pieces, retained = sum(row["of"] for row in rows), sum(row["kept"] for row in rows)
    complete = sum(row["kept"] == row["of"] for row in rows)
    timed = [row["seconds"] for row in rows if "seconds" in row]
    return {
        "samples": len(rows),
        "evidence": [
            retained,
            pieces,
            round(100 * retained / pieces, 2),
            interval(retained, pieces),
        ],
        "whole": [
            complete,
            len(rows),
            round(100 * complete / len(rows), 2),
            interval(complete, len(rows)),
        ],
        "most of the input": round(100 * max(row["share"] for row in rows), 2),
        "CPU seconds, median": median(timed) if timed else None,
    }


class Results:
    """Rows by arm and task, kept in a file beside the report.

    Args:
        path: of the report.
        rows: where every run is kept.
        length: of the samples.
        together: tasks that are summed up as "all needles".
    """

    def __init__(self, path: Path, rows: Path, length: int, together: Sequence[str]) -> None:
        self._path, self._rows, self._together = path, rows, together
        self._length = length
        self.found: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
        if self._rows.exists():
            for line in self._rows.read_text(encoding="utf-8").splitlines():
                self._put(json.loads(line))

    def has(self, arm: str, task: str, id_: str) -> bool:
        """Whether a sample was measured."""
        return id_ in self.found.get(arm, {}).get(task, {})

    def add(self, arm: str, task: str, id_: str, make: Callable[[], dict[str, Any]]) -> None:
        """Measure a sample."""
        row = {"arm": arm, "task": task, "id": id_, **make()}
        self._rows.parent.mkdir(parents=True, exist_ok=True)
        with self._rows.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        self._put(row)

    def write(self) -> None:
        """Write the report."""
        report = {
            "tokens": self._length,
            "arms": {
                arm: {task: summary(list(rows.values())) for task, rows in tasks.items()}
                | {"all needles": self._needles(tasks)}
                for arm, tasks in self.found.items()
            },
        }
        write_atomic(self._path, json.dumps(report, indent=1) + "\n")

    def _needles(self, tasks: dict[str, dict[str, dict[str, Any]]]) -> dict[str, Any]:
        rows = [row for task in self._together for row in tasks.get(task, {}).values()]
        return summary(rows) if rows else {}

    def _put(self, row: dict[str, Any]) -> None:
        self.found.setdefault(row["arm"], {}).setdefault(row["task"], {})[row["id"]] = row
