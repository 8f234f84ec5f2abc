"""`harness evolve`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.commands import (
    SettingsCommand,
    dry_run_option,
    echo,
    emit,
    json_option,
    resumable,
    shared_option,
)
from harness.cli.next_steps import after_evolution
from harness.cli.progress import EventLines
from harness.cli.terminal import fact_lines, tinted
from harness.core import shown
from harness.core.errors import Refused


@click.command(cls=SettingsCommand, settings="harness.evolve:EvolveSettings")
@shared_option("--out", help="Folder for the skill and everything behind it.")
@shared_option("--resume", help="Resume this output folder.")
@shared_option("--concurrency", default=16)
@dry_run_option
@json_option
def evolve(
    as_json: bool, dry_run: bool, out: Path | None, resume: Path | None, **options: Any
) -> None:
    """Distil one skill from many trajectories, and gate it on tasks that no analyst saw.

    Exit code 5 if the gate refuses the skill or has no valid task, or if nothing was learned.

    Example: harness evolve --suite demo --create table-look-up --out evolved --analyst exemplar
    """
    from harness.evolve import (
        EvolveSettings,
        plan_evolution,
        plan_notes,
        result_text,
        run_evolution,
    )

    folder = resume or out
    if folder is None:
        raise click.UsageError("give --out DIR (or --resume DIR)")
    settings = EvolveSettings.model_validate({"out": folder, **options})
    if dry_run:
        plan = plan_evolution(settings)
        emit(plan, as_json, "\n".join(fact_lines(plan.items())))
        return
    for note in plan_notes(settings):
        echo(f"plan: {note}", err=True)
    with resumable(folder):
        result = run_evolution(settings, progress=EventLines())
    following = after_evolution(result, settings)
    text = shown([result_text(result, tinted), *([following] if following else [])], "\n\n")
    emit(result, as_json, text)
    if result.gate.verdict == "refused":
        raise Refused(f"the gate refused the skill: {result.gate.reason}")
    if not result.edits or (result.gate.run and not result.gate.tasks):
        raise Refused(result.gate.reason)
