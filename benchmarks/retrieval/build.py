"""Processor time of `harness index build` beside encoding its chunks alone, with the same encoder.

    python -m benchmarks.retrieval.build FOLDER

The command reads the files of the folder, cuts them, embeds the chunks, counts their words and
writes the index; the other side hands the texts of the same chunks to the encoder in one call. Both
in turns, loaded, in one process, three times; processor time of all threads, medians.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner

from benchmarks.reports import Options, benchmark, in_turn
from harness.rag.cli.index import build
from harness.rag.retrieve import open_encoder, open_index
from harness.rag.retrieve.chunk import search_text


@benchmark("files", rounds=3, out=Path("evals/results/retrieval_build.json"))
def main(options: Options) -> dict[str, Any]:
    """Build in a new folder each time, and encode what the first one holds."""
    encoder = open_encoder("local")
    with TemporaryDirectory() as scratch:
        folders = (Path(scratch, str(number)) for number in count())

        def command(folder: Path) -> None:
            words = [str(options.files), "--index", str(folder)]
            CliRunner().invoke(build, words, catch_exceptions=False)

        command(Path(scratch, "first"))
        [segment] = open_index(Path(scratch, "first")).segments
        entries = [segment.entry(number) for number in segment.live.values()]
        texts = [search_text(entry.document, chunk) for entry in entries for chunk in entry.chunks]
        arms = {"build": lambda: command(next(folders)), "encode": lambda: encoder.encode(texts)}
        seconds = in_turn(arms, options.rounds, warm=0)
    return {
        "files": len(entries),
        "chunks": len(texts),
        **{f"{name}_s": round(median(row), 2) for name, row in seconds.items()},
        "ratio": round(median(a / b for a, b in zip(*seconds.values(), strict=True)), 3),
    }
