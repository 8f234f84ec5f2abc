"""`harness skill`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from harness.cli.commands import emit, folder_argument, json_option, path_type, shared_option
from harness.cli.program import LazyGroup
from harness.cli.skill.export import export_skill, install_skill, update_skill
from harness.cli.skill.review import origin_text, review_skill
from harness.core import command_line
from harness.core.errors import BadInput, Refused


@click.group(cls=LazyGroup, intents={}, path="skill")
def skill() -> None:
    """Check, read, compare and ship skill directories."""


@skill.command("validate")
@folder_argument
@click.option("--max-references", type=int, default=20, show_default=True)
@click.option("--run-scripts", is_flag=True, help="Try its scripts too, in the sandbox.")
@shared_option("--sandbox", help="For --run-scripts.")
@json_option
def validate_skill(
    folder: Path, max_references: int, run_scripts: bool, sandbox: str, as_json: bool
) -> None:
    """Check DIR against the rules of every known client; exit 5 if one would refuse it.

    Example: harness skill validate skills/spreadsheet-basics
    """
    from harness.skills import Limits, load_skill, validate

    value = load_skill(folder)
    problems = validate(value, Limits(references=max_references))
    if run_scripts:
        from harness.sandbox import Limits as SandboxLimits
        from harness.sandbox import select
        from harness.skills import admit_scripts

        limits = SandboxLimits(wall_s=20, cpu_s=20)
        problems += admit_scripts(value, partial(select(sandbox).exec, limits=limits))
    errors = sum(problem.level == "error" for problem in problems)
    summary = f"{errors} errors, {len(problems) - errors} warnings"
    rows = [problem.model_dump(mode="json") for problem in problems]
    result = {"valid": not errors, "problems": rows}
    emit(result, as_json, "\n".join([*map(str, problems), f"{folder}: {summary}"]))
    if errors:
        raise Refused(f"{folder} is not a valid skill: {summary}")


@skill.command()
@folder_argument
@json_option
def show(folder: Path, as_json: bool) -> None:
    """Show what DIR holds and what it costs a model to load.

    Example: harness skill show skills/spreadsheet-basics
    """
    from harness.skills import summary

    result = summary(folder)
    lines = [
        "{name}  {digest:.12}  {description}".format_map(result),
        "catalogue {catalogue_tokens} tokens, SKILL.md {skill_tokens} tokens "
        "({tokenizer})".format_map(result),
    ]
    lines += [f"  {'  ' * (row['level'] - 1)}{row['title']}" for row in result["outline"]]
    lines += ["  {path}  {bytes} bytes  {tokens} tokens".format_map(row) for row in result["files"]]
    emit(result, as_json, "\n".join(lines))


@skill.command("diff")
@click.argument("old", metavar="DIR", type=path_type)
@click.argument("new", metavar="[NEW]", required=False, type=path_type)
@click.option("--version", "version", metavar="DIGEST", help="From this version of DIR to DIR.")
@json_option
def diff_skills(old: Path, new: Path | None, version: str | None, as_json: bool) -> None:
    """Unified diff of two skill directories, over all their files, or of DIR to a version of it.

    Example: harness skill diff skills/spreadsheet-basics evolved/spreadsheet-basics
    """
    from harness.skills import diff, load_skill, read_version, version_skill

    if (new is None) == (version is None):
        raise BadInput("expected a second skill directory or --version DIGEST")
    if version is not None:
        text = diff(version_skill(old, read_version(old, version)), load_skill(old))
    else:
        assert new is not None, "one of the two is given"
        text = diff(load_skill(old), load_skill(new))
    emit({"equal": not text, "diff": text}, as_json, text.rstrip("\n") or "no differences")


@skill.command("explain")
@click.argument("place", metavar="FILE:LINE")
@json_option
def explain_line(place: str, as_json: bool) -> None:
    """Say what a line of a skill comes from, and what speaks against it.

    The edit, what each of its sources said in its own words, the steps of the runs that they point
    to, runs and lessons that say the opposite, and how often what the evidence shows stands in
    failed and in passed runs.

    Example: harness skill explain evolved/spreadsheet-basics/SKILL.md:14
    """
    from harness.skills import explain_place

    origin = explain_place(place)
    edit, evidence = origin.edit, origin.evidence
    source = "no patch wrote this line" if edit is None else f"{edit.op}, {origin_text(edit)}"
    lines = [f"{origin.file}:{origin.line}: {origin.text}", f"  {source}"]
    if evidence is not None:
        if evidence.contrast is not None:
            lines.append(f"  its signs stand {evidence.contrast}")
        lines += [f"  checked: {trial.claim}: {trial.verdict}" for trial in evidence.claims]
        lines += [f"  may speak against it: {objection}" for objection in evidence.against]
    records = [record for record in origin.records if record.summary or record.quotes]
    lines += [f"  {line}" for record in records for line in str(record).splitlines()]
    if origin.records and not records:
        lines.append("  no analyst wrote it, or its record was not kept beside the skill")
    emit(origin, as_json, "\n".join(lines))


@skill.command()
@folder_argument
@json_option
def versions(folder: Path, as_json: bool) -> None:
    """List the versions that were kept of the skill DIR; * marks what is there now.

    Example: harness skill versions evolved/skill/spreadsheet-basics
    """
    from harness.skills import list_versions, load_skill

    current, recorded = load_skill(folder).digest, list_versions(folder)
    rows = [
        {
            "digest": version.digest,
            "parent": version.parent,
            "reason": version.reason,
            "edits": len(version.edits),
            "current": version.digest == current,
        }
        for version in recorded
    ]
    lines = [
        f"{'*' if version.digest == current else ' '} {version.digest[:12]}  from "
        f"{version.parent[:12] or 'nothing':12}  {len(version.edits):3} edits  {version.reason}"
        for version in recorded
    ]
    if current not in {version.digest for version in recorded}:
        lines.append(f"* {current[:12]}  not recorded (edited by hand, or not evolved here)")
    emit({"current": current, "versions": rows}, as_json, "\n".join(lines))


@skill.command("rollback")
@folder_argument
@click.option("--to", metavar="DIGEST", help="A version (6 characters suffice). Default: parent.")
@json_option
def rollback_skill(folder: Path, to: str | None, as_json: bool) -> None:
    """Put an earlier version in place of the skill DIR; what is there now is kept.

    Example: harness skill rollback evolved/skill/spreadsheet-basics
    """
    from harness.skills import rollback

    change = rollback(folder, to)
    text = (
        f"{change.diff}{folder} is version {change.after[:12]} now\n"
        f"undo with: {command_line('skill', 'rollback', folder, '--to', change.before[:12])}"
    )
    emit(change, as_json, text)


skill.add_command(export_skill)
skill.add_command(install_skill)
skill.add_command(update_skill)
skill.add_command(review_skill)
