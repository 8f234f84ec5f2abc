"""A sheet of accepted tasks for a person to label, and the share of faulty ones by it."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from random import Random

from harness.core import BadInput, Value, csv_rows, write_atomic
from harness.core.rundir import RunReader
from harness.corpora import SOURCES, parse_sources
from harness.stats import wilson
from harness.synth.types import Record

SHEET = "audit.csv"
HEADS = ("id", "question", "answer", "from", "evidence", "faulty", "why")
_LABELS = {"yes": True, "y": True, "1": True, "true": True,
           "no": False, "n": False, "0": False, "false": False}  # fmt: skip


class Audit(Value):
    """Findings from a labelled sheet.

    Attributes:
        sheet: its path.
        tasks: on it.
        labelled: of them.
        faulty: labelled so.
        share: of the labelled ones; None without any.
        ci95: Wilson's interval of the share among all accepted tasks.
    """

    sheet: str
    tasks: int
    labelled: int
    faulty: int
    share: float | None
    ci95: tuple[float, float] | None


def write_sheet(run: Path, count: int, seed: int) -> Path:
    """Draw tasks and write `audit.csv`; a sheet that is there is left as it is.

    Raises:
        BadInput: if the run accepted nothing.
    """
    path = run / SHEET
    if path.exists():
        return path
    accepted = [
        record.proposal
        for row in RunReader(run).items()
        if (record := Record.model_validate(row["record"])).decision == "accepted"
    ]
    if not accepted:
        raise BadInput(f"{str(run)!r} has no accepted task to label")
    drawn = Random(seed).sample(accepted, min(count, len(accepted)))
    library = run / "library" / SOURCES
    texts = library.read_text("utf-8") if library.is_file() else ""
    sources = {row.id: row.text for row in parse_sources(SOURCES, texts)}
    text = io.StringIO(newline="")
    sheet = csv.writer(text)
    sheet.writerow(HEADS)
    for task in drawn:
        quotes = [sources.get(part.doc, "")[part.start : part.end] for part in task.passages]
        cells = [task.id, task.question, " | ".join(task.answers), " | ".join(task.origin[:5]),
                 "\n---\n".join(quotes)[:3000]]  # fmt: skip
        # No spreadsheet program takes them for formulas: their text comes from strangers.
        plain = (
            f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell for cell in cells
        )
        sheet.writerow([*plain, "", ""])
    write_atomic(path, text.getvalue())
    return path


def read_sheet(path: Path) -> Audit:
    """The estimate of a sheet; rows without a label are counted and left out.

    Raises:
        BadInput: if it is none, or a label is neither yes nor no.
    """
    lines = csv_rows(path)
    _, header = next(lines, (0, list[str]()))
    rows = [dict(zip(header, cells, strict=False)) for _, cells in lines]
    labels: list[bool] = []
    for number, row in enumerate(rows, start=2):
        label = (row.get("faulty") or "").strip().lower()
        if label and label not in _LABELS:
            raise BadInput(
                f"{path}, row {number}: expected 'faulty' to be yes or no, got {label!r}"
            )
        labels += [_LABELS[label]] if label else []
    faulty, n = sum(labels), len(labels)
    return Audit(
        sheet=str(path), tasks=len(rows), labelled=n, faulty=faulty,
        share=faulty / n if n else None, ci95=wilson(faulty, n),
    )  # fmt: skip
