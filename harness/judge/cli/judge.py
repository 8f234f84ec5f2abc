"""`harness judge`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from harness.cli import (
    MODEL_FIELDS,
    SettingsCommand,
    dollars,
    dry_run_option,
    emit,
    fact_lines,
    intent,
    json_option,
    path_type,
    resumable,
    shared_option,
    tally_progress,
)

if TYPE_CHECKING:
    from harness.judge.probes.bias import Probed
    from harness.judge.report import JudgeReport


@intent("Measure")
@click.command(
    short_help="Judge answers with a model whose errors are measured.",
    cls=SettingsCommand,
    settings="harness.judge.session:JudgeCommand",
    only=(
        *MODEL_FIELDS, "sandbox", "method", "setting", "rubric", "votes", "threshold", "suite",
        "calibrate", "probe", "probe_pairs", "limit",
    ),
)  # fmt: skip
@click.argument("rows", type=path_type, required=False)
@shared_option("--out", help="Run folder. Default: runs/<id>.")
@shared_option("--resume", help="Resume this run folder.")
@dry_run_option
@json_option
def judge(
    as_json: bool, dry_run: bool, out: Path | None, resume: Path | None, **options: Any
) -> None:
    """Judge the answers, pairs or candidates in ROWS (JSONL), or the answers of an eval run.

    Rows have a prompt and an answer; or a and b, compared in both orders; or candidates, of which
    a knockout finds the best. A label in them gives the judge's accuracy. With --calibrate its
    errors are written to calibration.json, which a suite names under `judge: calibration:`.
    With --resume ROWS may be left out, and the options, too: the run folder has them, but for
    --base-url and --sandbox.

    Example: harness judge answers.jsonl --rubric rules.md --model openai/gpt-4.1-mini --dry-run
    """
    from harness.core import loops
    from harness.core.rundir import new_run_id
    from harness.judge.session import JudgeCommand, judge_rows, plan, started_with

    if options["rows"] is None:
        if resume is None:
            raise click.UsageError("Missing argument 'ROWS'.")
        source = click.get_current_context().get_parameter_source
        typed = {name for name in options if source(name) is ParameterSource.COMMANDLINE}
        earlier = started_with(resume)
        options |= {name: earlier[name] for name in earlier if name not in typed - {"rows"}}
    run = resume or out or Path("runs") / new_run_id("judge")
    settings = JudgeCommand.model_validate({**options, "out": run, "resume": resume is not None})
    if dry_run:
        planned = plan(settings)
        emit(planned, as_json, "\n".join(fact_lines(planned.items())))
        return
    with resumable(run):
        report = loops.run(judge_rows(settings, tally_progress()))
    emit(report, as_json, report_text(report, run))


def report_text(report: JudgeReport, run: Path) -> str:
    """The report for people."""
    rows = f"{report.rows} rows, {report.invalid} invalid, {report.lost} replies lost"
    figures: list[tuple[str, object]] = [(report.mode, rows), ("judge", report.judge)]
    if report.simulated:
        figures.append(("SIMULATED", "says nothing about a real model"))
    if report.mean is not None:
        figures.append(("mean score", f"{report.mean:.3f}, {report.passed} passed"))
    if report.preferences:
        figures.append(("preferred", ", ".join(f"{k} {n}" for k, n in report.preferences.items())))
    if report.agreement is not None:
        figures.append(("both orders agree", f"{report.agreement:.1%} of {report.both}"))
    if report.verified:
        figures.append(("decided by a program", report.verified))
    if report.emergencies:
        figures.append(
            ("emergency verdicts", f"{report.emergencies}: the skill reached its limits")
        )
    if report.accuracy is not None:
        ends = f" [{report.ci95[0]:.1%}, {report.ci95[1]:.1%}]" if report.ci95 else ""
        figures.append(("as labelled", f"{report.accuracy:.1%}{ends} of {report.labels}"))
    if (counts := report.calibration) is not None:
        figures += [
            ("right answers passed", f"{counts.right_passes} of {counts.passes}"),
            ("wrong answers failed", f"{counts.right_fails} of {counts.fails}"),
        ]
    figures += [
        (f"bias: {row.bias}", _bias_text(row))
        for row in (report.bias.probes if report.bias is not None else ())
    ]
    if report.bias is None:
        figures.append(("bias", "not looked for (--probe)"))
    figures += [
        ("error", report.note),
        ("used", f"{report.tokens:,} tokens, {dollars(report.cost_usd)}"),
        ("run", run),
    ]
    return "\n".join(fact_lines(figures))


def _bias_text(row: Probed) -> str:
    """Format how often the marked one of two equally good answers was preferred."""
    counts = f"{row.ties} ties, {row.invalid} invalid"
    if row.rate is None or row.ci95 is None:
        return f"nothing to tell by: {counts}"
    share = f"{row.rate:.1%} [{row.ci95[0]:.1%}, {row.ci95[1]:.1%}] of {row.pairs}, {counts}"
    return f"{'FOUND' if row.found else 'not shown'}: marked answer preferred in {share}"
