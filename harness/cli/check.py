"""`harness check --answer FILE --documents PATH...` and `harness check --batch FILE`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.shared import emit, json_option

if TYPE_CHECKING:
    from harness.check import BatchReport, Documents, PolicyName, Report
    from harness.retrieve import Document

_FILE = click.Path(path_type=Path)
POLICIES = ("zero-tolerance", "error-rate", "severity", "review-on-single")
EXIT_CODES = {"PASS": 0, "FAIL": 5, "REVIEW": 5, "INVALID": 2}


@click.command()
@click.option("--answer", type=_FILE, help="File with the answer to check.")
@click.option("--documents", type=_FILE, multiple=True, metavar="PATH", help="May repeat.")
@click.option("--index", "folder", type=_FILE, help="Check against an index instead.")
@click.option("--batch", type=_FILE, help="JSONL of {question, answer, contexts, reference?}.")
@click.option("--question", default="", help="What the user asked.")
@click.option("--policy", type=click.Choice(POLICIES), default="zero-tolerance", show_default=True)
@click.option("--verifier", default="auto", show_default=True, help="auto, rules or trained.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="[ROLE=]SPEC",
    help="Check blindly with models; roles: proposer, checker. May repeat.",
)
@click.option("--votes", type=int, default=1, show_default=True, help="Samples of the checker.")
@click.option("--base-url", help="Endpoint of openai/ and vllm/ models.")
@click.option("--budget-calls", type=int, help="Stop before more calls are sent.")
@click.option("--junit", type=_FILE, help="Write JUnit XML, one case a claim.")
@click.option("--html", type=_FILE, help="Write a page with the claims highlighted.")
@click.argument("more", nargs=-1, type=_FILE, metavar="[PATH...]")
@json_option
@click.pass_context
def check(
    context: click.Context,
    answer: Path | None,
    documents: tuple[Path, ...],
    folder: Path | None,
    batch: Path | None,
    question: str,
    policy: PolicyName,
    verifier: str,
    models: tuple[str, ...],
    votes: int,
    base_url: str | None,
    budget_calls: int | None,
    junit: Path | None,
    html: Path | None,
    more: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Check what an answer claims against documents, claim by claim.

    Without --model by rules and a small classifier. With it, a Proposer takes the answer apart and
    a Checker that never sees it answers the questions from the documents.

    Exits with 0 if it passes, 5 if it fails or a person should look, 2 if no verdict is possible.
    PATHs behind the options are further documents.

    Example: harness check --answer answer.txt --documents report.md
    """
    paths = (*documents, *more)
    if batch is not None:
        if answer is not None or paths or folder is not None or models:
            raise click.UsageError("--batch takes no --answer, --documents, --index or --model")
        named = _batch(batch, policy, verifier, as_json)
    else:
        text, given = _given(answer, paths, folder, question)
        if models:
            report = _blind(text, given, models, question, policy, votes, base_url, budget_calls)
        else:
            report = _plain(text, given, question, policy, verifier)
        _show(text, report, as_json)
        named = [(answer.name if answer else "answer", text, report)]
    _write(named, junit, html)
    context.exit(max(EXIT_CODES[report.verdict] for _, _, report in named) if named else 0)


def _given(
    answer: Path | None, paths: tuple[Path, ...], folder: Path | None, question: str
) -> tuple[str, list[Path] | list[Document]]:
    if answer is None or (not paths) == (folder is None):
        raise click.UsageError("expected --answer FILE with --documents PATH or --index DIR")
    from harness.check import gather

    text = _read(answer)
    return text, gather(folder, text, question) if folder is not None else list(paths)


def _plain(text: str, given: Documents, question: str, policy: PolicyName, verifier: str) -> Report:
    from harness.check import check as run

    return run(text, given, question=question, policy=policy, verifier=verifier)


def _blind(
    text: str,
    given: Documents,
    models: tuple[str, ...],
    question: str,
    policy: PolicyName,
    votes: int,
    base_url: str | None,
    budget_calls: int | None,
) -> Report:
    from harness.check.blind import check_blind
    from harness.models import Budget

    return check_blind(
        text, given, models, question=question, policy=policy, votes=votes, base_url=base_url,
        budget=Budget(calls=budget_calls),
    )  # fmt: skip


def _show(text: str, report: Report, as_json: bool) -> None:
    from harness.check import as_text

    for warning in report.warnings:
        click.echo(f"warning: {warning}", err=True)
    emit(report, as_json, as_text(report, text))


def _read(path: Path) -> str:
    from harness.core import BadInput

    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"expected an answer as UTF-8 text in {str(path)!r}: {error}") from error


def _batch(
    batch: Path, policy: PolicyName, verifier: str, as_json: bool
) -> list[tuple[str, str, Report]]:
    from harness.check import check_batch, read_batch

    rows = read_batch(batch)
    found: list[BatchReport] = []
    for one in check_batch(rows, policy, verifier):
        found.append(one)
        if not as_json:
            click.echo(f"{one.id}\t{one.report.verdict}\t{one.report.reason}")
    if as_json:
        click.echo(json.dumps(_summary(found), ensure_ascii=False))
    else:
        counts = _summary(found)["outcomes"]
        click.echo(f"{len(found)} answers: {counts}", err=True)
    return [(one.id, one.answer, one.report) for one in found]


def _summary(found: list[BatchReport]) -> dict[str, object]:
    outcomes = [one.report.verdict.value for one in found]
    return {
        "items": len(found),
        "outcomes": {name: outcomes.count(name) for name in EXIT_CODES},
        "reports": [
            {"id": one.id, "question": one.question, **one.report.model_dump(mode="json")}
            for one in found
        ],
    }


def _write(named: list[tuple[str, str, Report]], junit: Path | None, html: Path | None) -> None:
    if junit is not None:
        from harness.check import as_junit
        from harness.core import write_atomic

        write_atomic(junit, as_junit([(name, report) for name, _, report in named]))
    if html is not None:
        from harness.check import write_html

        write_html(named, html)
