"""`harness compress train`: the token critic from labelled extracts."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from harness.cli import echo, emit, json_option, path_type, shared_option
from harness.core import BadInput, require


@click.command(short_help="Train the token critic.")
@shared_option("--data", help="Folder with the training files.")
@shared_option("--out", required=True, help="Checkpoint, manifest, report, weights.")
@click.option("--encoder", type=path_type, help="BERT to begin with. Default: all-MiniLM-L6-v2.")
@click.option("--windows", type=click.IntRange(1), default=40_000, show_default=True)
@shared_option("--seed", default=7, help="Of everything random.")
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True)
@click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True
)
@click.option("--resume", is_flag=True, help="Go on with the run in --out.")
@shared_option("--install", "installs", help="Use the weights, if they are better.")
@json_option
def train(
    data: Path,
    out: Path,
    encoder: Path | None,
    windows: int,
    seed: int,
    threads: int,
    device: str,
    resume: bool,
    installs: bool,
    as_json: bool,
) -> None:
    """Train the token critic, export it, measure it on held-out groups, fit the fusion.

    --data holds nq_oracle.jsonl, qed.jsonl, wice_dev.jsonl and qmsum_val.jsonl. 40,000 windows
    take about an hour on one core; a run that was stopped goes on with --resume, to the same
    weights.

    Example: harness compress train --data extracts/ --out critic/ --install
    """
    compressor = require(
        "harness.train.compressor", "training needs packages", "'agent-skill-harness[rag,train]'"
    )
    if not data.is_dir():
        raise BadInput(f"expected a folder of training files, got {str(data)!r}")
    options = compressor.TrainOptions(
        data=data,
        out=out,
        encoder=encoder,
        windows=windows,
        seed=seed,
        threads=threads,
        device=device,
    )
    report = compressor.train(options, partial(echo, err=True), resume=resume)
    if installs:
        compressor.install(out)
        echo("the weights are in place", err=True)
    lines = [f"{'held-out groups':<16}{'budget':>8}{'critic':>8}{'BM25':>8}"]
    for source, budgets in report.critic.recall.items():
        for budget, recall in budgets.items():
            lexical = report.lexical.recall[source][budget]
            lines.append(f"{source:<16}{budget:>8}{recall:>8.3f}{lexical:>8.3f}")
    lines.append(f"mean recall {report.critic.mean:.4f}; weights in {out}")
    emit(report, as_json, "\n".join(lines))
