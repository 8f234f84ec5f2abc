"""`harness ask`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from harness.cli import echo, emit, intent, json_option, path_type, shared_option
from harness.core.terminal import hyperlink, shown, tokens_text
from harness.rag.cli.index import reading, reading_options

if TYPE_CHECKING:
    from harness.rag.ask import Answer

_SHOWN = 400


@intent("Answer")
@click.command(short_help="Answer a question from files or an index, with citations.")
@click.argument("question")
@click.argument("paths", type=path_type, nargs=-1)
@shared_option("--index", help="Folder of an index, instead of files.")
@click.option(
    "--context",
    type=click.Choice(["retrieve", "compress", "both", "truncate"]),
    default="retrieve",
    show_default=True,
    help="How passages are chosen.",
)
@shared_option("--budget", default=1500, show_default=True, help="Tokens of passages.")
@shared_option("--arm", help="Of the search. Default: weighted; for many files lexical.")
@click.option(
    "--check",
    "verifier",
    type=click.Choice(["rules", "overlap", "auto", "none"]),
    default="rules",
    show_default=True,
    help="What gives the verdict on the answer; none of them calls a model.",
)
@click.option("--extract", is_flag=True, help="The best sentences as they stand, without a model.")
@shared_option("--model", help="A model spec. Default: local/smollm2-135m.")
@shared_option("--base-url")
@shared_option("--max-tokens")
@shared_option("--budget-usd", help="Most money of the call.")
@shared_option("--budget-tokens", help="Most tokens of the call.")
@shared_option("--budget-calls", help="0 forbids the call.")
@shared_option("--out", help="Write an HTML page whose citations open the passage.")
@reading_options
@json_option
def ask(
    as_json: bool,
    out: Path | None,
    ocr: bool,
    encoding: str | None,
    parser: str,
    max_file_mb: float,
    strict: bool,
    follow_links: bool,
    max_tokens: int,
    verifier: str,
    **options: Any,
) -> None:
    """Answer QUESTION from files, folders or an index, with citations.

    Example: harness ask "when does the warranty end?" contract.pdf notes/ --out answer.html
    """
    from harness.models import Sampling
    from harness.rag.ask import AskSettings, passage_checker, write_answer
    from harness.rag.ask import ask as run

    settings = AskSettings(
        **options,
        reading=reading(ocr, encoding, parser, max_file_mb, strict, follow_links),
        sampling=Sampling(temperature=0.0, max_tokens=max_tokens),
    )

    def show(answer: Answer) -> None:
        for warning in answer.warnings:
            echo(f"warning: {warning}", err=True)
        emit(answer, as_json, answer_text(answer))
        echo(facts(answer), err=True)
        if out is not None:
            write_answer(answer, out)
            echo(f"page: {out}", err=True)

    show(run(settings, checker=passage_checker(verifier), on_failure=show))


def answer_text(answer: Answer) -> str:
    """An answer for people: the text, then what it cites; all passages where it cites nothing."""
    head = answer.answer or (
        "No model answered; the passages:" if answer.error else "The passages do not answer this."
    )
    if answer.simulated:
        head = f"SIMULATED model\n{head}"
    lines = [head]
    if answer.method == "extract" and answer.answered:
        lines += ["", "Quoted, and not judged to be the answer; found in:"]
    elif answer.answered and not answer.citations:
        lines += ["", "It cites none of the passages that were read; closest to the question:"]
    for citation in answer.citations or answer.nearest or answer.passages:
        location = citation.where
        if citation.uri and sys.stdout.isatty():  # a hyperlink (OSC 8) that opens the document
            location = hyperlink(location, citation.uri)
        lines += ["", shown([f"[{citation.number}] ", location], ""), f"    {_cut(citation.text)}"]
    if isinstance(answer.verdict, dict):
        verdict = cast("dict[str, Any]", answer.verdict)
        lines += ["", f"Checked against the passages: {verdict['verdict']}: {verdict['reason']}"]
        for fault in verdict.get("faults", []):
            lines.append(f"    {fault['verdict']} {_cut(fault['text'])!r}: {fault['reason']}")
    return shown(lines)


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return f"{line[:_SHOWN]} …" if len(line) > _SHOWN else line


def facts(answer: Answer) -> str:
    """Summarise what was read, by whom, at what cost, in how long."""
    read = (
        f"{answer.context}{f' ({answer.arm})' if answer.arm else ''}: {len(answer.passages)} "
        f"passages, {answer.tokens:,} of {answer.budget:,} tokens"
    )
    usage = answer.usage
    cost = "cost unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    tokens = tokens_text(usage.tokens, usage.calls, usage.unreported)
    spent = f"{answer.model}: {tokens}, {cost}"
    method = {
        "model": spent,
        "extract": "best sentences, no model",
        "none": "no model was asked" if not answer.error else f"{answer.model} did not answer",
    }[answer.method]
    return f"{read}; {method}; {answer.seconds['total']:.1f} s"
