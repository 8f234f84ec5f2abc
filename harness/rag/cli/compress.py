"""`harness compress --query Q PATH...`, `harness compress expand ID`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli import SHARE, DefaultGroup, echo, emit, intent, json_option, shared_option

if TYPE_CHECKING:
    from harness.rag.compress import Choice, Style

GRANULARITIES = ("auto", "word", "sentence", "paragraph", "row", "record", "code")


@intent("Answer")
@click.group(
    short_help="Keep what a query needs of files, within a budget; expand ID.",
    cls=DefaultGroup,
    intents={
        "Commands": {
            "keep": ("harness.rag.cli.compress:keep", "What is done where no command is named."),
            "expand": ("harness.rag.cli.compress:expand", "Print what a marker stands for."),
        }
    },
    path="compress",
    subcommand_metavar="[keep] [OPTIONS] PATH... | expand ID",
)
def compress() -> None:
    """Keep what a query needs of files and folders, verbatim, within a budget of tokens.

    What is left out stays restorable: `harness compress expand ID` prints it.

    Example: harness compress --query "When was the pump replaced?" --budget 500 report.md
    """


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--query", "-q", required=True, help="The question; '' keeps an even selection of everything."
)
@click.option("--instruction", default="", help="What to keep, and how it relates to the query.")
@shared_option("--budget", metavar="N", help="Most tokens of the result. Default: 2000.")
@click.option("--ratio", type=SHARE, help="The same as a share of the input: 10% or 0.1.")
@click.option("--granularity", type=click.Choice(GRANULARITIES), default="auto", show_default=True)
@click.option(
    "--tokenizer", default="estimate", show_default=True, help="estimate, minilm, or a file."
)
@shared_option("--critic", help="auto, lexical, embedding, ...")
@click.option(
    "--markers",
    type=click.Choice(("auto", "full", "short", "none")),
    default="auto",
    show_default=True,
    help="What stands for a part left out.",
)
@shared_option("--follow-links")
@json_option
def keep(
    paths: tuple[str, ...],
    query: str,
    instruction: str,
    budget: int | None,
    ratio: float | None,
    granularity: Choice,
    tokenizer: str,
    critic: str,
    markers: Style,
    follow_links: bool,
    as_json: bool,
) -> None:
    """Keep what a query needs; `keep` itself may be left out.

    Example: harness compress keep -q "Who replaced the pump?" --ratio 10% --markers full notes/
    """
    from harness.rag.compress import compress as run
    from harness.rag.compress import read_paths

    unlimited = budget is None and ratio is None
    parsed = read_paths([Path(path) for path in paths], follow_links)
    compressed = run(
        parsed.documents,
        query,
        instruction=instruction,
        budget=2000 if unlimited else budget,
        ratio=ratio,
        critic=critic,
        granularity=granularity,
        tokenizer=tokenizer,
        markers=markers,
    )
    for warning in (*parsed.warnings, *compressed.warnings):
        echo(f"warning: {warning}", err=True)
    counts = compressed.tokens
    echo(
        f"{counts.input:,} -> {counts.output:,} tokens ({counts.tokenizer}), critic "
        f"{compressed.critic}, {len(compressed.omitted)} parts left out",
        err=True,
    )
    emit(compressed, as_json, compressed.text)


@click.command()
@click.argument("id_", metavar="ID")
@json_option
def expand(id_: str, as_json: bool) -> None:
    """Print what the marker with this ID stands for; `--markers full` shows IDs.

    Example: harness compress expand 3f9a1c22d0
    """
    from harness.rag.compress import expand as restored

    text = restored(id_)
    emit({"id": id_, "text": text}, as_json, text)
