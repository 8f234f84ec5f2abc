"""`python -m lab.training.compressor`: the token critic from labelled extracts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli import echo, path_type
from lab.training.compressor.session import TrainOptions, train


@click.command()
@click.option("--data", type=path_type, required=True, help="Folder with the training files.")
@click.option("--out", type=path_type, required=True, help="Weights and their report.")
@click.option("--encoder", type=path_type, help="BERT to begin with. Default: all-MiniLM-L6-v2.")
@click.option("--windows", type=click.IntRange(1), default=40_000, show_default=True)
@click.option("--seed", default=7, show_default=True, help="Of everything random.")
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True)
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto")
def main(**options: Any) -> None:
    """Train the token critic, export it, measure it on held-out groups, fit the fusion.

    --data holds nq_oracle.jsonl, qed.jsonl, wice_dev.jsonl and qmsum_val.jsonl. 40,000 windows
    take about an hour on one core. OUT/weights is what `harness/rag/compress/weights` holds.
    """
    out: Path = options["out"]
    report = train(TrainOptions(**options))
    echo(f"{'held-out groups':<16}{'budget':>8}{'critic':>8}{'BM25':>8}")
    for source, budgets in report.critic.recall.items():
        for budget, recall in budgets.items():
            lexical = report.lexical.recall[source][budget]
            echo(f"{source:<16}{budget:>8}{recall:>8.3f}{lexical:>8.3f}")
    echo(f"mean recall {report.critic.mean:.4f}; weights in {out / 'weights'}")


if __name__ == "__main__":
    main()
