"""`harness trajectories`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.commands import emit, json_option, path_type, shared_option
from harness.cli.program import LazyGroup
from harness.cli.terminal import fact_lines, table
from harness.core import command_line

_HERE = "harness.cli.trajectories"


@click.group(
    cls=LazyGroup,
    intents={
        "Commands": {
            "import": (f"{_HERE}:import_", "Read logs of any known format into a store."),
            "export": (
                f"{_HERE}:export",
                "Write them in another format, or as rows for a trainer.",
            ),
            "list": (
                f"{_HERE}:list_trajectories",
                "List them: outcome, steps, agent and model of each.",
            ),
            "show": (f"{_HERE}:show", "Show the messages, tool calls and results of one."),
            "stats": (f"{_HERE}:stats", "Count them by outcome, steps and tokens."),
        }
    },
    path="trajectories",
)
def trajectories() -> None:
    """Import, export, look at and replay trajectories.

    A trajectory is what an attempt left: messages, tool calls and their results. PATH is a store, a
    run folder, the side of a gate (EVOLVED/runs/gate-after), or logs that import reads.

    Example: harness trajectories import logs/ --out trajectories/
    """


@click.command("import")
@click.argument("path", type=path_type)
@shared_option("--out", required=True, help="Folder of the store; may exist.")
@shared_option("--format", "source_format", default="auto", show_default=True)
@click.option("--no-redact", is_flag=True, help="Keep API keys and the like as they are.")
@json_option
def import_(path: Path, out: Path, source_format: str, no_redact: bool, as_json: bool) -> None:
    """Read PATH into a store.

    Official logs, ATIF, OpenAI, ShareGPT, recorded runs, Claude Code, Codex and inspect.

    Example: harness trajectories import logs/ --out trajectories/
    """
    from harness.trajectories import import_trajectories

    report = import_trajectories(path, out, source_format, redact=not no_redact)
    text = (
        f"{report.imported} trajectories ({report.source_format}) -> {report.store}; "
        f"{report.secrets} secrets redacted in {report.redacted}, "
        f"{report.present} were there already, {report.renamed} renamed"
    )
    for reason, count in report.passed_over.items():
        text += f"\npassed over: {count} x {reason}"
    emit(report, as_json, text)


@click.command()
@click.argument("path", type=path_type)
@shared_option(
    "--format",
    "target",
    required=True,
    help="atif, trace2skill, openai, sharegpt or inspect; for trainers rollouts, groups (the "
    "attempts at a task) or preferences (one that passed beside one that failed).",
)
@shared_option("--out", required=True, help="Folder to write into.")
@click.option(
    "--log-format",
    type=click.Choice(["md", "jsonl"]),
    help="Form of trace2skill logs. Default: the one they came from.",
)
@json_option
def export(path: Path, target: str, out: Path, log_format: str | None, as_json: bool) -> None:
    """Write the trajectories of PATH in another format.

    Example: harness trajectories export trajectories/ --format openai --out exported/
    """
    from harness.trajectories import export_trajectories

    form = "jsonl" if log_format == "jsonl" else "md" if log_format == "md" else None
    report = export_trajectories(path, out, target, form)
    text = f"{report.exported} trajectories in {report.files} files ({target}) -> {report.out}"
    if report.rows is not None:
        text += f"\n{report.rows} rows"
    if report.sidecars:
        text += f"\n{report.sidecars} logs are ambiguous without the side-car beside them"
    if report.redacted:
        text += f"\n{report.redacted} differ from their source: secrets were redacted on import"
    emit(report, as_json, text)


@click.command("list")
@click.argument("path", type=path_type)
@click.option("--outcome", help="Only pass, fail, invalid or unlabelled.")
@json_option
def list_trajectories(path: Path, outcome: str | None, as_json: bool) -> None:
    """List the trajectories of PATH.

    Example: harness trajectories list trajectories/ --outcome fail
    """
    from harness.trajectories import open_trajectories

    rows = [
        {
            "id": item.trajectory_id,
            "outcome": item.harness.get("outcome") or "unlabelled",
            "steps": len(item.steps),
            "agent": item.agent.name,
            "model": item.agent.model_name,
        }
        for item in open_trajectories(path)
    ]
    rows = [row for row in rows if outcome in (None, row["outcome"])]
    cells = [[str(value or "") for value in row.values()] for row in rows]
    heads = ("trajectory", "outcome", "steps#", "agent", "model")
    emit(rows, as_json, table(heads, cells) if rows else "none")


@click.command()
@click.argument("path", type=path_type)
@click.argument("trajectory_id", required=False)
@click.option("--step", type=int, help="Only this step.")
@click.option("--width", default=400, show_default=True, help="Characters of a text; 0 for all.")
@json_option
def show(
    path: Path, trajectory_id: str | None, step: int | None, width: int, as_json: bool
) -> None:
    """Show one trajectory of PATH, step by step.

    Example: harness trajectories show trajectories/ 90-1 --step 3 --width 0
    """
    from harness.trajectories import describe, dump, find_trajectory

    if trajectory_id is None:
        raise click.UsageError(
            f"Which one? `{command_line('trajectories', 'list', path)}` has their ids."
        )
    trajectory = find_trajectory(path, trajectory_id)
    emit(dump(trajectory), as_json, describe(trajectory, step, width))


@click.command()
@click.argument("path", type=path_type)
@json_option
def stats(path: Path, as_json: bool) -> None:
    """Count the trajectories of PATH by outcome, steps and tokens.

    Example: harness trajectories stats trajectories/
    """
    from harness.trajectories import collect_stats, open_trajectories

    counts = collect_stats(open_trajectories(path))
    emit(counts, as_json, "\n".join(fact_lines(counts)))
