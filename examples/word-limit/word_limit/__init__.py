"""Counts words: a command, a tool and a scorer, each an entry point in pyproject.toml."""

from __future__ import annotations

from pathlib import Path

import click

from harness.core import BadInput, Score, Task, failed, passed
from harness.tools import Arguments, Bench, Tool, text_argument


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def words(file: Path) -> None:
    """Count the words of FILE.

    Example: harness words README.md
    """
    click.echo(len(file.read_text("utf-8").split()))


def count_words(name: str, setting: str) -> Tool:
    """The tool `count_words`, so that an agent can look before it answers.

    Raises:
        BadInput: for a setting; it has none.
    """
    if setting:
        raise BadInput(f"the tool {name!r} has no settings, got {setting!r}")

    async def run(arguments: Arguments, bench: Bench) -> str:
        return str(len(text_argument(arguments, "text").split()))

    return Tool(
        name=name,
        description="Count the words of a text.",
        parameters={
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
        run=run,
    )


def word_limit(task: Task, answer: str | None, workdir: Path) -> Score:
    """Passes an answer of at most `meta["words"]` words (default 50)."""
    limit = task.meta.get("words", 50)
    if not isinstance(limit, int):
        raise BadInput(f"task {task.id!r}: expected a number of words, got {limit!r}")
    count = len((answer or "").split())
    if not count:
        return failed("there is no final answer")
    text = f"{count} words, at most {limit} allowed"
    return passed(text) if count <= limit else failed(text)
