"""`harness eval import`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.shared import emit, json_option


@click.command("import")
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Default: runs/<id>.")
@json_option
def import_log(log: Path, out: Path | None, as_json: bool) -> None:
    """Read an .eval log of inspect as a run, which compare and view can read.

    Example: harness eval import logs/2026-11-22_task.eval --out runs/theirs
    """
    from harness.cli.eval import report_text
    from harness.core.rundir import RunReader, new_run_id
    from harness.evals.inspect_import import import_inspect

    folder = out or Path("runs") / new_run_id("inspect")
    report = import_inspect(log, folder)
    theirs = RunReader(folder).lock["inspect"]
    lines = [
        f"inspect says {name}: {', '.join(f'{key} {_shown(one)}' for key, one in found.items())}"
        for name, found in theirs["scores"].items()
    ]
    emit(
        {**report.model_dump(mode="json"), "inspect": theirs}, as_json,
        "\n".join([report_text(report), *lines]),
    )  # fmt: skip


def _shown(value: Any) -> str:
    """A metric for people; one that was no number in the log (NaN) is none."""
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, int | float) else str(value)
