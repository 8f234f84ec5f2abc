"""`harness demo`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import EventLines, emit, intent, json_option, shared_option, tally_progress
from harness.receipts.cli.skill_ladder import rung_table

if TYPE_CHECKING:
    from harness.receipts.demo import DemoReport

DEMO_MODEL = "local/qwen2.5-coder-0.5b"


@intent("Set up")
@click.command(short_help="Our recorded run again; --live asks the model.")
@shared_option("--live", help="Run the embedded model now (minutes).")
@shared_option("--model", help=f"Another model for --live; default {DEMO_MODEL}.")
@shared_option("--out", default="demo-out", show_default=True)
@shared_option("--concurrency")
@click.option("--test", type=click.IntRange(8), default=8, show_default=True, help="Test tasks.")
@json_option
def demo(
    live: bool, model: str | None, out: Path, concurrency: int, test: int, as_json: bool
) -> None:
    """Show the main job: failing programs, a skill of functions, a gate, a ladder, an export.

    Alone it answers from our recording in about two minutes, with no model. With --live the
    embedded model works through it now.

    Example: harness demo --live --out demo-out
    """
    from harness.receipts.demo import recording, run_demo

    spec = (model or DEMO_MODEL) if live else f"replay/{recording()}"
    folder = out / ("live" if live else "recorded")
    report = run_demo(
        folder,
        model=spec,
        test=test,
        concurrency=concurrency,
        tell=EventLines(),
        show=tally_progress(),
    )
    emit(report, as_json, demo_text(report, folder))


def demo_text(report: DemoReport, folder: Path) -> str:
    """The demo for people."""
    gate = report.evolution.gate
    ladder = report.ladder
    return "\n".join([
        f"{report.origin} demo with {report.model}",
        f"gate: {gate.verdict} ({gate.reason})",
        *([rung_table(ladder.rungs), ladder.verdicts[0]] if ladder else ()),
        f"exported: {len(report.exported)} files" if report.exported else "not exported",
        f"{report.tokens:,} tokens, {report.seconds:.0f} s, at most {report.peak_memory_mb:,} MiB",
        f"report: {folder / 'report.html'}",
    ])  # fmt: skip
