"""`harness check train`: the classifier of the verifier `trained`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli import echo, emit, json_option, path_type, shared_option
from harness.core import BadInput, require


@click.command(short_help="Train the classifier of `trained`.")
@shared_option("--data", help="Folder of the data sets.")
@click.option("--wordnet", type=path_type, required=True, help="Database files of WordNet 3.1.")
@shared_option("--out", required=True, help="File of the classifier, with its report.")
@click.option("--cache", type=path_type, help="Folder that keeps features between runs.")
@shared_option("--seed", default=1, help="Of the corruptions.")
@shared_option("--install", "installs", help="Use the classifier from now on.")
@json_option
def train(
    data: Path,
    wordnet: Path,
    out: Path,
    cache: Path | None,
    seed: int,
    installs: bool,
    as_json: bool,
) -> None:
    """Fit the classifier on tuning rows and, where they help, on texts corrupted by rule.

    --data is the folder of `benchmarks/check/quality.py`. The same files and seed give the same
    bytes. The encoder reads every claim: expect an hour on one core, or --cache from a run before.

    Example: harness check train --data data/ --wordnet dict/ --out classifier.json
    """
    verifier = require("harness.train.verifier.fit", "training needs packages")
    for folder in (data, wordnet):
        if not folder.is_dir():
            raise BadInput(f"expected a folder, got {str(folder)!r}")
    trained = verifier.train(data, wordnet, cache, seed)
    verifier.write(trained, out)
    if installs:
        verifier.write(trained)
        echo("the classifier is in place", err=True)
    report = trained.report
    lines = [f"{'area under the curve, tuning part':<36}"]
    lines += [f"  {name:<34}{value:.3f}" for name, value in report["auc_tuning"].items()]
    rows = ", ".join(f"{count} {name}" for name, count in report["rows"].items())
    lines.append(f"rows: {rows}; chosen: {report['chosen']}; written to {out}")
    emit(report, as_json, "\n".join(lines))
