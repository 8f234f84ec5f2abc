"""A re-execution report for people."""

from __future__ import annotations

from harness.evals.reexecution.types import ReexecutionReport, RunResult


def format_table(report: ReexecutionReport) -> str:
    """Counts, then every run that is not comparable or disagrees with its label."""
    total = len(report.runs)
    lines = [
        f"runs                           {total}",
        f"comparable                     {report.comparable} of {total}",
    ]
    if report.reproduced_with_recalc is not None:
        lines.append(_count("with recalculation", report.reproduced_with_recalc, report))
    if report.reproduced_without_recalc is not None:
        lines.append(_count("without recalculation", report.reproduced_without_recalc, report))
        scored = report.reproduced_without_recalc + report.no_output_as_labelled
        lines.append(f"  if no output is a failure    {scored} of {total}")
    lines.append(f"time                           {report.seconds:.0f} s ({report.sandbox})")
    lines += [_line(run) for run in report.runs if not run.comparable or not run.agrees]
    return "\n".join(lines)


def _count(how: str, reproduced: int, report: ReexecutionReport) -> str:
    return f"label reproduced {how:<22}".ljust(31) + f"{reproduced} of {report.comparable}"


def _line(run: RunResult) -> str:
    if not run.comparable:
        return f"not comparable  {run.id}  labelled {run.label}: {run.reason}"
    return (
        f"disagrees       {run.id}  labelled {run.label}: with recalculation "
        f"{run.with_recalc}, without {run.without_recalc}"
    )
