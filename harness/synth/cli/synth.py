"""`harness synth`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli import (
    MODEL_FIELDS,
    SettingsCommand,
    dollars,
    dry_run_option,
    echo,
    emit,
    fact_lines,
    intent,
    json_option,
    resumable,
    shared_option,
    table,
)
from harness.core import command_line, loops

if TYPE_CHECKING:
    from harness.synth.audit import Audit
    from harness.synth.session import SynthReport
    from harness.synth.types import Record

BEAT_S = 15.0
"""Seconds between two lines of a factory that decides nothing."""


@intent("Improve")
@click.command(
    short_help="Make verified tasks from documents, tables, failed runs.",
    cls=SettingsCommand,
    settings="harness.synth.session:SynthCommand",
    only=(
        *MODEL_FIELDS, "sandbox", "source", "kind", "n", "solver", "attempts", "band", "reward",
        "against", "hops", "votes", "tries", "paraphrase", "audit",
    ),
)  # fmt: skip
@shared_option("--out", help="Folder of the factory. Default: runs/<id>.")
@shared_option("--resume", help="Resume this folder, or audit it.")
@dry_run_option
@json_option
def synth(
    as_json: bool, dry_run: bool, out: Path | None, resume: Path | None, **options: Any
) -> None:
    """Make tasks, verify them, and keep what is neither too easy nor too hard for a model.

    Every proposal is kept with the reason for its end. The suite of the accepted ones, divided by
    document, lies in the folder: `harness eval FOLDER` runs it.

    Example: harness synth --from docs --kind search --n 50 --for openai/gpt-4.1-mini --dry-run
    """
    from harness.core.rundir import new_run_id
    from harness.core.terminal import span
    from harness.synth.session import SynthCommand, plan, synthesise

    folder = resume or out or Path("runs") / new_run_id("synth")
    settings = SynthCommand.model_validate({**options, "out": folder, "resume": resume is not None})
    if settings.audit is not None:
        from harness.synth.audit import read_sheet, write_sheet

        audit = read_sheet(write_sheet(folder, settings.audit, settings.seed))
        emit(audit, as_json, audit_text(audit))
        return
    if dry_run:
        planned = plan(settings)
        emit(planned, as_json, "\n".join(fact_lines(planned.items())))
        return
    decided: list[str] = []

    def show(record: Record) -> None:
        decided.append(record.decision)
        reason = f"{record.by}: {record.reason}" if record.by else record.proposal.question
        echo(f"{record.proposal.id}  {record.decision}  {reason:.120}", err=True)

    began = time.monotonic()

    def count() -> None:
        counts = f"{len(decided)} proposals decided, {decided.count('accepted')} accepted"
        waited = span(time.monotonic() - began)
        echo(f"{folder}: {counts} of {settings.n} wanted, {waited}", err=True)

    async def work() -> SynthReport:
        count()
        async with loops.every(BEAT_S, count):
            return await synthesise(settings, show)

    with resumable(folder):
        report = loops.run(work())
    emit(report, as_json, report_text(report))


def report_text(report: SynthReport) -> str:
    """The report for people: figures, reasons, samples."""
    from harness.stats import SequentialPlan

    figures: list[tuple[str, object]] = [
        ("accepted", f"{report.accepted} of {report.wanted} wanted, {report.proposed} proposed"),
        ("invalid", report.invalid or None),
        ("SIMULATED", "says nothing about a real model" if report.simulated else None),
        (
            "difficulty",
            f"of {report.solver}: "
            + ", ".join(f"{rate} right: {count}" for rate, count in report.difficulty.items())
            if report.solver
            else "not measured (--for MODEL)",
        ),
        (
            "evenness",
            report.evenness
            and f"chi-square {report.evenness[0]:.1f}, p = {report.evenness[1]:.2g}, against as "
            "many tasks at every level of the band",
        ),
        ("splits", ", ".join(f"{name} {count}" for name, count in report.splits.items())),
        (
            "gate",
            (n := report.splits.get("selection"))
            and str(SequentialPlan(tasks=n)).partition(". ")[0],
        ),
        ("used", f"{report.tokens:,} tokens, {dollars(report.cost_usd)}"),
        ("suite", command_line("eval", report.run)),
    ]
    rows = [[name, str(count), report.reasons.get(name, "")[:90]]
            for name, count in report.rejected.items()]  # fmt: skip
    parts = ["\n".join(fact_lines(figures))]
    if rows:
        parts.append(table(["rejected by", "tasks#", "for instance"], rows))
    for sample in report.samples:
        answers = sample["answers"]
        first_answer = answers[0] if isinstance(answers, list) and answers else ""
        parts.append(f"{sample['id']}\n  {sample['question']}\n  answer: {first_answer}")
    return "\n\n".join(parts)


def audit_text(audit: Audit) -> str:
    """The estimate for people, or what to do to get one."""
    if audit.share is None or audit.ci95 is None:
        return f"{audit.tasks} tasks in {audit.sheet}: write yes or no under 'faulty', then repeat"
    low, high = audit.ci95
    return (
        f"faulty: {audit.share:.1%} [{low:.1%}, {high:.1%}], {audit.faulty} of {audit.labelled} "
        f"labelled ({audit.tasks} on the sheet)"
    )
