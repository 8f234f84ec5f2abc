"""What re-execution found."""

from __future__ import annotations

from typing import Literal

from harness.core import Value

Recalculation = Literal["both", "on", "off"]
Label = Literal["pass", "fail"]


class RunResult(Value):
    """One recorded run, executed again.

    Attributes:
        id: trajectory id.
        label: the recorded outcome; None if the trajectory carries none.
        comparable: whether an output came out and was scored in every way asked for.
        reason: why not comparable; empty if it is.
        with_recalc: whether the output, recalculated by LibreOffice, equals the golden workbook;
            None if not compared.
        without_recalc: the same for the output as it was written.
        errors: how many replies ended in an exception, as many did when they were recorded.
        seconds: wall-clock time of the execution.
    """

    id: str
    label: Label | None
    comparable: bool
    reason: str = ""
    with_recalc: bool | None = None
    without_recalc: bool | None = None
    errors: int = 0
    seconds: float = 0.0

    @property
    def agrees(self) -> bool | None:
        """Whether the best score at hand (recalculated, if it was asked for) equals the label;
        None if not comparable."""
        if not self.comparable or self.label is None:
            return None
        score = self.without_recalc if self.with_recalc is None else self.with_recalc
        return None if score is None else score == (self.label == "pass")


class ReexecutionReport(Value):
    """All runs, in the order of the trajectories, and the counts that sum them up.

    Attributes:
        runs: one result per trajectory.
        comparable: runs whose output was scored.
        reproduced_with_recalc: comparable runs whose recalculated output scores as labelled; None
            if recalculation was off.
        reproduced_without_recalc: the same without recalculation; None if it was not asked for.
        no_output_as_labelled: runs that are not comparable, and are labelled as failed: whoever
            scores a missing output as a failure may add them.
        seconds: wall-clock time of everything.
        sandbox: the back end that ran the code.
    """

    runs: tuple[RunResult, ...]
    comparable: int
    reproduced_with_recalc: int | None
    reproduced_without_recalc: int | None
    no_output_as_labelled: int
    seconds: float
    sandbox: str


def summarise(
    runs: tuple[RunResult, ...], recalc: Recalculation, seconds: float, sandbox: str
) -> ReexecutionReport:
    """Count what the runs show."""
    comparable = [run for run in runs if run.comparable]
    with_recalc = sum(run.with_recalc == (run.label == "pass") for run in comparable)
    without = sum(run.without_recalc == (run.label == "pass") for run in comparable)
    return ReexecutionReport(
        runs=runs,
        comparable=len(comparable),
        reproduced_with_recalc=None if recalc == "off" else with_recalc,
        reproduced_without_recalc=None if recalc == "on" else without,
        no_output_as_labelled=sum(not run.comparable and run.label == "fail" for run in runs),
        seconds=seconds,
        sandbox=sandbox,
    )


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
    for run in report.runs:
        if not run.comparable:
            lines.append(f"not comparable  {run.id}  labelled {run.label}: {run.reason}")
        elif not run.agrees:
            lines.append(
                f"disagrees       {run.id}  labelled {run.label}: with recalculation "
                f"{run.with_recalc}, without {run.without_recalc}"
            )
    return "\n".join(lines)


def _count(how: str, reproduced: int, report: ReexecutionReport) -> str:
    return f"label reproduced {how:<22}".ljust(31) + f"{reproduced} of {report.comparable}"
