"""`harness eval matrix`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.commands import (
    SettingsCommand,
    dollars,
    dry_run_option,
    echo,
    emit,
    json_option,
    path_type,
    resumable,
    shared_option,
)
from harness.cli.eval import estimate_lines
from harness.cli.failures import refuse_all_invalid
from harness.cli.progress import tally_progress
from harness.cli.terminal import table
from harness.core import shown
from harness.core.plugins import load

if TYPE_CHECKING:
    from harness.evals.matrix.report import CellReport, MatrixReport
    from harness.evals.matrix.run import MatrixRun
    from harness.evals.matrix.spec import Cell


@click.command("matrix", cls=SettingsCommand, settings="harness.evals.matrix.run:MatrixSettings")
@click.argument("file", type=path_type)
@shared_option("--out", help="Default: runs/<id>.")
@shared_option("--resume", help="Resume this folder.")
@shared_option("--html", help="Write all of it as one file.")
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
        with resumable(folder):
            work.run(
                tally_progress(),
                lambda cell, state: echo(f"{_named(cell)}: {state}", err=True),
            )
    report = matrix_report(folder)
    if html is not None:
        load("pages", "runs")(folder, html)
        echo(f"wrote {html}", err=True)
    fields = report.model_dump(mode="json", exclude={"plots"})
    emit({"run": str(folder), **fields}, as_json, shown([_table(report), f"run: {folder}"]))
    begun = [row for row in report.cells if row.report is not None and row.report.items]
    refuse_all_invalid(
        [row.report for row in begun if row.report is not None],
        [folder / row.run for row in begun],
    )


def _named(cell: Cell) -> str:
    return f"{cell.suite} | {cell.model} | {cell.skill} | {cell.context}"


def _show_estimates(work: MatrixRun, as_json: bool) -> None:
    rows = [(cell, estimate.model_dump(mode="json")) for cell, estimate in work.estimates()]
    costs = [estimate["cost_usd"] for _, estimate in rows]
    total = None if None in costs else sum(costs)
    lines = [
        line for cell, estimate in rows
        for line in (_named(cell), *(f"  {line}" for line in estimate_lines(estimate)))
    ]  # fmt: skip
    lines.append(f"{len(rows)} cells, expected cost {dollars(total)}")
    cells = [{**cell.model_dump(), "estimate": estimate} for cell, estimate in rows]
    emit({"cells": cells, "cost_usd": total}, as_json, "\n".join(lines))


def _table(report: MatrixReport) -> str:
    heads = ("suite", "model", "skill", "context", "passed#", "95 %", "invalid#", "difference#",
             "95 %", "p (Holm)#", f"{report.unit} per attempt#")  # fmt: skip
    simulated = any(cell.report and cell.report.simulated for cell in report.cells)
    return shown([
        *(["SIMULATED model: says nothing about a real one"] if simulated else []),
        table(heads, [_row(cell) for cell in report.cells]),
        "* on the Pareto front of its suite: no cell is as cheap and better",
        *(
            f"{suite}: intervals are by group, {groups} groups"
            for suite, groups in {
                cell.cell.suite: cell.report.groups for cell in report.cells if cell.report
            }.items()
            if groups
        ),
        f"differences are paired by task, against the cell marked base; intervals are for one "
        f"comparison each, p-values are corrected for {report.comparisons} (Holm)",
    ])  # fmt: skip


def _row(row: CellReport) -> tuple[str, ...]:
    def percentages(pair: tuple[float, float] | None, sign: str = "") -> str:
        return "" if pair is None else f"{pair[0]:{sign}.1%} to {pair[1]:{sign}.1%}"

    names = (row.cell.suite, row.cell.model, row.cell.skill, row.cell.context)
    report, paired = row.report, row.versus_base
    if report is None or report.score is None:
        why = "not run" if report is None else "no valid attempt"
        return (*names, why, "", str(report.invalid) if report else "", "", "", "", "")
    difference, spread, p = "base" if row.base else "", "", ""
    if paired is not None and paired.difference is not None:
        difference, spread = f"{paired.difference:+.1%}", percentages(paired.ci95, "+")
        p = "" if row.p_holm is None else f"{row.p_holm:.3g}"
    cost = "unknown" if row.cost is None else f"{row.cost:.4g}"
    score = f"{report.score:.1%}"
    return (*names, score, percentages(report.ci95), str(report.invalid), difference, spread, p,
            f"{cost}{' *' if row.front else ''}")  # fmt: skip
