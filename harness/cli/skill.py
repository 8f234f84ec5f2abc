"""`harness skill`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.lazy import LazyGroup
from harness.cli.shared import emit, json_option
from harness.cli.skill_export import export_skill, install_skill
from harness.cli.skill_review import review_skill
from harness.cli.skill_versions import folder_argument, rollback_skill, versions
from harness.core.errors import BadInput, Refused

if TYPE_CHECKING:
    from harness.skills import Problem, Skill


@click.group(cls=LazyGroup, intents={}, path="skill")
def skill() -> None:
    """Check, read, compare and ship skill directories."""


@skill.command("validate")
@folder_argument
@click.option("--max-references", type=int, default=20, show_default=True)
@click.option("--run-scripts", is_flag=True, help="Try its scripts too, in the sandbox.")
@click.option("--sandbox", default="auto", show_default=True, help="For --run-scripts.")
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
        problems += _try_scripts(value, sandbox)
    errors = sum(one.level == "error" for one in problems)
    summary = f"{errors} errors, {len(problems) - errors} warnings"
    rows = [one.model_dump(mode="json") for one in problems]
    result = {"valid": not errors, "problems": rows}
    emit(result, as_json, "\n".join([*map(str, problems), f"{folder}: {summary}"]))
    if errors:
        raise Refused(f"{folder} is not a valid skill: {summary}")


def _try_scripts(value: Skill, sandbox: str) -> list[Problem]:
    from harness.sandbox import Limits, select
    from harness.skills import admit_scripts

    return admit_scripts(value, partial(select(sandbox).exec, limits=Limits(wall_s=20, cpu_s=20)))


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
        f"{result.name}  {result.digest[:12]}  {result.description}",
        f"catalogue {result.catalogue_tokens} tokens, SKILL.md {result.skill_tokens} tokens "
        f"({result.tokenizer})",
    ]
    lines += [f"  {'  ' * (one.level - 1)}{one.title}" for one in result.outline]
    lines += [f"  {one.path}  {one.bytes} bytes  {one.tokens} tokens" for one in result.files]
    emit(result, as_json, "\n".join(lines))


@skill.command("diff")
@click.argument("old", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("new", metavar="[NEW]", required=False, type=click.Path(path_type=Path))
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
    """Say which edit, which trajectories and which of their steps a line of a skill comes from.

    Example: harness skill explain evolved/spreadsheet-basics/SKILL.md:42
    """
    from harness.skills import explain_place

    found = explain_place(place)
    edit = found.edit
    origin = (
        "no patch wrote this line"
        if edit is None
        else f"{edit.op}, support {edit.support}, from {', '.join(edit.sources) or 'no source'}"
    )
    lines = [f"{found.file}:{found.line}: {found.text}", f"  {origin}"]
    shown = [one for one in found.records if one.summary or one.quotes]
    lines += [f"  {line}" for one in shown for line in str(one).splitlines()]
    if found.records and not shown:
        lines.append("  no analyst record was kept beside the skill")
    emit(found, as_json, "\n".join(lines))


skill.add_command(export_skill)
skill.add_command(install_skill)
skill.add_command(versions)
skill.add_command(rollback_skill)
skill.add_command(review_skill)
