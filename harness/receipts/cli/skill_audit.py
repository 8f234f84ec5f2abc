"""`harness skill audit | verify | library`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli import (
    SHARE,
    SettingsCommand,
    after_receipt,
    dry_run_option,
    echo,
    emit,
    estimate_lines,
    folder_argument,
    groups_text,
    json_option,
    path_type,
    resumable,
    shared_option,
    table,
    tally_progress,
)
from harness.core import shown
from harness.core.errors import Refused

TELLING = 20
"""Points: a group that shows no smaller effect cannot tell."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.receipts import Audited, Receipt
    from harness.receipts.receipt import UnitReceipt


@click.command(
    "audit",
    cls=SettingsCommand,
    settings="harness.receipts.audit:AuditSettings",
    skip=("executor", "workers", "worker_resources"),
)
@folder_argument
@shared_option("--suite", required=True, help="Tasks to try the skill on.")
@click.option(
    "--width",
    type=SHARE,
    default=0.0,
    help="Stop once every interval is decided or within +-SHARE, such as 5% or 0.05.",
)
@click.option(
    "--futility",
    type=SHARE,
    default=0.0,
    help="Stop once no open unit has a chance of SHARE (5% or 0.05) of a verdict any more.",
)
@shared_option(
    "--by",
    help="Look at the groups of this column, too. Default: the one that DIR names most.",
)
@click.option("--prune", is_flag=True, help="Try the skill without what hurts or shows nothing.")
@dry_run_option
@json_option
def audit_skill(
    folder: Path,
    as_json: bool,
    dry_run: bool,
    prune: bool,
    width: float,
    futility: float,
    by: str | None,
    **options: Any,
) -> None:
    """Find out which lines of DIR help, which hurt, and which do nothing that can be seen.

    DIR is cut into units (rules, examples, paragraphs, references, scripts). Random halves of
    them run on the same tasks and seeds, and one model estimates all effects at once. The receipt,
    its records and a card are written beside DIR.

    Example: harness skill audit skills/short-answers --suite demo --rollouts 400
    """
    from harness.core.rundir import new_run_id
    from harness.receipts import AuditSettings, plan_of, prune_skill, run_audit

    run: Path = options["resume"] or options["out"] or Path("runs") / new_run_id("audit")
    settings = AuditSettings.model_validate(
        {**options, "width": width, "futility": futility, "by": by, "skill": folder, "out": run}
    )
    if dry_run:
        plan = plan_of(settings)
        lines = [f"{unit['id']}  {unit['kind']}  {unit['tokens']} tokens" for unit in plan["units"]]
        lines += [
            plan["plan"],
            plan["spread"],
            *filter(None, [plan["warning"]]),
            *estimate_lines(plan["estimate"]),
        ]
        emit(plan, as_json, "\n".join(lines))
        return
    with resumable(run):
        audited = run_audit(settings, tell=partial(echo, err=True), show=tally_progress())
    emit(
        audited.receipt.model_dump(mode="json", by_alias=True),
        as_json,
        shown([_text(audited), after_receipt(folder, run)]),
    )
    if prune:
        echo(str(prune_skill(settings, audited.receipt, run)), err=as_json)


@click.command("verify")
@folder_argument
@shared_option("--suite", help="Where the tasks are now; default as in the receipt.")
@shared_option("--run", "run", help="The folder of the audit or ladder: its calls, too.")
@click.option("--without-tasks", is_flag=True, help="The tasks are not at hand: check the rest.")
@json_option
def verify_skill(
    folder: Path, suite: str | None, run: Path | None, without_tasks: bool, as_json: bool
) -> None:
    """Compute the receipt and the ladder beside DIR again from their records, without a model call.

    Without --run this shows consistency only: whoever writes records can write a receipt that
    fits them. With it, the answers are held against what the model replied.

    Exit 5 if skill, tasks, records or receipt are not what they were.

    Example: harness skill verify skills/short-answers
    """
    from harness.receipts.ladder import verify_measured

    verified = verify_measured(folder, suite=suite, tasks=not without_tasks, run=run)
    tasks = "tasks compared" if verified.tasks else "tasks NOT compared"
    text = (
        f"{folder}: {'the receipt holds' if verified.valid else 'the receipt does NOT hold'}, "
        f"{verified.rollouts} rollouts, {verified.rescored} answers judged again, {tasks}"
        f"\n{verified.scope}"
    )
    if run is None:
        text += " (that takes the run folder: --run RUN)"
    units = verified.units if verified.valid else ()
    emit(verified, as_json, shown([text, *verified.differs, *([_units(units)] if units else [])]))
    if not verified.valid:
        raise Refused(f"the receipt of {folder} does not hold: {verified.differs[0]}")


