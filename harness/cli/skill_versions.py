"""`harness skill versions | rollback`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.shared import emit, json_option

folder_argument = click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))


@click.command()
@folder_argument
@json_option
def versions(folder: Path, as_json: bool) -> None:
    """List the versions that were kept of the skill DIR; * marks what is there now.

    Example: harness skill versions evolved/skill/spreadsheet-basics
    """
    from harness.skills import list_versions, load_skill

    now, found = load_skill(folder).digest, list_versions(folder)
    rows = [
        {
            "digest": one.digest,
            "parent": one.parent,
            "reason": one.reason,
            "edits": len(one.edits),
            "current": one.digest == now,
        }
        for one in found
    ]
    lines = [
        f"{'*' if one.digest == now else ' '} {one.digest[:12]}  from "
        f"{one.parent[:12] or 'nothing':12}  {len(one.edits):3} edits  {one.reason}"
        for one in found
    ]
    if now not in {one.digest for one in found}:
        lines.append(f"* {now[:12]}  not recorded (edited by hand, or not evolved here)")
    emit({"current": now, "versions": rows}, as_json, "\n".join(lines))


@click.command("rollback")
@folder_argument
@click.option("--to", metavar="DIGEST", help="A version (6 characters suffice). Default: parent.")
@json_option
def rollback_skill(folder: Path, to: str | None, as_json: bool) -> None:
    """Put an earlier version in place of the skill DIR; what is there now is kept.

    Example: harness skill rollback evolved/skill/spreadsheet-basics
    """
    from harness.skills import rollback

    done = rollback(folder, to)
    text = (
        f"{done.diff}{folder} is version {done.after[:12]} now\n"
        f"undo with: harness skill rollback {folder} --to {done.before[:12]}"
    )
    emit(done, as_json, text)
