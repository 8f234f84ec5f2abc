"""`harness runs`, `harness compare`, and `harness eval import`: finished runs, others' too."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.commands import SHARE, echo, emit, json_option, path_type, shared_option
from harness.cli.eval import groups_text, report_text
from harness.cli.next_steps import next_lines
from harness.cli.terminal import BAD, DOUBT, GOOD, table, tinted
from harness.core import command_line, remove_tree, shown
from harness.core.errors import BadInput, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.evals import Measure, RunComparison
    from harness.stats import PairedComparison

SHOWN = 12
"""Attempts of each kind that are named."""
FIGURES = {"items", "passed", "failed", "invalid", "score", "ci95", "tokens", "cost_usd"}
"""Of a run's report, in the list of runs."""


@click.group()
def runs() -> None:
    """List and prune run folders."""


@runs.command("list")
@click.argument("folder", default="runs", type=path_type)
@json_option
def list_runs(folder: Path, as_json: bool) -> None:
    """List the runs in FOLDER, newest last.

    Example: harness runs list
    """
    rows = sorted(
        (_listed(path.parent) for path in folder.glob("*/run.json")), key=lambda row: row["changed"]
    )
    heads = ("run", "suite", "model", "skill", "passed#", "samples#", "invalid#", "changed")
    emit(rows, as_json, table(heads, list(map(_cells, rows))) if rows else f"no runs in {folder}")


def _listed(path: Path) -> dict[str, Any]:
    """A run's lock and figures, or why it cannot be read."""
    from harness.core.rundir import RunReader
    from harness.evals import read_report

    files = [file for file in (path / "run.json", path / "items.seg") if file.exists()]
    stamp = datetime.fromtimestamp(max(file.stat().st_mtime for file in files))
    row: dict[str, Any] = {"run": str(path), "changed": stamp.isoformat(" ", "minutes")}
    try:
        lock = RunReader(path).lock
        report = read_report(path) if lock.get("kind") == "eval" else None
    except BadInput as error:
        return {**row, "error": str(error)}
    figures = {} if report is None else report.model_dump(mode="json", include=FIGURES)
    return {**row, **lock, **figures}


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    if "error" in row:
        return (row["run"], row["error"], "", "", "", "", "", row["changed"])
    score = row.get("score")
    return (
        row["run"],
        str(row.get("suite") or row.get("kind") or ""),
        f"{row.get('model') or ''}{' (simulated)' if row.get('simulated') else ''}",
        str(row.get("skill_name") or "none"),
        "" if score is None else f"{score:.1%}",
        str(row.get("items", "")),
        str(row.get("invalid") or ""),
        row["changed"],
    )


@runs.command()
@click.argument("run", type=path_type)
@shared_option("--yes", help="Do it; without, only say what would go.")
def prune(run: Path, yes: bool) -> None:
    """Remove the work folders and checkpoints of RUN, and files kept to judge attempts again.

    Records and calls stay.

    Example: harness runs prune runs/eval-20261121-045501-9f3a --yes
    """
    if not (run / "run.json").is_file():
        raise BadInput(f"no run at {str(run)!r}")
    for path in (run / "work", run / "kept", run / "checkpoints.sqlite"):
        if path.exists():
            echo(f"{'removing' if yes else 'would remove'} {path}")
            if yes:
                remove_tree(path)


@click.command("import")
@click.argument("path", type=path_type)
@shared_option("--out", help="Default: runs/<id>.")
@click.option("--column", metavar="NAME",
              help="Model or configuration, where the file holds several.")  # fmt: skip
