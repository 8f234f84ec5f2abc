"""`harness view`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli import echo, intent, shared_option


@intent("Measure")
@click.command(short_help="Runs and evolutions in the browser, or as one file.")
@click.argument("run", default="runs", type=click.Path(path_type=Path))
@shared_option("--html", "out", help="Write a static copy instead.")
@shared_option("--trajectories", help="What an evolution read.")
@shared_option("--port", help="Of 127.0.0.1; 0 takes a free one.")
def view(run: Path, out: Path | None, trajectories: Path | None, port: int) -> None:
    """Look at eval runs and evolutions in the browser, read-only.

    RUN is a run folder, what an evolution left, or a folder of such (default: runs). One line is
    printed, the address; Ctrl-C ends it. With --html one file is written that needs no server.

    \b
    Example: harness view
    Example: harness view runs/eval-20261121-045501-9f3a --html report.html
    """
    from harness.core import BadInput
    from harness.debug.web import Library, open_view, serve_until_signal, write_copy
    from harness.evolve import kept_trajectory

    if not run.is_dir():
        raise BadInput(f"expected a run folder or a folder of runs, found none at {str(run)!r}")
    library = Library(run, trajectories=trajectories, kept=kept_trajectory)
    if out is None:
        serve_until_signal(open_view(library, port=port), ready=echo)
        return
    write_copy(library, out)
    echo(f"wrote {out}")
