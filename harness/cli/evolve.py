"""`harness evolve`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from harness.cli.shared import (
    EventLines,
    dollars,
    dry_run_option,
    emit,
    json_option,
    model_options,
    seed_option,
)
from harness.cli.worker_options import worker_options
from harness.core.errors import Refused

if TYPE_CHECKING:
    from harness.evolve import EvolveResult

PATH = click.Path(path_type=Path)


@click.command()
@click.option("--suite", help="Make the trajectories: run the suite's train split.")
@click.option("--trajectories", type=PATH, help="Use these: a file or folder of runs.")
@click.option(
    "--patches", type=PATH, help="Recorded analyst records: JSONL, or the official code's files."
)
@click.option("--keep-unmatched", is_flag=True, help="Use records without a trajectory too.")
@click.option("--skill", type=PATH, help="Deepen this skill directory.")
@click.option("--create", metavar="NAME", help="Start a new skill.")
@click.option("--description", default="", help="Frontmatter description of a new skill.")
@click.option("--out", type=PATH, help="Folder for the skill and everything behind it.")
@click.option("--agent", help="graph:FILE.py:NAME, cmd:COMMAND or py:FILE.py:FUNCTION.")
@click.option(
    "--signal", type=click.Choice(["error", "success", "combined"]), default="combined",
    show_default=True, help="Which runs teach.",
)  # fmt: skip
@click.option(
    "--analyst", type=click.Choice(["agentic", "single", "exemplar"]),
    default="single", show_default=True,
    help="With tools and a proven fix, one model call a run, or examples without a model.",
)  # fmt: skip
@click.option(
    "--analyst-turns", default=20, show_default=True, help="Calls of one agentic analyst."
)
@click.option(
    "--check-conclusions", is_flag=True, help="Drop lessons whose root cause the run contradicts."
)
@click.option("--tasks", help="Suite of the tasks of --trajectories, to prove fixes on.")
@click.option(
    "--merge", type=click.Choice(["model", "deterministic"]), default="deterministic",
    show_default=True,
)  # fmt: skip
@click.option(
    "--grouping", type=click.Choice(["lexical", "hybrid"]), default="lexical",
    show_default=True, help="How equal lessons are found: words, or an encoder too.",
)  # fmt: skip
@click.option("--merge-batch", type=click.IntRange(min=2), default=32, show_default=True)
@click.option("--min-support", default=2, show_default=True, help="Tasks that a rule needs.")
@click.option("--max-rules", default=40, show_default=True, help="Rules in SKILL.md at most.")
@click.option(
    "--select", type=click.Choice(["all", "greedy", "tpe"]), default="all", show_default=True,
    help="Take all lessons, or the set that does best on some train tasks.",
)  # fmt: skip
@click.option(
    "--select-tasks", type=click.IntRange(min=1), default=32, show_default=True,
    help="Train tasks that each set is run on.",
)  # fmt: skip
@click.option("--examples", default=3, show_default=True, help="Worked examples (exemplar).")
@click.option("--gate", default="auto", show_default=True, help="auto, none, or a suite.")
@click.option("--margin", default=0.0, show_default=True, help="Gain that the gate demands.")
@click.option(
    "--baselines", metavar="NAMES", help="Run these too, commas between: none, seed, parametric, "
    "memory, sequential-1, sequential-4, random-half.",
)  # fmt: skip
@click.option(
    "--user", "users", multiple=True, metavar="SPEC",
    help="A model that will use the skill; runs it too, against its seed. May repeat.",
)  # fmt: skip
@click.option(
    "--transfer", multiple=True, metavar="SUITE",
    help="What users run: out-of-domain suites. May repeat. Default: the gate's tasks.",
)  # fmt: skip
@click.option("--epochs", default=1, show_default=True, help="Attempts per task.")
@click.option("--limit", type=int, help="Take the first tasks of each split only.")
@click.option("--sandbox", default="auto", show_default=True, help="Sandbox back end, or none.")
@click.option("--trust", is_flag=True, help="Run code that comes with the suite unsandboxed.")
@click.option("--resume", type=PATH, help="Go on with this output folder.")
@seed_option
@model_options
@worker_options
@dry_run_option
@json_option
def evolve(
    as_json: bool, dry_run: bool, out: Path | None, resume: Path | None, **options: Any
) -> None:
    """Distil one skill from many trajectories, and gate it on tasks that no analyst saw.

    Exit code 5 if the gate refuses the skill.

    Example: harness evolve --suite demo --create table-look-up --out evolved --analyst exemplar
    """
    from harness.evolve import EvolveSettings, plan_evolution, run_evolution
    from harness.evolve.baselines import NAMES

    folder = resume or out
    if folder is None:
        raise click.UsageError("give --out DIR (or --resume DIR)")
    names = [one.strip() for one in (options.pop("baselines") or "").split(",") if one.strip()]
    if unknown := [one for one in names if one not in NAMES]:
        raise click.UsageError(f"--baselines: expected some of {', '.join(NAMES)}, got {unknown}")
    settings = EvolveSettings.model_validate({"out": folder, "baselines": names, **options})
    if dry_run:
        plan = plan_evolution(settings)
        emit(plan, as_json, "\n".join(f"{key}: {_planned(value)}" for key, value in plan.items()))
        return
    result = run_evolution(settings, progress=EventLines())
    emit(result, as_json, result_text(result))
    if result.gate.verdict == "refused":
        raise Refused(f"the gate refused the skill: {result.gate.reason}")


def result_text(result: EvolveResult) -> str:
    """A result for people."""
    cost = dollars(result.cost_usd)
    shares = ", ".join(f"{count} from {tasks}" for tasks, count in result.support.items())
    lines = ["SIMULATED model: says nothing about a real one"] if result.simulated else []
    lines += [
        f"{result.skill}: {result.gate.verdict} ({result.gate.reason})",
        f"{result.edits} edits, {result.lines} lines, {result.skill_tokens} tokens in SKILL.md",
        f"{result.records} records, {result.losses} gave nothing; {result.discarded} discarded, "
        f"{result.conflicts} contradictions withheld",
        f"rules by number of tasks: {shares or 'none'}; grouped by {result.method}",
        f"{result.tokens:,} model tokens, cost {cost}, {result.seconds:.1f} s",
    ]
    for row in result.baselines:
        rate = "no valid attempt" if row["pass_rate"] is None else f"{row['pass_rate']:.1%} pass"
        lines.append(f"baseline {row['name']}: {rate}; evolved skill {_points(row)}")
    for row in result.transfer:
        rates = " -> ".join(_rate(row[side]) for side in ("without", "with"))
        lines.append(
            f"transfer {row['author']} -> {row['user']} on {row['suite']}: {rates}, "
            f"{_points(row)}, {row['n']} tasks, {row['invalid']} invalid: {row['verdict']}"
        )
    return "\n".join(lines)


def _planned(value: Any) -> str:
    """An entry of a plan; a list has a line an item."""
    if not isinstance(value, list):
        return str(value)
    return "".join(f"\n  {item}" for item in cast("list[Any]", value))


def _rate(value: Any) -> str:
    return "none valid" if value is None else f"{value:.1%}"


def _points(row: dict[str, Any]) -> str:
    """The evolved skill minus what it is compared with, and the interval."""
    if row["difference"] is None:
        return "not comparable"
    low, high = row["ci95"] or (float("nan"), float("nan"))
    return f"{100 * row['difference']:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"
