"""`harness init`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.shared import emit, json_option
from harness.core.errors import BadInput


@click.command()
@click.argument("folder", default="my-suite", type=click.Path(path_type=Path))
@json_option
def init(folder: Path, as_json: bool) -> None:
    """Write a five-task suite of your own into FOLDER.

    Example: harness init my-suite
    """
    import shutil

    import harness.core

    if folder.exists() and any(folder.iterdir()):
        raise BadInput(f"{str(folder)!r} is not empty: name a new folder")
    template = Path(harness.core.__file__).parent / "init_template"
    shutil.copytree(template, folder, dirs_exist_ok=True)
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*"))
    emit(
        {"folder": str(folder), "files": files},
        as_json,
        f"wrote {len(files)} files into {folder}\nnext: harness eval {folder} (see its README.md)",
    )
