"""Report of a matrix: rates with intervals, paired differences, cost, Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.core import Value
from harness.evals.matrix.plot import Point, cost_plot, pareto
from harness.evals.matrix.spec import AXES, Cell, MatrixLock, read_lock
from harness.evals.report import EvalReport, ItemRecord, compare_paired, read_report, records
from harness.stats import PairedComparison, holm


class CellReport(Value):
    """One cell.

    Attributes:
        cell: its names on the axes.
        run: its run folder, below the matrix.
        report: of its run; None where it has not begun.
        base: whether others are compared with it.
        versus_base: paired comparison with the base cell of its suite; None for that itself.
        p_holm: of that comparison, corrected for all comparisons of the matrix (Holm 1979).
        cost: per attempt, in the matrix's `unit`; None if unknown.
        seconds: per attempt.
        front: whether no cell of its suite is both as cheap and better.
    """

    cell: Cell
    run: str
    report: EvalReport | None
    base: bool
    versus_base: PairedComparison | None = None
    p_holm: float | None = None
    cost: float | None = None
    seconds: float | None = None
    front: bool = False


class MatrixReport(Value):
    """A whole matrix.

    Attributes:
        unit: what `cost` counts: US dollars where all prices are known and one is above nothing,
            else tokens.
        comparisons: p-values that Holm's correction takes together.
        plots: suite -> SVG of quality against cost.
    """

    name: str
    unit: str
    comparisons: int
    cells: tuple[CellReport, ...]
    plots: dict[str, str] = {}


def matrix_report(folder: Path) -> MatrixReport:
    """The report of a matrix folder, finished or not.

    Raises:
        BadInput: if it holds no matrix.
    """
    lock = read_lock(folder)
    runs = {
        cell: (read_report(folder / cell.folder), records(folder / cell.folder))
        for cell in lock.cells
        if (folder / cell.folder / "run.json").is_file()
    }
    prices = [report.cost_usd for report, _ in runs.values()]
    priced = prices and all(price is not None for price in prices) and any(prices)
    unit = "US dollars" if priced else "tokens"
    rows = [_row(lock, cell, runs, unit) for cell in lock.cells]
    compared = [row for row in rows if row.versus_base and row.versus_base.p is not None]
    corrected = holm([row.versus_base.p or 0.0 for row in compared if row.versus_base])
    by_run = {row.run: p for row, p in zip(compared, corrected, strict=True)}
    rows = [row.model_copy(update={"p_holm": by_run.get(row.run)}) for row in rows]
    plots: dict[str, str] = {}
    front: set[str] = set()
    for suite in lock.base:
        cells = [row for row in rows if row.cell.suite == suite]
        measured = [row for row in cells if row.report and row.report.score is not None]
        measured = [row for row in measured if row.cost is not None]
        points = [_point(row, cells) for row in measured]
        if points:
            plots[suite] = cost_plot(points, f"{lock.name}: {suite}", unit)
            front |= {measured[index].run for index in pareto(points)}
    rows = [row.model_copy(update={"front": row.run in front}) for row in rows]
    return MatrixReport(
        name=lock.name, unit=unit, comparisons=len(compared), cells=tuple(rows), plots=plots
    )


def _row(
    lock: MatrixLock, cell: Cell, runs: dict[Cell, tuple[EvalReport, list[ItemRecord]]], unit: str
) -> CellReport:
    base = lock.base[cell.suite]
    if cell not in runs:
        return CellReport(cell=cell, run=cell.folder, report=None, base=cell == base)
    report, items = runs[cell]
    spent = report.tokens if unit == "tokens" else report.cost_usd
    versus = compare_paired(runs[base][1], items) if base in runs and cell != base else None
    return CellReport(
        cell=cell,
        run=cell.folder,
        report=report,
        base=cell == base,
        versus_base=versus,
        cost=spent / report.items if spent is not None and report.items else None,
        seconds=report.seconds / report.items if report.items else None,
    )


def _point(row: CellReport, cells: Sequence[CellReport]) -> Point:
    """A cell in the plot, labelled by the names that tell it from the other cells of its suite."""
    axes = [axis for axis in AXES[1:] if len({getattr(cell.cell, axis) for cell in cells}) > 1]
    label = ", ".join(getattr(row.cell, axis) for axis in axes) or row.cell.model
    assert row.report is not None
    rate = row.report.score or 0.0
    low, high = row.report.ci95 or (rate, rate)
    return Point(label=label, cost=row.cost or 0.0, quality=rate, low=low, high=high)
