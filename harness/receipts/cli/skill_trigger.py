"""`harness skill trigger`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli import (
    MODEL_FIELDS,
    SHARE,
    SettingsCommand,
    dollars,
    dry_run_option,
    emit,
    folder_argument,
    groups_text,
    json_option,
    resumable,
    tally_progress,
)
from harness.core.errors import Refused, Unreachable

if TYPE_CHECKING:
    from harness.receipts.trigger import Share, TriggerReport


@click.command(
    "trigger",
    cls=SettingsCommand,
    settings="harness.receipts.trigger.session:TriggerSettings",
    only=(
        *MODEL_FIELDS, "out", "resume",
        "library", "queries", "agent", "loaded", "protocol", "epochs", "limit",
    ),
)  # fmt: skip
@folder_argument
@click.option("--min-recall", type=SHARE, help="Exit 5 below this, such as 80% or 0.8.")
@click.option("--min-precision", type=SHARE, help="Exit 5 below this, such as 80% or 0.8.")
@dry_run_option
@json_option
def trigger_skill(
    folder: Path,
    as_json: bool,
    dry_run: bool,
    min_recall: float | None,
    min_precision: float | None,
    **options: Any,
) -> None:
    """Find out whether DIR loads when it should, and only then.

    DIR is a skill or a folder of skills. The agent sees names and descriptions and has to open a
    skill. Queries that name the skill are asked, too: if they do not load it, nothing was
    measured, and the command exits with 4.

    Example: harness skill trigger skills/short-answers --library skills --agent choose
    """
    from harness.core.rundir import new_run_id
    from harness.receipts.trigger import TriggerSettings, plan_of, run_trigger

    run: Path = options["resume"] or options["out"] or Path("runs") / new_run_id("trigger")
    settings = TriggerSettings.model_validate({**options, "skill": folder, "out": run})
    if dry_run:
        plan = plan_of(settings)
        rows = [f"{query.get('expect', '-'):24} {query['query']}" for query in plan["queries"]]
        emit(plan, as_json, "\n".join([*rows, f"{plan['attempts']} attempts, {plan['agent']}"]))
        return
    with resumable(run):
        report = run_trigger(settings, show=tally_progress())
    emit(report, as_json, report_text(report))
    for skill in report.skills:
        if not skill.valid:
            raise Unreachable(skill.why)
    for skill in report.skills:
        for name, share, least in (
            ("recall", skill.recall, min_recall),
            ("precision", skill.precision, min_precision),
        ):
            if least is not None and (share.value is None or share.value < least):
                raise Refused(f"{skill.skill}: {name} {_shown(share)}, expected {100 * least:g} %")


def report_text(report: TriggerReport) -> str:
    """The report for people."""
    label = " (simulated)" if report.simulated else ""
    drafted = sum(count for origin, count in report.queries.items() if origin != "file")
    lines = [
        f"{report.run}: {report.agent}, {report.model}{label}, skills {report.mode}; "
        f"{report.attempts} attempts, {report.invalid} invalid, {report.tokens:,} tokens, "
        f"{dollars(report.cost_usd)}",
        f"{sum(report.queries.values())} queries, {drafted} of them drafted",
    ]
    for skill in report.skills:
        if not skill.valid:
            lines.append(f"{skill.skill}: INVALID: {skill.why}")
            continue
        lines += [
            f"{skill.skill}: recall {_shown(skill.recall)}, precision {_shown(skill.precision)}",
            f"  loaded for queries of other skills {_shown(skill.on_siblings)}, of none "
            f"{_shown(skill.on_none)}; control {skill.control.hits} of {skill.control.n}",
        ]
    lines.append("expected, and what was loaded first:")
    lines += [
        f"  {row:24} {', '.join(f'{name} {count}' for name, count in cells.items())}"
        for row, cells in report.confusion.items()
    ]
    lines += [f"invalid, {count} times: {reason}" for reason, count in report.reasons.items()]
    return "\n".join(lines)


def _shown(share: Share) -> str:
    invalid = f", {share.invalid} invalid" if share.invalid else ""
    if share.value is None:
        return f"- (0 attempts{invalid})"
    ends = share.ci95
    interval = f" [{100 * ends[0]:.0f}, {100 * ends[1]:.0f}]" if ends else ""
    by = groups_text(share.groups, ", ")
    return f"{100 * share.value:.0f} %{interval} ({share.hits}/{share.n}{by}{invalid})"
