"""`harness evolve`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.commands import (
    SettingsCommand,
    dollars,
    dry_run_option,
    echo,
    emit,
    json_option,
    shared_option,
)
from harness.cli.next_steps import after_evolution
from harness.cli.progress import EventLines
from harness.cli.terminal import fact_lines, tinted
from harness.core import shown
from harness.core.errors import Refused

if TYPE_CHECKING:
    from harness.evolve import EvolveResult


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

    Exit code 5 if the gate refuses the skill, or if nothing was learned.

    Example: harness evolve --suite demo --create table-look-up --out evolved --analyst exemplar
    """
    from harness.evolve import EvolveSettings, plan_evolution, plan_notes, run_evolution

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
    result = run_evolution(settings, progress=EventLines())
    following = after_evolution(result, settings)
    text = shown([result_text(result), *([following] if following else [])], "\n\n")
    emit(result, as_json, text)
    if result.gate.verdict == "refused":
        raise Refused(f"the gate refused the skill: {result.gate.reason}")
    if not result.edits:
        raise Refused(result.gate.reason)


def result_text(result: EvolveResult) -> str:
    """A result for people."""
    lines: list[str] = []
    if result.simulated:
        lines.append("SIMULATED model: says nothing about a real one")
    if not result.edits:
        head = f"{result.skill} is its seed, unchanged" if result.skill else "no skill was written"
        lines.append(f"{head}; {result.gate.reason}")
        lines += [f"  {line}" for line in result.unsolved[1:]]
    else:
        verdict = tinted(result.gate.verdict)
        lines += [
            shown([f"{result.skill}:", verdict, f"({result.gate.reason})"], " "),
            f"SKILL.md has {result.lines} lines, {result.skill_tokens} tokens; "
            f"{result.edits} edits made it",
        ]
    counts = [
        (result.records, "runs gave lessons"),
        (result.losses, "gave none"),
        (result.discarded, "lessons left out"),
        (result.conflicts, "contradictions withheld"),
    ]
    if texts := [f"{count:,} {label}" for count, label in counts if count]:
        lines.append(", ".join(texts))
    if result.support:
        shares = (
            f"{count} from {tasks} task{'s'[: tasks != '1']}"
            for tasks, count in result.support.items()
        )
        lines.append(f"what taught the edits: {', '.join(shares)}; method: {result.method}")
    if (judge := result.judge) is not None:
        cost = dollars(judge.usage.cost_usd)
        lines.append(f"judge {judge}; {judge.usage.tokens:,} tokens, {cost}")
    cost = dollars(result.cost_usd)
    lines.append(f"{result.tokens:,} model tokens, cost {cost}, {result.seconds:.1f} s")
    for row in result.baselines:
        rate = "no valid attempt" if row["pass_rate"] is None else f"{row['pass_rate']:.1%} pass"
        lines.append(f"baseline {row['name']}: {rate}; evolved skill {_points(row)}")
    for row in result.transfer:
        sides = (row["without"], row["with"])
        rates = " -> ".join("none valid" if rate is None else f"{rate:.1%}" for rate in sides)
        lines.append(
            f"transfer {row['author']} -> {row['user']} on {row['suite']}: {rates}, "
            f"{_points(row)}, {row['n']} tasks, {row['invalid']} invalid: {row['verdict']}"
        )
    return shown(lines)


def _points(row: dict[str, Any]) -> str:
    """The evolved skill minus what it is compared with, and the interval."""
    if row["difference"] is None:
        return "not comparable"
    low, high = row["ci95"] or (float("nan"), float("nan"))
    return f"{100 * row['difference']:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"
