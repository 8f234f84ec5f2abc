"""`harness learn`."""

from __future__ import annotations

import sys
from collections import Counter
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
    from harness.learn import Gathered, LearnResult, LearnSettings

SHOWN, SUSPECTS = 5, 20


@intent("Improve")
@click.command(
    short_help="A skill from your Claude Code and Codex sessions.",
    cls=SettingsCommand,
    settings="harness.learn:LearnSettings",
    only=(
        "client", "since", "project", "limit", "rebuild", "gate", "skill", "create", "description",
        "signal", "analyst", "merge", "min_support", "agent", *MODEL_FIELDS, "sandbox",
    ),
)  # fmt: skip
@click.argument("paths", nargs=-1, type=path_type)
@shared_option("--out", help="Folder for the sessions, the tasks and the skill.")
@shared_option("--yes", help="Send without asking.")
@shared_option("--dry-run", help="Show what would be sent; call no model.")
@shared_option("--resume", help="Resume this output folder.")
@json_option
def learn(
    as_json: bool, dry_run: bool, yes: bool, out: Path | None, resume: Path | None, **options: Any
) -> None:
    """Learn a skill from the session logs that Claude Code and Codex left on this machine.

    PATHS may name logs or folders instead: sessions of both clients, ATIF, OpenTelemetry GenAI,
    Langfuse and LangSmith exports. Secrets are replaced first; what would be sent is shown, and
    nothing is sent before you agree. Exit code 5 if the gate refuses the skill.

    Example: harness learn --since 30d --out learned --model openai/gpt-4.1-mini --dry-run
    """
    from harness.learn import LearnSettings, gather
    from harness.learn import learn as evolve_from

    folder = resume or out
    if folder is None:
        raise click.UsageError("give --out DIR (or --resume DIR)")
    settings = LearnSettings.model_validate({"out": folder, **options})
    if settings.skill and settings.create:
        raise click.UsageError("give either --skill DIR or --create NAME")
    gathered = gather(settings, progress=EventLines())
    plan = plan_text(settings, gathered)
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


def plan_text(settings: LearnSettings, gathered: Gathered) -> str:
    """Format what was found, and what would be sent where, for people."""
    from harness.learn import recipients

    counts = gathered.outcomes
    clients = sorted({session.client for session in gathered.sessions})
    lines = [
        f"{len(gathered.sessions)} sessions ({', '.join(clients) or 'none'}): "
        f"{counts['pass']} pass, {counts['fail']} fail, {counts['unknown']} unknown",
    ]
    decided = [
        session for session in gathered.sessions if session.outcome.claims and session.teaches
    ]
    lines += [f"  {session.outcome.claims[-1]}" for session in decided[:SHOWN]]
    if len(decided) > SHOWN:
        lines.append(f"  and {len(decided) - SHOWN} more: {settings.out / 'learn.json'}")
    silent = [row for row in gathered.sessions if row.outcome.verdict == "unknown"]
    unsettled = Counter(row.outcome.reason for row in silent)
    lines += [f"  unknown: {count} x {reason}" for reason, count in unsettled.most_common()]
    lines += [f"skipped {skip}" for skip in gathered.skipped if skip.line]
    unread = Counter(skip.reason for skip in gathered.skipped if not skip.line)
    lines += [f"skipped {count} x {reason}" for reason, count in unread.items()]
    rebuilt = {task.task: task for task in gathered.tasks if task.task}
    verified = sum(task.verified for task in rebuilt.values())
    held_out = sum(task.held_out for task in rebuilt.values())
    lines.append(
        f"tasks made again: {len(rebuilt)} ({verified} verified, {held_out} held out for the gate)"
    )
    reasons = Counter(task.why_not for task in gathered.tasks if task.why_not)
    lines += [f"  not made: {count} x {reason}" for reason, count in sorted(reasons.items())]
    if gathered.no_gate:
        lines.append(f"gate: none, {gathered.no_gate}; the skill will be staged for review")
    secrets = sum(gathered.redactions.values())
    kinds = ", ".join(f"{count} x {kind}" for kind, count in gathered.redactions.items())
    lines.append(f"redacted: {secrets} secrets{f' ({kinds})' if kinds else ''}")
    if suspects := gathered.random_words:
        lines.append(
            f"looks random, and would be sent: {len(suspects)} (look whether it is secret)"
        )
        lines += [f"  {word}" for word in suspects[:SUSPECTS]]
    if len(suspects) > SUSPECTS:
        lines.append(f"  and {len(suspects) - SUSPECTS} more: {settings.out / 'learn.json'}")
    lines += [f"would be sent to {recipient}" for recipient in recipients(settings, gathered)]
    lines.append(f"read it before: {gathered.sent}")
    return "\n".join(lines)


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
