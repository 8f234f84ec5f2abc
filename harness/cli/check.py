"""`harness check --answer FILE --documents PATH...` and `harness check --batch FILE`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.shared import emit, json_option

if TYPE_CHECKING:
    from harness.check import BatchReport, PolicyName, Report

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
@click.option("--verifier", default="auto", show_default=True, help="auto or rules.")
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
    junit: Path | None,
    html: Path | None,
    more: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Check what an answer claims against documents, without a language model.

    Exits with 0 if it passes, 5 if it fails or a person should look, 2 if no verdict is possible.
    PATHs behind the options are further documents.

    Example: harness check --answer answer.txt --documents report.md
    """
    paths = (*documents, *more)
    if batch is not None:
        if answer is not None or paths or folder is not None:
            raise click.UsageError("--batch brings answers and contexts itself")
        named = _batch(batch, policy, verifier, as_json)
    else:
        named = [_single(answer, paths, folder, question, policy, verifier, as_json)]
    _write(named, junit, html)
    context.exit(max(EXIT_CODES[report.verdict] for _, _, report in named) if named else 0)


def _single(
    answer: Path | None,
    paths: tuple[Path, ...],
    folder: Path | None,
    question: str,
    policy: PolicyName,
    verifier: str,
    as_json: bool,
) -> tuple[str, str, Report]:
    if answer is None or (not paths) == (folder is None):
        raise click.UsageError("expected --answer FILE with --documents PATH or --index DIR")
    from harness.check import as_text, gather
    from harness.check import check as run

    text = _read(answer)
    given = gather(folder, text, question) if folder is not None else list(paths)
    report = run(text, given, question=question, policy=policy, verifier=verifier)
    for warning in report.warnings:
        click.echo(f"warning: {warning}", err=True)
    emit(report, as_json, as_text(report, text))
    return answer.name, text, report


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
