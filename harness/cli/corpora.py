"""`harness corpora`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.commands import emit, json_option, path_type, shared_option
from harness.cli.next_steps import next_lines
from harness.core import command_line


@click.group()
def corpora() -> None:
    """List, show, pull and generate task sets.

    Example: harness corpora generate ledger --out ledger/
    """


@corpora.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the corpora.

    Example: harness corpora list
    """
    from harness.corpora import list_corpora

    corpora = list_corpora()
    lines = [f"{c.name}  {c.kind}  {c.tasks} tasks  {c.licence}  {c.title}" for c in corpora]
    emit([corpus.model_dump(mode="json") for corpus in corpora], as_json, "\n".join(lines))


@corpora.command()
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show the facts and the card of corpus NAME.

    Example: harness corpora show ledger
    """
    from harness.corpora import show as show_corpus

    corpus, card = show_corpus(name)
    lines = "\n".join(f"{key}: {value}" for key, value in corpus if value)
    text = f"{lines}\n\n{card}" if card else lines
    emit({**corpus.model_dump(mode="json"), "card": card}, as_json, text)


@corpora.command()
@click.argument("name")
@shared_option("--out", required=True, help="Folder to write into.")
@shared_option("--split", default="all", help="train, selection, test or all.")
@shared_option("--limit", help="Only so many tasks of each split.")
@json_option
def generate(name: str, out: Path, split: str, limit: int | None, as_json: bool) -> None:
    """Generate corpus NAME; the same bytes every time.

    Example: harness corpora generate ledger --out ledger/ --split train
    """
    from harness.corpora import generate as generate_corpus

    corpus = generate_corpus(name, out, split, limit)
    lines = [f"{corpus.files[part]}: {count} tasks" for part, count in corpus.tasks.items()]
    emit(corpus, as_json, "\n".join(lines))


@corpora.command()
@click.argument("name")
@click.argument("path", type=path_type)
@shared_option("--out", required=True, help="Folder for tasks and documents.")
@shared_option("--split", default="test", help="Name of the task file.")
@shared_option("--limit", help="Only the first so many questions.")
@json_option
def convert(name: str, path: Path, out: Path, split: str, limit: int | None, as_json: bool) -> None:
    """Write the public set NAME, whose file is PATH, as tasks with their documents or images.

    NAME: hotpotqa, twowiki, musique, bamboogle, frames, strategyqa, nq, squad, leval, qmsum,
    quality, narrativeqa, longbench, longbench2 or infinitebench; problems: gsm8k, math, aime or
    dapo-math; with tables, which are looked for beside PATH: wikitablequestions or hitab; with
    images, likewise: docvqa, infographicvqa, textvqa, chartqa, tabmwp, mathvista, scienceqa or
    sroie.

    Example: harness corpora convert hotpotqa hotpot_dev.json --out hotpot/ --limit 100
    """
    from collections import Counter

    from harness.corpora import convert

    tasks = convert(name, path, out, split, limit)
    family = Counter(task.check for task in tasks).most_common(1)[0][0]
    file = out / f"{split}.jsonl"
    summary = {"name": name, "tasks": len(tasks), "family": family, "file": str(file)}
    agent = () if family in ("math", "tableqa") else ("--agent", f"graph:{family}")
    following = next_lines([command_line("eval", file, *agent)])
    emit(summary, as_json, f"{file}: {len(tasks)} tasks\n{following}")


@corpora.command()
@click.argument("name")
@shared_option("--out", required=True, help="New folder to unpack into.")
@click.option("--sha256", help="Digest of the archive, where the manifest pins none.")
@click.option("--url", help="Another place to fetch the archive from.")
@json_option
def pull(name: str, out: Path, sha256: str | None, url: str | None, as_json: bool) -> None:
    """Fetch public corpus NAME, verify its checksum and unpack it.

    Example: harness corpora pull spreadsheetbench-verified-400 --out sb400/ --sha256 DIGEST
    """
    from harness.corpora import pull as pull_corpus

    pulled = pull_corpus(name, out, sha256, url)
    emit(pulled, as_json, f"{pulled.out}: {pulled.fetched_bytes:,} bytes, SHA-256 {pulled.sha256}")