@shared_option("--metric")
@json_option
def import_log(
    path: Path, out: Path | None, column: str | None, metric: str | None, as_json: bool
) -> None:
    """Read results of another tool as a run, which compare and view can read.

    PATH is a log of inspect, samples of lm-eval, an output of promptfoo, skill-creator's
    benchmark.json, JUnit XML or a table (CSV, TSV).

    \b
    Example: harness eval import logs/2026-11-22_task.eval --out runs/theirs
    Example: harness eval import out.json --column openai:gpt-4.1-mini --out runs/mini
    """
    from harness.core.rundir import RunReader, new_run_id
    from harness.evals import import_results

    folder = out or Path("runs") / new_run_id("imported")
    report = import_results(path, folder, metric=metric, column=column)
    reported = RunReader(folder).lock["reported"]
    figures = [
        f"{name} {value:g}" if isinstance(value, int | float) else f"{name} {value or 'none'}"
        for name, value in reported["figures"].items()
    ]
    lines = [report_text(report, folder)]
    if figures:
        lines.append(f"{reported['tool']} says: {', '.join(figures)}")
    lines.append(next_lines([command_line("view", folder)]))
    emit({**report.model_dump(mode="json"), "reported": reported}, as_json, shown(lines))


@click.command()
@click.argument("runs", nargs=-1, required=True, type=path_type)
@click.option("--fail-if-worse", "margin", type=SHARE, metavar="MARGIN",
              help="Exit 5 if a run is worse than the first by more than MARGIN (5% or 0.05)"
              " beyond doubt, or by more than MARGIN in its estimate.")  # fmt: skip
@click.option("--measure", type=click.Choice(["outcome", "score"]), default="outcome",
              show_default=True,
              help="Compare whether attempts passed, or their scores from 0 to 1.")  # fmt: skip
