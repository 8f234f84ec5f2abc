"""`harness learn`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli import (
    MODEL_FIELDS,
    EventLines,
    SettingsCommand,
    echo,
    emit,
    intent,
    json_option,
    path_type,
    shared_option,
)
from harness.core import command_line
from harness.core.errors import BadInput, Refused

if TYPE_CHECKING:
    from harness.learn import LearnResult


@intent("Improve")
@click.command(
    short_help="A skill from your Claude Code and Codex sessions.",
    cls=SettingsCommand,
    settings="harness.learn:LearnSettings",
    only=(
        "client", "since", "project", "exclude", "limit", "rebuild", "gate", "skill", "create",
        "description", "signal", "analyst", "merge", "min_support", "agent", *MODEL_FIELDS,
        "sandbox",
    ),
)  # fmt: skip
@click.argument("paths", nargs=-1, type=path_type)
@shared_option("--out", help="Folder for the sessions, the tasks and the skill.")
@click.option("--review", is_flag=True, help="Edit the list of sessions before anything is sent.")
@shared_option("--yes", help="Send without asking.")
@shared_option("--dry-run", help="Show what would be sent; call no model.")
@shared_option("--resume", help="Resume this output folder.")
@json_option
def learn(
    as_json: bool,
    dry_run: bool,
    yes: bool,
    review: bool,
    out: Path | None,
    resume: Path | None,
    **options: Any,
) -> None:
    """Learn a skill from the session logs that Claude Code and Codex left on this machine.

    PATHS may name logs or folders instead: sessions of both clients, ATIF, OpenTelemetry GenAI,
    Langfuse and LangSmith exports. Secrets are replaced first; what would be sent is shown, and
    nothing is sent before you agree. With the same --out, new sessions join those that were
    learned from, and only they are paid for. Exit code 5 if the gate refuses the skill.

    Example: harness learn --since 30d --out learned --model openai/gpt-4.1-mini --dry-run
    """
    from harness.learn import REVIEW, LearnSettings, gather
    from harness.learn import learn as evolve_from

    folder = resume or out
    if folder is None:
        raise click.UsageError("give --out DIR (or --resume DIR)")
    settings = LearnSettings.model_validate({"out": folder, **options})
    if settings.skill and settings.create:
        raise click.UsageError("give either --skill DIR or --create NAME")
    gathered = gather(settings, anew=dry_run and not resume, progress=EventLines())
    if review and gathered.sessions:
        click.edit(filename=str(folder / REVIEW))
        gathered = gather(settings, progress=EventLines())
    plan = (folder / REVIEW).read_text("utf-8")
    if dry_run:
        emit(gathered, as_json, plan)
        return
    echo(plan, err=True)
    if gathered.teaching and not yes:
        if not sys.stdin.isatty():
            raise BadInput("nothing was sent: read what would be sent above, then add --yes")
        click.confirm("Send this?", abort=True, err=True)
    result = evolve_from(settings, gathered, progress=EventLines())
    emit(result, as_json, result_text(result))
    if result.evolved is not None and result.evolved.gate.verdict == "refused":
        raise Refused(f"the gate refused the skill: {result.evolved.gate.reason}")


def result_text(result: LearnResult) -> str:
    """A result for people."""
    from harness.evolve import result_text as evolved_text

    if result.evolved is None:
        return f"nothing was sent: {result.reason}"
    lines = [evolved_text(result.evolved)]
    if result.staged:
        skill = result.evolved.skill
        lines += [
            f"staged, not proved (gate: none): {command_line('skill', 'review', skill)}",
            "harness skill export refuses it without --ungated",
        ]
    return "\n".join(lines)
