"""What the cells of a matrix say: rates with intervals, paired differences, cost, Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.core import Value
from harness.core.rundir import RunReader
from harness.evals.matrix.spec import AXES, Cell, MatrixLock, read_lock
from harness.evals.pass_rates import compare_paired
from harness.evals.plot import Point, cost_plot, pareto
from harness.evals.runner import finished_items, summarise
from harness.evals.types import EvalReport, ItemRecord
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
    runs = {cell: read for cell in lock.cells if (read := _read(folder / cell.folder)) is not None}
    unit = _unit([report for report, _ in runs.values()])
    rows = [_row(lock, cell, runs, unit) for cell in lock.cells]
    compared = [row for row in rows if row.versus_base and row.versus_base.p is not None]
    corrected = holm([row.versus_base.p or 0.0 for row in compared if row.versus_base])
    by_run = {row.run: p for row, p in zip(compared, corrected, strict=True)}
    rows = [row.model_copy(update={"p_holm": by_run.get(row.run)}) for row in rows]
    plots: dict[str, str] = {}
    for suite in lock.base:
        plot = _plot(
            f"{lock.name}: {suite}", [row for row in rows if row.cell.suite == suite], unit
        )
        if plot is not None:
            plots[suite], front = plot
            rows = [
                row.model_copy(update={"front": True}) if row.run in front else row for row in rows
            ]
    return MatrixReport(
        name=lock.name, unit=unit, comparisons=len(compared), cells=tuple(rows), plots=plots
    )


Read = tuple[EvalReport, list[ItemRecord]]


def _read(run: Path) -> Read | None:
    if not (run / "run.json").is_file():
        return None
    reader = RunReader(run)
    items = finished_items(reader)
    seconds = sum(item.usage.seconds for item in items)
    return summarise(reader.lock, run.name, items, seconds), items


def _unit(reports: Sequence[EvalReport]) -> str:
    prices = [report.cost_usd for report in reports]
    known = prices and all(price is not None for price in prices) and any(prices)
    return "US dollars" if known else "tokens"


def _row(lock: MatrixLock, cell: Cell, runs: dict[Cell, Read], unit: str) -> CellReport:
    base = lock.base[cell.suite]
    found, other = runs.get(cell), runs.get(base)
    row = CellReport(cell=cell, run=cell.folder, report=found and found[0], base=cell == base)
    if found is None:
        return row
    report, items = found
    spent = report.tokens if unit == "tokens" else report.cost_usd
    return row.model_copy(
        update={
            "versus_base": compare_paired(other[1], items) if other and cell != base else None,
            "cost": spent / report.items if spent is not None and report.items else None,
            "seconds": report.seconds / report.items if report.items else None,
        }
    )


def _plot(title: str, rows: Sequence[CellReport], unit: str) -> tuple[str, set[str]] | None:
    shown = [
        (row.run, _point(_label(row.cell, rows), row.report, row.cost))
        for row in rows
        if row.report is not None and row.report.score is not None and row.cost is not None
    ]
    if not shown:
        return None
    points = [point for _, point in shown]
    return cost_plot(points, title, unit), {shown[at][0] for at in pareto(points)}


def _point(label: str, report: EvalReport, cost: float) -> Point:
    rate = report.score or 0.0
    low, high = report.ci95 or (rate, rate)
    return Point(label=label, cost=cost, quality=rate, low=low, high=high)


def _label(cell: Cell, rows: Sequence[CellReport]) -> str:
    """The names that tell it from the other cells of its suite."""
    axes = [axis for axis in AXES[1:] if len({getattr(row.cell, axis) for row in rows}) > 1]
    return ", ".join(getattr(cell, axis) for axis in axes) or cell.model
