"""`harness check --batch FILE`: rows as users of RAGAS and RAGChecker have them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from harness.rag.check import BatchReport, Report
    from harness.rag.check.blind import BlindRow

OUTCOMES = ("PASS", "FAIL", "REVIEW", "INVALID")


def batch(options: dict[str, Any]) -> list[tuple[str, str, Report]]:
    """Check every row, print each as it is done, and the counts (or one JSON document)."""
    from harness.rag.check import read_batch

    rows = read_batch(options["batch"])
    as_json: bool = options["as_json"]

    def show(one: BatchReport) -> None:
        if not as_json:
            click.echo(f"{one.id}\t{one.report.verdict}\t{one.report.reason}")

    found: list[BatchReport] = []
    if options["models"]:
        blind = _blind(rows, options, show)
        found = [one.found for one in blind]
        if options["export"] is not None:
            _export(blind, options)
    else:
        from harness.rag.check import check_batch

        for one in check_batch(rows, options["policy"], options["verifier"]):
            found.append(one)
            show(one)
    summary = _summary(found)
    if as_json:
        click.echo(json.dumps(summary, ensure_ascii=False))
    else:
        calls = f"; calls: {summary['calls']}" if summary["calls"] else ""
        click.echo(f"{len(found)} answers: {summary['outcomes']}{calls}", err=True)
    return [(one.id, one.answer, one.report) for one in found]


def _blind(rows: Any, options: dict[str, Any], show: Any) -> list[BlindRow]:
    from harness.rag.check.blind import check_batch_blind
    from harness.rag.cli.check import settings_of

    return check_batch_blind(
        rows, options["models"], settings_of(options), concurrency=options["concurrency"],
        on_report=show,
    )  # fmt: skip


def _export(blind: list[BlindRow], options: dict[str, Any]) -> None:
    from harness.rag.check.batch import documents_of
    from harness.rag.check.rollouts import rows, with_solver, write_parquet

    found: list[dict[str, Any]] = []
    for one in blind:
        row, documents = one.row, documents_of(one.row)
        if one.rollouts:
            rollouts = with_solver(one.rollouts, row.question, row.answer, documents)
            found += rows(
                row.id, row.question, documents, rollouts, one.found.report, options["reward"]
            )
    write_parquet(found, options["export"])


def _summary(found: list[BatchReport]) -> dict[str, Any]:
    from harness.rag.check.blind import calls_of

    outcomes = [one.report.verdict.value for one in found]
    return {
        "items": len(found),
        "outcomes": {name: outcomes.count(name) for name in OUTCOMES},
        "calls": calls_of([one.report for one in found]),
        "reports": [
            {"id": one.id, "question": one.question, **one.report.model_dump(mode="json")}
            for one in found
        ],
    }