@shared_option("--metric")
@shared_option("--by", help="Also on the tasks of each value of this column; of run folders.")
@json_option
def compare(
    runs: tuple[Path, ...], margin: float | None, measure: Measure, metric: str | None,
    by: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Compare runs with the first one, paired by task.

    A run is a run folder, the looks of a gate (EVOLVED/runs/gate-before), or what another tool has
    written: a log of inspect, samples of lm-eval, an output of promptfoo, skill-creator's
    benchmark.json, JUnit XML, or a table (CSV, TSV). A file that holds several runs stands for all
    of them.

    \b
    Example: harness compare runs/before runs/after --fail-if-worse 2%
    Example: harness compare logs/a.eval logs/b.eval
    Example: harness compare promptfoo-output.json
    """
    from harness.evolve import compare_paths

    results = compare_paths(runs, measure, metric)
    rows = [result.model_dump(mode="json") for result in results]
    texts = [_comparison_text(result) for result in results]
    if by is not None:
        from harness.evals import paired_by

        for number, run in enumerate(runs[1:]):
            groups = paired_by(runs[0], run, by, measure)
            rows[number]["by"] = {
                name: pair.model_dump(mode="json") for name, pair in groups.items()
            }
            texts[number] = shown([texts[number], "", _groups_table(by, groups)])
    emit(rows, as_json, shown(texts, "\n\n"))
    for result in results:
        if margin is not None and (reason := result.worse_by(margin)):
            raise Refused(f"{result.after.run} is {reason}")


def _groups_table(column: str, groups: Mapping[str, PairedComparison]) -> str:
    """Differences by a column; each interval holds for itself."""
    return table((column, "tasks#", "before#", "after#", "difference"), [
        (f"{name or '(empty)':.24}", str(pair.tasks), f"{pair.before:.1%}", f"{pair.after:.1%}",
         f"{pair.difference:+.1%} [{pair.ci95[0]:+.1%}, {pair.ci95[1]:+.1%}]")
        for name, pair in groups.items()
        if pair.before is not None and pair.after is not None and pair.ci95
        if pair.difference is not None
    ])  # fmt: skip


def _comparison_text(result: RunComparison) -> str:
    paired = result.paired
    lines = [
        f"{result.before.run} -> {result.after.run}   ({paired.tasks} paired tasks"
        f"{groups_text(paired.groups, ' in ')})"
    ]
    if result.before.simulated or result.after.simulated:
        lines.append("SIMULATED model: says nothing about a real one")
    for run, planned in result.unfinished.items():
        lines.append(
            tinted(
                f"unfinished: {run} is not at its end of {planned} attempts; go on with "
                "--resume and compare again",
                DOUBT,
            )
        )
    if paired.difference is not None and paired.before is not None and paired.after is not None:
        interval = f" [{paired.ci95[0]:+.1%}, {paired.ci95[1]:+.1%}]" if paired.ci95 else ""
        name = "pass rate" if result.measure == "outcome" else "mean score"
        lines.append(f"{name} {paired.before:.1%} -> {paired.after:.1%}")
        low, high = paired.ci95 or (0.0, 0.0)
        colour = GOOD if low > 0 else BAD if high < 0 else DOUBT
        difference = f"difference {paired.difference:+.1%}{interval}, p = {paired.p:.3g}"
        if result.sequential:
            difference += " (one-sided; interval and p are those of the gate)"
        lines.append(tinted(difference, colour))
        if paired.ci95 and paired.p is not None and (paired.p < 0.05) != (low > 0 or high < 0):
            lines.append(
                "p is exact, the interval an approximation: where they disagree, p decides"
            )
    if (scores := result.scores) is not None and scores.difference is not None:
        low, high = scores.ci95 or (-1.0, 1.0)
        lines.append(
            f"mean score {scores.before:.1%} -> {scores.after:.1%}, difference "
            f"{scores.difference:+.1%} [{low:+.1%}, {high:+.1%}]"
        )
    if (fresh := result.held_out) is not None:
        figures = "none is left"
        if fresh.difference is not None and fresh.p is not None:
            low, high = fresh.ci95 or (-1.0, 1.0)
            figures = (
                f"difference {fresh.difference:+.1%} [{low:+.1%}, {high:+.1%}], p = {fresh.p:.3g}"
            )
        lines.append(
            f"{paired.tasks - fresh.tasks} of these tasks taught the skill: passing them proves "
            f"little; on the {fresh.tasks} others: {figures}"
        )
    if (again := result.noise) and again.difference is not None and again.discordance is not None:
        lines.append(
            f"{result.before.run} against itself, later attempts to first ones: "
            f"{again.difference:+.1%}, {again.discordance:.0%} of its tasks came out otherwise"
        )
    elif not result.sequential:
        lines.append(
            "single run: no task of the first was tried again, so how much it changes by itself is "
            "not known (--epochs 2 measures it)"
        )
    if result.detectable is not None:
        independent = f"; they count as {paired.independent:.0f}" if paired.independent else ""
        seen = f"as {paired.discordance:.0%}" if paired.discordance else "if 25%"
        seen += " of the tasks' rates" if paired.squared else " of the results"
        lines.append(
            f"smallest difference these tasks can show: {result.detectable:.1%} (80% power, {seen} "
            f"change{independent})"
        )
    if result.needed is not None:
        more = result.needed - paired.tasks
        lines.append(
            f"not shown yet: the gate needs about {more} more task{'s'[: more > 1]} (80% power)"
            if result.sequential
            else f"not shown yet: a difference like this takes about {result.needed} tasks, {more} "
            f"more{' of more groups' * bool(paired.groups)} (80% power)"
        )
    for kind, names in (("fixed", paired.fixed), ("broken", paired.broken)):
        more = f", … ({len(names) - SHOWN} more)" if len(names) > SHOWN else ""
        lines.append(f"{kind} {len(names)}: {', '.join(names[:SHOWN])}{more}")
    broken = [change for change in result.changes if change.after == "fail"]
    lines += [
        f"  pass -> fail  {change.id}: {change.answer_before!r:.40} -> "
        f"{change.answer_after!r:.40}  {change.reason:.80}"
        for change in broken[:SHOWN]
    ]
    if len(broken) > SHOWN:
        lines.append(f"  … ({len(broken) - SHOWN} more: --json has all)")
    if paired.unpaired:
        lines.append(
            f"left out: {paired.unpaired} tasks that are not in both runs, or invalid in one"
        )
    if "tasks" in result.differs:
        lines.append("tasks, expected answers or checks differ: a change may be theirs")
    lines.append(f"differs in: {', '.join(result.differs) or 'nothing'}{result.not_said}")
    return shown(lines)