@click.command("library")
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=path_type)
@json_option
def check_skills(folders: tuple[Path, ...], as_json: bool) -> None:
    """Check skills against one another: descriptions that collide, rules that disagree.

    DIR is a skill or a folder of skills. Words are compared; no model is asked. Exit 5 if
    something was found.

    Example: harness skill library .claude/skills
    """
    from harness.receipts import check_library

    report = check_library(folders)
    lines = [
        *(f"{name}: two skills have this name" for name in report.same_name),
        *(
            f"{' and '.join(pair.skills)} may load on the same tasks: {', '.join(pair.words)}"
            for pair in report.collisions
        ),
        *(
            f"{', '.join(pair.one)} against {', '.join(pair.two)}: {pair.about}"
            for pair in report.disagreements
        ),
    ]
    emit(
        report, as_json, "\n".join([*lines, f"{len(report.skills)} skills, {len(lines)} findings"])
    )
    if not report.clear:
        raise Refused(f"{len(lines)} findings among {len(report.skills)} skills")


def _units(units: Sequence[UnitReceipt]) -> str:
    """Every unit and its effect, a row each."""
    heads = ("unit", "verdict", "points#", "interval", "tokens#", "text")
    return table(heads, [
        (
            unit.id,
            unit.verdict,
            f"{unit.effect.estimate:+.1f}",
            f"{unit.effect.low:+.1f} to {unit.effect.high:+.1f}",
            str(unit.tokens),
            unit.text[:60],
        )
        for unit in units
    ])  # fmt: skip


def group_lines(receipt: Receipt) -> list[str]:
    """Effects on groups of tasks, and which effects groups of this size can show at all."""
    from harness.receipts.plan import LEAST_OF_GROUP, ROLLOUTS

    by, pairs, per_task = receipt.by, receipt.by_group, receipt.valid / receipt.tasks
    if not pairs:
        least = f"{LEAST_OF_GROUP} tasks and {ROLLOUTS} rollouts a line"
        return [f"by {by}: too few to tell, no group has {least}"]
    clear = [pair for pair in pairs if pair.verdict != "nothing detectable"]
    lines = [
        f"by {by}: {len(pairs)} pairs of line and group were looked at, {len(clear)} show an "
        "effect (their intervals hold together)",
        *(
            f"  {pair.unit} {pair.verdict} where {by} is {pair.group!r}: "
            f"{pair.effect.estimate:+.1f} points ({max(-100, pair.effect.low):+.1f} to "
            f"{min(100, pair.effect.high):+.1f}), {pair.tasks} tasks"
            for pair in clear
        ),
    ]
    unclear = [pair for pair in pairs if pair not in clear]

    def detectable(tasks: int) -> float:
        return 100 * receipt.plan.detectable_in(tasks, round(per_task * tasks), len(pairs))

    tasks = max(pair.tasks for pair in pairs)
    if not unclear:
        return lines
    if (least := detectable(tasks)) <= TELLING:
        return [*lines, f"  the others: effects of {least:.0f} points or more would mostly show"]
    enough = next((size for size in range(tasks, 1000) if detectable(size) <= TELLING), 1000)
    unclear.sort(key=lambda pair: -abs(pair.effect.estimate))
    return [
        *lines,
        f"  the others: too few to tell. {tasks} tasks a group show effects from about "
        f"{least:.0f} points on, {enough} would show {TELLING} points",
        "  largest of them, perhaps by chance: "
        + ", ".join(
            f"{pair.unit} where {pair.group!r} {pair.effect.estimate:+.0f}" for pair in unclear[:3]
        ),
    ]


def _text(audited: Audited) -> str:
    receipt = audited.receipt
    lines = [f"warning: {warning}" for warning in receipt.warnings]
    lines.append(_units(receipt.units))
    lines += [
        f"{pair.units[0]} with {pair.units[1]}: {pair.effect:+.1f} points more together"
        for pair in receipt.interactions
    ]
    lines.append(
        f"{receipt.valid} of {receipt.rollouts} rollouts valid, {receipt.tasks} tasks"
        f"{groups_text(receipt.groups, ' in ')}, {receipt.passed:.1f} % passed; "
        f"{receipt.stopped}"
    )
    if receipt.by:
        lines += group_lines(receipt)
    unclear = [u.effect.half for u in receipt.units if u.verdict == "nothing detectable"]
    if unclear:
        # Intervals narrow with the root of the tasks, and with more rollouts of the same little.
        more = f"--rollouts {4 * receipt.rollouts}"
        if receipt.plan.tasks < receipt.plan.pairs // 2:  # all tasks at hand were run
            more = f"about {4 * receipt.tasks} tasks with as many rollouts each"
        hint = (
            f"effects below {max(unclear):.0f} points would mostly go unseen on these "
            f"{receipt.tasks} tasks (to see half as large ones takes {more})"
        )
        if not max(unclear):
            hint = "all rollouts ended alike, so that these tasks can show none: take others"
        if any(pair.effect < 0 for pair in receipt.interactions):
            hint = "some do less where others are present (above): those make up for them"
        by = "" if receipt.by else "; --by COLUMN looks at groups of tasks"
        lines.append(
            f"{len(unclear)} of {len(receipt.units)} lines show no effect on all tasks together; "
            f"{hint}{by}"
        )
    lines += [f"wrote {path}" for path in audited.paths]
    return shown(lines)
