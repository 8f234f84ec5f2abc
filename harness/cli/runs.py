"""`harness runs`."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from harness.cli.shared import emit, json_option
from harness.core.errors import BadInput


@click.group()
def runs() -> None:
    """List and prune run folders."""


@runs.command("list")
@click.argument("folder", default="runs", type=click.Path(path_type=Path))
@json_option
def list_runs(folder: Path, as_json: bool) -> None:
    """List the runs in FOLDER, newest last.

    Example: harness runs list
    """
    from harness.core.rundir import RunReader

    found = [RunReader(path.parent) for path in sorted(folder.glob("*/run.json"))]
    rows = [
        {"run": str(run.path), "items": len({row["id"] for row in run.items()}), **run.lock}
        for run in found
    ]
    text = "\n".join(
        f"{row['run']}  {row['items']} items  {row.get('suite')}  {row.get('model')}"
        for row in rows
    )
    emit(rows, as_json, text or f"no runs in {folder}")


@runs.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do it; without, only say what would go.")
def prune(run: Path, yes: bool) -> None:
    """Remove the work folders and checkpoints of RUN; records and calls stay.

    Example: harness runs prune runs/eval-20261121-045501-9f3a --yes
    """
    if not (run / "run.json").is_file():
        raise BadInput(f"no run at {str(run)!r}")
    for path in (run / "work", run / "checkpoints.sqlite"):
        if path.exists():
            click.echo(f"{'removing' if yes else 'would remove'} {path}")
            if yes:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
