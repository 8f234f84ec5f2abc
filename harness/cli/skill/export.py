"""`harness skill export | install`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.commands import emit, folder_argument, json_option, path_type, shared_option
from harness.core.errors import BadInput

if TYPE_CHECKING:
    from harness.skills import Attempt, Exported, Target

# As harness.skills.Target; written out because importing the room here would slow `--help` down.
TARGETS = (
    "universal", "claude", "codex", "cursor", "gemini", "copilot", "plugin", "well-known", "skill",
    "skill-creator", "agents", "zip",
)  # fmt: skip
ungated_option = click.option(
    "--ungated", is_flag=True, help="Also where no gate accepted the evolved skill."
)


@click.command("export")
@folder_argument
@click.option("--target", type=click.Choice(TARGETS), required=True, help="Kind of client.")
@shared_option("--out", default=Path(), help="Default: here.")
@shared_option("--force", help="Overwrite a copy that was edited since.")
@shared_option("--check")
@ungated_option
@shared_option("--suite", help="skill-creator: its tasks become evals.json.")
@shared_option("--run", "run", help="skill-creator: an eval run with the skill.")
@click.option("--baseline", type=path_type, help="skill-creator: a run without it, on its tasks.")
@json_option
def export_skill(
    folder: Path,
    target: Target,
    out: Path,
    force: bool,
    check: bool,
    ungated: bool,
    suite: str | None,
    run: Path | None,
    baseline: Path | None,
    as_json: bool,
) -> None:
    """Write DIR where clients look, or as one reproducible .skill file.

    universal is .agents/skills; agents and zip are other names of universal and skill. A .skill
    file is a ZIP archive. A receipt of DIR goes to harness-receipts/ in --out, where clients do not
    look. An evolved skill that no gate accepted is refused (exit code 5).

    harness-skills.lock.json in --out keeps digests: a folder that was edited since is not
    overwritten.

    Example: harness skill export skills/spreadsheet-basics --target zip --out dist
    """
    from harness.skills import export, load_skill, receipt_files, refuse_ungated

    if not ungated:
        refuse_ungated(folder)
    if target == "skill-creator":
        exported = _creator(folder, out, suite, run, baseline, force, check)
    elif suite or run or baseline:
        raise BadInput(f"--suite, --run and --baseline belong to skill-creator, not to {target!r}")
    else:
        value = load_skill(folder)
        receipt = receipt_files(folder, value)
        exported = export(value, target, out, force=force, check=check, receipt=receipt)
    _report([exported], as_json)


into_option = click.option(
    "--into", type=path_type, default=Path(), help="Project folder (default: here)."
)


@click.command("install")
@click.argument("source")
@click.option("--skill", "names", multiple=True, metavar="NAME",
              help="Of several skills there; may repeat.")  # fmt: skip
@into_option
@shared_option("--force", help="Overwrite copies that were edited since.")
@shared_option("--check")
@ungated_option
@json_option
def install_skill(
    source: str,
    names: tuple[str, ...],
    into: Path,
    force: bool,
    check: bool,
    ungated: bool,
    as_json: bool,
) -> None:
    """Install a skill into a project, for clients of .agents/skills and of .claude/skills.

    SOURCE is a skill directory, a .skill or .zip file, OWNER/REPO of GitHub, or the address of any
    git repository, with @REF for a branch, a tag or a commit. An evolved skill that no gate
    accepted is refused (exit code 5).

    harness-skills.lock.json in the project keeps where it came from.

    \b
    Example: harness skill install skills/spreadsheet-basics --into my-project
    Example: harness skill install anthropics/skills --skill skill-creator --into my-project
    """
    from harness.skills import install_from

    _report(install_from(source, into, names, force=force, check=check, ungated=ungated), as_json)


@click.command("update")
@click.argument("names", nargs=-1)
@into_option
@shared_option("--force", help="Overwrite copies that were edited since.")
@shared_option("--check")
@json_option
def update_skill(
    names: tuple[str, ...], into: Path, force: bool, check: bool, as_json: bool
) -> None:
    """Install skills again from where they came; default all that the lock file names.

    Example: harness skill update --into my-project --check
    """
    from harness.skills import update_installed

    _report(update_installed(into, names, force=force, check=check), as_json)


def _creator(
    folder: Path,
    out: Path,
    suite: str | None,
    run: Path | None,
    baseline: Path | None,
    force: bool,
    check: bool,
) -> Exported:
    from harness.evals import load_suite, read_report
    from harness.skills import benchmark_of, evals_of, export_creator, history_of, load_skill

    if baseline is not None and run is None:
        raise BadInput("expected --run with --baseline: the run with the skill")
    skill, history = load_skill(folder), history_of(folder)
    tasks = [
        (task.id, task.prompt, "" if task.answer is None else str(task.answer))
        for task in (load_suite(suite, trusted=True).tasks if suite else ())
    ]
    benchmark = benchmark_of(
        skill.name,
        _attempts(run),
        _attempts(baseline),
        model=read_report(run).model if run else "",
        order=[name for name, _, _ in tasks],
    )
    return export_creator(
        skill,
        out,
        evals=evals_of(skill.name, tasks) if tasks else None,
        benchmark=benchmark if run else None,
        history=history if history["iterations"] else None,
        force=force,
        check=check,
    )


def _attempts(run: Path | None) -> list[Attempt]:
    """Attempts of an eval run."""
    if run is None:
        return []
    from harness.evals import records
    from harness.skills import Attempt

    return [
        Attempt(
            task=item.task_id,
            outcome=item.outcome,
            epoch=item.epoch,
            reason=item.reason,
            seconds=item.usage.seconds,
            tokens=item.usage.tokens,
        )
        for item in records(run)
    ]


def _report(exports: list[Exported], as_json: bool) -> None:
    from harness.skills import RECEIPTS

    form = {"skill": " (a ZIP archive)"}
    lines = [f"{e.diff}{e.status}: {e.path}{form.get(e.target, '')}" for e in exports]
    lines += [f"  {path}" for export in exports for path in export.also]
    if any(RECEIPTS in Path(line).parts for line in lines):
        lines.append(f"receipts: {RECEIPTS}/, which clients do not read and skill verify does")
    if lock := exports[0].lock:
        lines.append(f"lock file: {lock} (digests of what was written)")
    emit([export.model_dump(mode="json") for export in exports], as_json, "\n".join(lines))
