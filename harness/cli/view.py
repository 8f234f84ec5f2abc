"""`harness view`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--html", "out", type=click.Path(path_type=Path), help="Default: RUN/report.html.")
def view(run: Path, out: Path | None) -> None:
    """Write the eval run RUN as one static HTML file.

    Example: harness view runs/eval-20261121-045501-9f3a --html report.html
    """
    from harness.evals.page import write_page

    target = out or run / "report.html"
    write_page(run, target)
    click.echo(f"wrote {target}")
