"""`harness check --answer FILE --documents PATH...`, `harness check --batch FILE`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli import (
    echo,
    echo_json,
    emit,
    intent,
    json_option,
    path_type,
    shared_option,
)
from harness.core import BadInput, write_atomic
from harness.rag import check as checking

if TYPE_CHECKING:
    from harness.rag.check import BatchReport, CheckSettings, Documents, Report

    Named = tuple[str, str, Report]
    """Name, text and report of an answer."""

_POLICIES = ("zero-tolerance", "error-rate", "severity", "review-on-single")
_EXIT_CODES = {"PASS": 0, "FAIL": 5, "REVIEW": 5, "INVALID": 2}


@intent("Answer")
@click.command(short_help="Check what an answer claims against documents, claim by claim.")
@click.option("--answer", type=path_type, help="File with the answer to check.")
@click.option("--documents", type=path_type, multiple=True, metavar="PATH", help="May repeat.")
@shared_option("--follow-links")
@shared_option("--index", "folder", help="Check against an index instead.")
@click.option("--batch", type=path_type, help="JSONL of {question, answer, contexts, reference?}.")
@click.option("--question", default="", help="What the user asked.")
@click.option("--policy", type=click.Choice(_POLICIES), default="zero-tolerance", show_default=True)
@click.option("--verifier", default="auto", show_default=True, help="auto, rules or overlap.")
@shared_option(
    "--model",
    "models",
    multiple=True,
    metavar="[ROLE=]SPEC",
    help="Check blindly with models; roles: proposer and checker. May repeat.",
)
@click.option("--mixed", is_flag=True, help="Values by the numeric engine, models for the rest.")
@click.option("--votes", type=int, default=1, show_default=True, help="Samples of the checker.")
@shared_option("--base-url")
@shared_option("--budget-usd", help="Stop before more money than this is spent.")
@shared_option("--budget-tokens", help="Stop before more tokens are used.")
@shared_option("--budget-calls", help="Stop before more calls are sent.")
@click.option(
    "--calls", type=path_type, help="Record the calls here; answered ones are not repeated."
)
@shared_option("--concurrency", help="Rows at a time.")
@shared_option("--junit", help="Write JUnit XML, one case per claim.")
@shared_option("--html", help="Write a page with the claims highlighted.")
@click.option(
    "--export", type=path_type, help="Write what every role said, with rewards (parquet)."
)
@click.option(
    "--reward", type=click.Choice(("ztr", "err", "scaled")), default="ztr", show_default=True
)
@click.argument("more", nargs=-1, type=path_type, metavar="[PATH...]")
@json_option
@click.pass_context
def check(context: click.Context, **options: Any) -> None:
    """Check what an answer claims against documents, claim by claim.

    Without --model by rules and word overlap. With it, a Proposer takes the answer apart and
    a Checker that never sees it answers the questions from the documents.

    Exits with 0 if it passes, 5 if it fails or a person should look, 2 if no verdict is possible.
    PATHs behind the options are further documents.

    Example: harness check --answer answer.txt --documents report.md
    """
    single = ("answer", "documents", "folder", "more")
    if options["batch"] is not None and any(options[name] for name in single):
        raise click.UsageError("--batch takes no --answer, --documents or --index")
    if options["export"] is not None and not options["models"]:
        raise click.UsageError("--export needs --model")
    answers = _check_answer(options) if options["batch"] is None else _check_rows(options)
    if options["junit"] is not None:
        reports = [(name, report) for name, _, report in answers]
        write_atomic(options["junit"], checking.as_junit(reports))
    if options["html"] is not None:
        checking.write_html(answers, options["html"])
    context.exit(max((_EXIT_CODES[report.verdict] for _, _, report in answers), default=0))


def _settings(options: dict[str, Any]) -> CheckSettings:
    """Return the settings that all ways of checking with models take."""
    from harness.models import Budget, CallStore  # `--help` imports no room

    limits = {name: options[f"budget_{name}"] for name in ("usd", "tokens", "calls")}
    return checking.CheckSettings(
        policy=options["policy"],
        votes=options["votes"],
        mixed=options["mixed"],
        base_url=options["base_url"],
        budget=Budget(**limits),
        calls=CallStore(options["calls"]),
    )


def _check_answer(options: dict[str, Any]) -> list[Named]:
    file: Path | None = options["answer"]
    folder: Path | None = options["folder"]
    documents: Documents = [*options["documents"], *options["more"]]
    question, models = options["question"], options["models"]
    if file is None or (not documents) == (folder is None):
        raise click.UsageError("expected --answer FILE with --documents PATH or --index DIR")
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"expected an answer as UTF-8 text in {str(file)!r}: {error}") from error
    if folder is not None:
        documents = checking.gather(folder, text, question)
    if models:
        sources, warnings = checking.read_documents(documents, options["follow_links"])
        _warn(warnings)
        recorder = checking.Recorder()
        report = checking.check_blind(
            text, sources, models, _settings(options), question=question, on_event=recorder.tell
        )
        if options["export"] is not None:
            row = checking.BatchReport(
                id=file.name, answer=text, contexts=tuple(source.text for source in sources),
                question=question, report=report, rollouts=tuple(recorder.rollouts),
            )  # fmt: skip
            checking.export([row], options["export"], options["reward"])
    else:
        policy, verifier = options["policy"], options["verifier"]
        report = checking.check(
            text, documents, question=question, policy=policy, verifier=verifier,
            follow_links=options["follow_links"],
        )  # fmt: skip
    _warn(report.warnings)
    emit(report, options["as_json"], checking.as_text(report, text))
    return [(file.name, text, report)]


def _warn(warnings: Sequence[str]) -> None:
    for warning in warnings:
        echo(f"warning: {warning}", err=True)


def _check_rows(options: dict[str, Any]) -> list[Named]:
    """Check every row, print each as it is done, and the counts (or one JSON document)."""
    rows, as_json = checking.read_batch(options["batch"]), options["as_json"]

    def show(result: BatchReport) -> None:
        if not as_json:
            echo(f"{result.id}\t{result.report.verdict}\t{result.report.reason}")

    results: list[BatchReport] = []
    if options["models"]:
        results = checking.check_batch_blind(
            rows, options["models"], _settings(options), concurrency=options["concurrency"],
            on_report=show,
        )  # fmt: skip
        if options["export"] is not None:
            exported = (result for result in results if result.rollouts)
            checking.export(exported, options["export"], options["reward"])
    else:
        for result in checking.check_batch(rows, options["policy"], options["verifier"]):
            results.append(result)
            show(result)
    outcomes = [result.report.verdict.value for result in results]
    summary: dict[str, Any] = {
        "items": len(results),
        "outcomes": {name: outcomes.count(name) for name in _EXIT_CODES},
        "calls": checking.calls_of([result.report for result in results]),
        "reports": [
            {"id": result.id, "question": result.question, **result.report.model_dump(mode="json")}
            for result in results
        ],
    }
    if as_json:
        echo_json(summary, indent=None)
    else:
        counts = ", ".join(
            f"{count} {name}" for name, count in summary["outcomes"].items() if count
        )
        calls = ", ".join(f"{count:g} {name}" for name, count in summary["calls"].items())
        ending = f"; calls: {calls}" if calls else ""
        echo(f"answers checked: {len(results)} ({counts}){ending}", err=True)
    return [(result.id, result.answer, result.report) for result in results]
