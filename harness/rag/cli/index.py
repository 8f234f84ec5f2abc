"""`harness index`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from harness.cli import (
    LazyGroup,
    SettingsCommand,
    echo,
    emit,
    fact_lines,
    intent,
    json_option,
    path_type,
    shared_option,
)
from harness.core import BadInput
from harness.rag import retrieve

if TYPE_CHECKING:
    from harness.rag.retrieve import Changed, Parsed, ParseOptions

CommandT = TypeVar("CommandT", bound=Callable[..., Any])

_HERE = "harness.rag.cli.index"
_MEASURE = "harness.rag.cli.index_measure"

index_option = click.option(
    "--index",
    "--out",
    "folder",
    type=path_type,
    default=Path("harness-index"),
    show_default=True,
    help="Folder of the index.",
)


def reading_options(command: CommandT) -> CommandT:
    """Add the options of how files are read."""
    options = (
        click.option("--ocr", is_flag=True, help="Recognise PDF pages without a text layer."),
        click.option("--encoding", help="Of text files. Default: UTF-8, or a guess, reported."),
        click.option("--parser", type=click.Choice(["own", "docling"]), default="own"),
        click.option("--max-file-mb", type=float, default=200, show_default=True),
        click.option("--strict", is_flag=True, help="Refuse a file that cannot be read."),
        shared_option("--follow-links"),
    )
    for option in reversed(options):
        command = option(command)
    return command


def reading(
    ocr: bool,
    encoding: str | None,
    parser: str,
    max_file_mb: float,
    strict: bool,
    follow_links: bool,
) -> ParseOptions:
    """Options of how files are read, as a value."""
    kind = "docling" if parser == "docling" else "own"
    return retrieve.ParseOptions(ocr, encoding, kind, int(max_file_mb * 1e6), strict, follow_links)


@intent("Answer")
@click.group(
    short_help="build | add | search | info | questions | ablate",
    cls=LazyGroup,
    intents={
        "Commands": {
            "build": (f"{_HERE}:build", "Index files and folders; again: only what changed."),
            "add": (f"{_HERE}:add", "Add files to an index."),
            "delete": (f"{_HERE}:delete", "Take documents out."),
            "search": (f"{_HERE}:search", "Find passages, with citations."),
            "info": (f"{_HERE}:info", "What an index holds and what it was made with."),
            "questions": (f"{_MEASURE}:questions", "Draft queries with verified gold spans."),
            "ablate": (f"{_MEASURE}:ablate", "Every way to search, measured in one table."),
        }
    },
)
def index() -> None:
    """Build, search and measure indexes of documents.

    Example: harness index build docs/ && harness index search "how are gates bounded"
    """


@click.command(cls=SettingsCommand, settings="harness.evals.settings:WorkerSettings")
@click.argument("paths", type=path_type, nargs=-1)
@index_option
@click.option(
    "--encoder",
    help="local (English), e5 (a hundred languages), lexical, local/PATH.gguf, openai/NAME, "
    "vllm/NAME or a name or folder of sentence-transformers. Default: that of the index; of a new "
    "one e5 if it is installed and most files are not English, else local.",
)
@shared_option("--base-url", help="Endpoint of openai/ and vllm/ encoders.")
@click.option("--chunk-tokens", type=int, default=230, show_default=True)
@click.option("--chunk-overlap", type=int, default=30, show_default=True)
@click.option("--parent-tokens", type=int, default=800, show_default=True)
@click.option("--reindex", is_flag=True, help="Make an index anew, with these options, and switch.")
@reading_options
@json_option
def build(
    paths: tuple[Path, ...],
    folder: Path,
    encoder: str | None,
    base_url: str | None,
    chunk_tokens: int,
    chunk_overlap: int,
    parent_tokens: int,
    reindex: bool,
    executor: str,
    workers: int,
    worker_resources: dict[str, float],
    as_json: bool,
    **options: Any,
) -> None:
    """Index the files of PATHS; a second build embeds only what changed.

    Example: harness index build docs/ report.pdf --index docs-index
    """
    from pydantic import ValidationError

    try:
        cut = retrieve.Chunking(size=chunk_tokens, overlap=chunk_overlap, parent=parent_tokens)
    except ValidationError as error:
        raise BadInput(str(error.errors()[0]["msg"])) from error
    if not paths and not reindex:
        raise BadInput("expected files or folders to index, `harness index build PATH`")
    parsed = retrieve.parse_paths(paths, reading(**options)) if paths else None
    if encoder is None and (folder / retrieve.MANIFEST).is_file():
        opened = retrieve.open_index(folder).encoder
    else:
        files = parsed.documents if parsed else ()
        opened = retrieve.open_encoder(
            encoder or retrieve.encoder_for(file.text for file in files), base_url
        )
        if encoder is None and opened.spec == "e5":
            echo(f"most files are not English: embedded with {opened.name}", err=True)
    if executor == "ray":
        from harness.fleet import open_ray
        from harness.rag.retrieve.spread import spread

        opened = spread(opened, base_url, open_ray(workers, worker_resources))
    elif workers or worker_resources:
        raise BadInput("--workers and --worker-resource of an index need --executor ray")
    if reindex:
        index = retrieve.open_index(folder)
        changed = index.reindex(opened, cut, base_url=base_url, progress=_progress)
        changed = index.add(parsed.documents, _progress) if parsed else changed
    else:
        changed = retrieve.create_index(folder, opened, cut, base_url).add(
            parsed.documents if parsed else (), _progress
        )
    _report(changed, folder, as_json, parsed)


@click.command()
@click.argument("paths", type=path_type, nargs=-1, required=True)
@index_option
@reading_options
@json_option
def add(paths: tuple[Path, ...], folder: Path, as_json: bool, **options: Any) -> None:
    """Add the files of PATHS to an index, with its own encoder.

    Example: harness index add new.pdf --index docs-index
    """
    index = retrieve.open_index(folder)
    parsed = retrieve.parse_paths(paths, reading(**options))
    _report(index.add(parsed.documents, _progress), folder, as_json, parsed)


@click.command()
@click.argument("ids", nargs=-1, required=True)
@index_option
@json_option
def delete(ids: tuple[str, ...], folder: Path, as_json: bool) -> None:
    """Take the documents IDS out of an index.

    Example: harness index delete docs/old.md --index docs-index
    """
    _report(retrieve.open_index(folder).delete(ids), folder, as_json)


@click.command()
@click.argument("query")
@index_option
@shared_option("--top", help="Passages.")
@shared_option("--arm", default="weighted", show_default=True)
@click.option("--where", multiple=True, metavar="FIELD=VALUE", help="Also != >= <= > < ~; repeats.")
@click.option(
    "--rerank", help="NAME/OF-MODEL, late/NAME, local/PATH.gguf or http://HOST/rerank#MODEL."
)
@click.option("--parents", is_flag=True, help="The larger passage around each chunk.")
@json_option
def search(
    query: str,
    folder: Path,
    top: int,
    arm: Any,
    where: tuple[str, ...],
    rerank: str | None,
    parents: bool,
    as_json: bool,
) -> None:
    """Find passages for QUERY, with citations.

    Example: harness index search "who approved the budget" --where 'year>=2024'
    """
    index = retrieve.open_index(folder)
    hits = index.search(
        query,
        top,
        options=retrieve.SearchOptions(arm=arm, parents=parents),
        where=[retrieve.parse_condition(condition) for condition in where],
        reranker=retrieve.open_reranker(rerank) if rerank else None,
    )
    for warning in index.query_warnings(query):
        echo(warning, err=True)
    lines: list[str] = []
    for number, hit in enumerate(hits, start=1):
        lines.append(f"{number}. {hit.citation}  {' > '.join(hit.headings)}")
        lines.append(f"   {' '.join(hit.text.split())[:300]}")
    rows = {"query": query, "arm": arm, "hits": [hit.to_row() for hit in hits]}
    emit(rows, as_json, "\n".join(lines) or "nothing found")


@click.command()
@index_option
@click.option("--verify", is_flag=True, help="Read every byte and compare it with the manifest.")
@click.option("--ids", is_flag=True, help="List the documents.")
@json_option
def info(folder: Path, verify: bool, ids: bool, as_json: bool) -> None:
    """Show what an index holds and what it was made with.

    Example: harness index info --index docs-index --verify
    """
    index = retrieve.open_index(folder)
    if verify:
        index.verify()
    description, docs = retrieve.describe_index(index), index.ids() if ids else []
    row = {**description, **({"ids": docs} if ids else {}), "verified": verify}
    lines = fact_lines(description.items())
    emit(row, as_json, "\n".join([*lines, *docs]))


def _progress(count: int, total: int) -> None:
    end = "\r" if count < total else "\n"
    echo(f"embedded {count}/{total} chunks", end=end, err=True)


def _report(changed: Changed, folder: Path, as_json: bool, parsed: Parsed | None = None) -> None:
    notes = parsed.notes if parsed else []
    for note in (*notes, *changed.warnings):
        echo(note, err=True)
    skipped = len(parsed.passed_over) if parsed else 0
    row = {"index": str(folder), **changed.model_dump(mode="json"), "notes": notes}
    row["passed_over"] = skipped
    text = (
        f"{folder}: {changed.documents} documents; {changed.added} added, {changed.replaced} "
        f"replaced, {changed.unchanged} unchanged, {changed.deleted} deleted, {changed.chunks} "
        "chunks embedded"
    )
    emit(row, as_json, text)
