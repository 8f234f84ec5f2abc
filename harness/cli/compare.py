"""`harness compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.shared import emit, json_option
from harness.core.errors import Refused

if TYPE_CHECKING:
    from harness.evals import RunComparison

MOST = 12
"""Attempts that are named of each kind."""


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--fail-if-worse", "margin", type=float, metavar="MARGIN",
              help="Exit 5 if a run is worse than the first by more than MARGIN (0.05 = 5 points)"
              " beyond doubt, or by more than MARGIN in its estimate.")  # fmt: skip
@json_option
def compare(runs: tuple[Path, ...], margin: float | None, as_json: bool) -> None:
    """Compare runs with the first one, paired by task.

    Example: harness compare runs/before runs/after --fail-if-worse 0.02
    """
    from harness.evals import compare_runs

    if len(runs) < 2:
        raise click.UsageError(f"expected two or more runs, got {len(runs)}")
    results = [compare_runs(runs[0], other) for other in runs[1:]]
    emit(
        [result.model_dump(mode="json") for result in results],
        as_json,
        "\n\n".join(_text(result) for result in results),
    )
    if margin is not None:
        for result in results:
            change = result.paired.difference
            if change is not None and change < -margin:
                raise Refused(f"{result.after.run} is worse by {-change:.1%}, margin {margin:.1%}")


def _text(result: RunComparison) -> str:
    paired = result.paired
    lines = [f"{result.before.run} -> {result.after.run}   ({paired.tasks} paired tasks)"]
    if result.before.simulated or result.after.simulated:
        lines.append("SIMULATED model: says nothing about a real one")
    if paired.difference is not None and paired.before is not None and paired.after is not None:
        interval = (
            f" [{paired.ci95[0]:+.1%}, {paired.ci95[1]:+.1%}]" if paired.ci95 is not None else ""
        )
        lines.append(f"pass rate {paired.before:.1%} -> {paired.after:.1%}")
        lines.append(f"difference {paired.difference:+.1%}{interval}, p = {paired.p:.3g}")
    if result.detectable is not None:
        lines.append(f"smallest difference these tasks can show: {result.detectable:.1%}")
    lines.append(f"fixed {len(paired.fixed)}: {_some(paired.fixed)}")
    lines.append(f"broken {len(paired.broken)}: {_some(paired.broken)}")
    broken = [one for one in result.changes if one.after == "fail"]
    lines += [
        f"  pass -> fail  {one.id}: {one.answer_before!r:.40} -> {one.answer_after!r:.40}  "
        f"{one.reason:.80}"
        for one in broken[:MOST]
    ]
    if len(broken) > MOST:
        lines.append(f"  … ({len(broken) - MOST} more: --json has all)")
    if paired.unpaired:
        lines.append(f"left out, missing or invalid in one run: {paired.unpaired}")
    lines.append(f"differs in: {', '.join(result.differs) or 'nothing'}")
    return "\n".join(lines)


def _some(ids: tuple[str, ...], most: int = MOST) -> str:
    return ", ".join(ids[:most]) + (f", … ({len(ids) - most} more)" if len(ids) > most else "")
