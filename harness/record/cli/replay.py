"""`harness trajectories replay`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import Progress, emit, json_option, path_type, shared_option

if TYPE_CHECKING:
    from harness.evals.reexecution import Recalculation


@click.command(short_help="Run the recorded code again and score it.")
@click.argument("path", type=path_type)
@click.option("--tasks", type=path_type, required=True, help="SpreadsheetBench folder or JSONL.")
@click.option("--recalc", type=click.Choice(["both", "on", "off"]), default="both")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True)
@click.option("--timeout", type=float, default=120.0, show_default=True, help="Seconds of a run.")
@click.option(
    "--python", type=path_type, help="Interpreter with other packages, e.g. older pandas."
)
@shared_option("--sandbox", help="Back end: `harness doctor`.")
@shared_option("--out", help="Keep the work folders of the runs here.")
@json_option
def replay(
    path: Path,
    tasks: Path,
    recalc: Recalculation,
    workers: int,
    timeout: float,
    python: Path | None,
    sandbox: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run the code recorded in PATH again, score it and compare with the recorded labels.

    Example: harness trajectories replay runs.jsonl --tasks spreadsheetbench_tasks.jsonl
    """
    from harness.evals.reexecution import format_table, reexecute
    from harness.sandbox import select
    from harness.tasks import load_spreadsheetbench
    from harness.trajectories import open_trajectories

    runs = list(open_trajectories(path))
    shown = Progress(len(runs), "replay")
    report = reexecute(
        runs,
        load_spreadsheetbench(tasks),
        sandbox=select(sandbox),
        recalc=recalc,
        workers=workers,
        timeout_s=timeout,
        python=python,
        out=out,
        progress=lambda finished, _: shown.update(finished, None, 0, 0, None),
    )
    emit(report, as_json, format_table(report))
