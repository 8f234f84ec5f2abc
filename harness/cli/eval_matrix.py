"""`harness eval matrix`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.shared import dollars, dry_run_option, emit, json_option

if TYPE_CHECKING:
    from harness.evals.matrix.report import CellReport, MatrixReport
    from harness.evals.matrix.run import MatrixRun
    from harness.evals.matrix.spec import Cell


@click.command("matrix")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Default: runs/<id>.")
@click.option("--resume", type=click.Path(path_type=Path), help="Go on with this folder.")
@click.option("--html", type=click.Path(path_type=Path), help="Write all of it as one file.")
@click.option("--trust", is_flag=True, help="Run code that comes with the suites unsandboxed.")
@click.option("--budget-usd", type=float, help="Of all cells together.")
@click.option("--budget-tokens", type=int, help="Of all cells together.")
@click.option("--budget-calls", type=int, help="Of all cells together.")
@click.option("--concurrency", type=int, default=16, show_default=True)
@dry_run_option
@json_option
def run_matrix(
    file: Path,
    out: Path | None,
    resume: Path | None,
    html: Path | None,
    dry_run: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Run suites x models x skills x context arms from one YAML file, and compare the cells.

    FILE may be the folder of a matrix that was run: its table is printed. Cells are ordinary run
    folders; a matrix that was stopped goes on with --resume.

    \b
    name: which-model
    suites: [demo]
    models: [local/smollm2-135m, openai/gpt-4.1-mini]
    skills: [none, skills/short-answers]
    contexts: {plain: {}, warm: {sampling: {temperature: 0.7}}}
    base: {model: local/smollm2-135m, skill: none}
    limit: 50

    Example: harness eval matrix which-model.yaml --html which-model.html
    """
    from harness.core.rundir import new_run_id
    from harness.evals.matrix.report import matrix_report
    from harness.evals.matrix.run import MatrixRun, MatrixSettings
    from harness.evals.matrix.spec import read_matrix

    folder = file
    if not file.is_dir():
        folder = resume or out or Path("runs") / new_run_id("matrix")
        work = MatrixRun(read_matrix(file), file.parent, folder, MatrixSettings(**settings))
        if dry_run:
            _show_estimates(work, as_json)
            return
        _run(work)
    report = matrix_report(folder)
    if html is not None:
        _write_html(folder, html)
    told = report.model_dump(mode="json", exclude={"plots"})
    emit({"run": str(folder), **told}, as_json, f"{_table(report)}\nrun: {folder}")


def _run(work: MatrixRun) -> None:
    from harness.cli.eval import resume_command, tally_progress
    from harness.core import LimitReached

    def begun(cell: Cell, what: str) -> None:
        click.echo(f"{cell.suite} | {cell.model} | {cell.skill} | {cell.context}: {what}", err=True)

    try:
        work.run(tally_progress(), begun)
    except (LimitReached, KeyboardInterrupt) as error:
        told = resume_command(work.out)
        click.echo(f"what is finished is kept; go on with:\n  {told}", err=True)
        if isinstance(error, KeyboardInterrupt):
            raise click.Abort from error
        raise


def _show_estimates(work: MatrixRun, as_json: bool) -> None:
    from harness.cli.eval_plan import estimate_lines

    rows = [(cell, one.model_dump(mode="json")) for cell, one in work.estimates()]
    costs = [one["cost_usd"] for _, one in rows]
    total = None if None in costs else sum(costs)
    lines = [
        line for cell, one in rows
        for line in (f"{cell.suite} | {cell.model} | {cell.skill} | {cell.context}",
                     *(f"  {line}" for line in estimate_lines(one)))
    ]  # fmt: skip
    cells = [{**cell.model_dump(), "estimate": one} for cell, one in rows]
    emit(
        {"cells": cells, "cost_usd": total},
        as_json,
        "\n".join([*lines, f"{len(rows)} cells, expected cost {dollars(total)}"]),
    )


def _write_html(folder: Path, out: Path) -> None:
    from harness.debug.web import Library, write_copy

    write_copy(Library(folder), out)
    click.echo(f"wrote {out}", err=True)


def _table(report: MatrixReport) -> str:
    heads = ("suite", "model", "skill", "context", "passed", "95 %", "invalid", "difference",
             "95 %", "p (Holm)", f"{report.unit} per attempt")  # fmt: skip
    rows = [heads, *(_row(one) for one in report.cells)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(heads))]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    fake = any(one.report and one.report.simulated for one in report.cells)
    return "\n".join([
        *(["SIMULATED model: says nothing about a real one"] if fake else []),
        *lines,
        "* on the Pareto front of its suite: no cell is as cheap and better",
        f"differences are paired by task, against the cell marked base; intervals are for one "
        f"comparison each, p-values are corrected for {report.comparisons} (Holm)",
    ])  # fmt: skip


def _row(one: CellReport) -> tuple[str, ...]:
    names = (one.cell.suite, one.cell.model, one.cell.skill, one.cell.context)
    report, paired = one.report, one.versus_base
    if report is None or report.score is None:
        why = "not run" if report is None else "no valid attempt"
        return (*names, why, "", str(report.invalid) if report else "", "", "", "", "")
    difference = "base" if one.base else ""
    interval = p = ""
    if paired is not None and paired.difference is not None:
        difference, interval = f"{paired.difference:+.1%}", _interval(paired.ci95, "+")
        p = "" if one.p_holm is None else f"{one.p_holm:.3g}"
    cost = "unknown" if one.cost is None else f"{one.cost:.4g}"
    return (*names, f"{report.score:.1%}", _interval(report.ci95), str(report.invalid), difference,
            interval, p, f"{cost}{' *' if one.front else ''}")  # fmt: skip


def _interval(pair: tuple[float, float] | None, sign: str = "") -> str:
    return "" if pair is None else f"{pair[0]:{sign}.1%} to {pair[1]:{sign}.1%}"
