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
    emit,
    intent,
    json_option,
    path_type,
    shared_option,
)
from harness.core.errors import BadInput, Refused

if TYPE_CHECKING:
    from harness.learn import Gathered, LearnResult, LearnSettings

SHOWN = 5


@intent("Improve")
@click.command(
    short_help="A skill from your Claude Code and Codex sessions.",
    cls=SettingsCommand,
    settings="harness.evals.settings:SuiteSettings",
    only=(*MODEL_FIELDS, "sandbox"),
)
@click.argument("paths", nargs=-1, type=path_type)
@shared_option("--out", help="Folder for the sessions, the tasks and the skill.")
@click.option(
    "--client", "--source", type=click.Choice(["all", "claude", "codex"]), default="all",
    show_default=True, help="Whose sessions to take.",
)  # fmt: skip
@click.option(
    "--since", default="", help="Only sessions since a date, or of the last 30d, 2w, 12h."
)
@click.option(
    "--project", "--repo", type=path_type, help="Only sessions in this folder and below it."
)
@shared_option(
    "--limit", default=100, show_default=True, help="Sessions at most, the latest first."
)
@click.option("--rebuild/--no-rebuild", default=True, help="Make tasks again for a gate.")
@click.option("--gate", type=click.Choice(["auto", "none"]), default="auto", show_default=True,
              help="Prove the skill on tasks that were made again, or do not.")  # fmt: skip
@shared_option("--skill", help="Deepen this skill directory.")
@click.option("--create", metavar="NAME", help="Name of a new skill.")
@click.option("--description", default="", help="Frontmatter description of a new skill.")
@click.option(
    "--signal", type=click.Choice(["error", "success", "combined"]), default="combined",
    show_default=True, help="Which sessions teach.",
)  # fmt: skip
@click.option(
    "--analyst", type=click.Choice(["single", "exemplar"]), default="single", show_default=True,
    help="One model call a session, or examples without a model.",
)  # fmt: skip
@click.option(
    "--merge", type=click.Choice(["model", "deterministic"]), default="deterministic",
    show_default=True,
)  # fmt: skip
@click.option("--min-support", default=2, show_default=True, help="Tasks that a rule needs.")
@shared_option("--agent", help="Agent of the gate: graph:FILE.py:NAME or cmd:COMMAND.")
@shared_option("--yes", help="Send without asking.")
@shared_option("--dry-run", help="Show what would be sent; call no model.")
@shared_option("--resume", help="Go on with this output folder.")
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
    click.echo(plan, err=True)
    if gathered.teaching and not yes:
        if not sys.stdin.isatty():
            raise BadInput("nothing was sent: read what would be sent above, then add --yes")
        click.confirm("Send this?", abort=True, err=True)
    result = evolve_from(settings, gathered, progress=EventLines())
    emit(result, as_json, result_text(result))
    if result.evolved is not None and result.evolved.gate.verdict == "refused":
        raise Refused(f"the gate refused the skill: {result.evolved.gate.reason}")


def plan_text(settings: LearnSettings, gathered: Gathered) -> str:
    """What was found, and what would be sent where, for people."""
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
    lines += [f"skipped {skip}" for skip in gathered.skipped if skip.line]
    unread = Counter(skip.reason for skip in gathered.skipped if not skip.line)
    lines += [f"skipped {count} x {reason}" for reason, count in unread.items()]
    lines += _tasks(gathered)
    secrets = sum(gathered.redactions.values())
    kinds = ", ".join(f"{count} x {kind}" for kind, count in gathered.redactions.items())
    lines.append(f"redacted: {secrets} secrets{f' ({kinds})' if kinds else ''}")
    lines += [f"would be sent to {recipient}" for recipient in recipients(settings, gathered)]
    lines.append(f"read it before: {gathered.sent}")
    return "\n".join(lines)


def _tasks(gathered: Gathered) -> list[str]:
    rebuilt = {task.task: task for task in gathered.tasks if task.task}
    reasons = Counter(task.why_not for task in gathered.tasks if task.why_not)
    verified = sum(task.verified for task in rebuilt.values())
    held = sum(task.held_out for task in rebuilt.values())
    lines = [
        f"tasks made again: {len(rebuilt)} ({verified} verified, {held} held out for the gate)"
    ]
    lines += [f"  not made: {count} x {reason}" for reason, count in sorted(reasons.items())]
    if gathered.no_gate:
        lines.append(f"gate: none, {gathered.no_gate}; the skill will be staged for review")
    return lines


def result_text(result: LearnResult) -> str:
    """A result for people."""
    from harness.cli.evolve import result_text as evolved_text

    if result.evolved is None:
        return f"nothing was sent: {result.reason}"
    lines = [evolved_text(result.evolved)]
    if result.staged:
        skill = result.evolved.skill
        lines += [
            f"staged, not proved (gate: none): harness skill review {skill}",
            "harness skill export refuses it without --ungated",
        ]
    return "\n".join(lines)
