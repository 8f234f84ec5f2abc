"""`harness skill ladder`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli import (
    SettingsCommand,
    after_receipt,
    dry_run_option,
    echo,
    emit,
    folder_argument,
    groups_text,
    json_option,
    resumable,
    shared_option,
    table,
    tally_progress,
)
from harness.core import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.receipts.ladder import Ladder, RungResult


@click.command(
    "ladder",
    cls=SettingsCommand,
    settings="harness.receipts.ladder.plan:LadderSettings",
    skip=("executor", "workers", "worker_resources"),
)
@folder_argument
@shared_option("--suite", required=True, help="Held-out tasks, and others to take examples from.")
@dry_run_option
@json_option
def ladder_skill(folder: Path, as_json: bool, dry_run: bool, **options: Any) -> None:
    """Find out whether DIR beats what anyone could put in its place.

    Every rung runs on the same held-out tasks: no skill, a placebo of the same length, the format
    rule alone, random gold examples, the best of eight sets of them, the same at double the
    length, the examples nearest to each task, the plain list of all lessons, the skill's functions
    called by code without a model, the skill's prose, the skill, and the skill again. All intervals
    hold together. The receipt is written beside DIR; `skill verify` checks it.

    Example: harness skill ladder skills/short-answers --suite demo --limit 100
    """
    from harness.core.rundir import new_run_id
    from harness.receipts.ladder import LadderSettings, plan_of, plan_text, run_ladder

    run: Path = options["resume"] or options["out"] or Path("runs") / new_run_id("ladder")
    settings = LadderSettings.model_validate({**options, "skill": folder, "out": run})
    if dry_run:
        plan = plan_of(settings)
        emit(plan, as_json, plan_text(plan))
        return
    with resumable(run):
        climbed = run_ladder(settings, tell=partial(echo, err=True), show=tally_progress())
    ladder = climbed.ladder
    paths = [f"wrote {path}" for path in climbed.paths]
    emit(
        ladder.model_dump(mode="json", by_alias=True),
        as_json,
        shown(
            [
                *ladder_lines(ladder),
                *paths,
                f"runs: {climbed.run}",
                after_receipt(folder, climbed.run),
            ]
        ),
    )


def ladder_lines(ladder: Ladder) -> list[str]:
    """The ladder for people."""
    groups = groups_text(ladder.unseen_groups, " in ")
    unseen = [f"{ladder.unseen_tasks} tasks{groups} of kinds that the other splits lack:"]
    by = [f"intervals are by group: {ladder.tasks} tasks{groups_text(ladder.groups, ' in ')}"]
    notes = [f"{rung.title}: {rung.note}" for rung in ladder.rungs if rung.note]
    return [
        *(f"warning: {warning}" for warning in ladder.warnings),
        rung_table(ladder.rungs),
        *([*unseen, rung_table(ladder.unseen)] if ladder.unseen else ()),
        *notes,
        *(by if ladder.groups else ()),
        *ladder.verdicts[-1:] * (ladder.again is not None),
        ladder.verdicts[0],
    ]


def rung_table(rungs: Sequence[RungResult]) -> str:
    """Format the result of each rung."""
    rows: list[tuple[str, ...]] = []
    for rung in rungs:
        rate, difference = rung.rate, rung.difference
        per_task, seconds = rung.tokens_per_task, rung.seconds_per_task
        rows.append((
            rung.title,
            str(rung.tokens),
            f"{rate.estimate:.1f} % ({rate.low:.1f} to {rate.high:.1f})" if rate else "-",
            "-" if per_task is None else f"{per_task:.0f}",
            "-" if seconds is None else f"{seconds:.1f}",
            f"{difference.estimate:+.1f} ({difference.low:+.1f} to {difference.high:+.1f})"
            if difference
            else f"as {rung.same_as}" if rung.same_as else "",
            rung.verdict if difference else "",
        ))  # fmt: skip
    heads = ("rung", "tokens#", "passed", "tokens/task#", "s/task#", "skill minus it", "the skill")
    return table(heads, rows)
