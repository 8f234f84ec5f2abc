"""Time and memory of compression as the input grows to a million tokens, read from a file.

    python -m benchmarks.compression.growth --critics lexical auto

Prose of our own generator in a file, one needle in it, 1 % of the tokens as budget; each length and
critic in a process of its own: seconds of CPU time (of the whole process, imports apart) and the
peak of resident memory, imports included. Exponents are the slope of the straight line through the
logarithms (least squares), from 131,072 tokens on: below, the fixed costs of a model rule. Up to
400,000 tokens the units are held, beyond that the file is scanned block by block.
"""

from __future__ import annotations

import math
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.reports import (
    Options,
    Result,
    benchmark,
    earlier_report,
    in_fresh_process,
    option,
    report,
)
from lab.corpora.ruler.filler import fill, prose

LENGTHS = (32_768, 65_536, 131_072, 262_144, 524_288, 1_048_576)
FITTED_FROM = 131_072
NEEDLE = "The night code of the lighthouse at Brannock Head is 7731-KX."
QUESTION = "What is the night code of the lighthouse?"


def write_text(path: Path, tokens: int) -> None:
    """Prose of about so many tokens with a needle at two thirds."""
    sentences = fill(prose(Random(f"growth-{tokens}")), tokens)
    sentences.insert(2 * len(sentences) // 3, NEEDLE)
    path.write_text(" ".join(sentences) + "\n", encoding="utf-8")


def one(path: str, critic: str) -> dict[str, Any]:
    """Compress a file in this process: CPU seconds, peak memory, whether the needle is there."""
    from harness.rag.compress import compress, open_critic

    opened = open_critic(critic)
    compress("A text. " * 200, "text", budget=20, critic=opened, reversible=False)  # imports
    started = time.process_time()
    result = compress(
        Path(path), QUESTION, ratio=0.01, critic=opened, tokenizer="minilm", reversible=False
    )
    return {
        "tokens": result.tokens.input,
        "CPU seconds": round(time.process_time() - started, 2),
        "peak MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "found": NEEDLE in result.text,
    }


def exponent(rows: Sequence[dict[str, Any]]) -> float:
    """Slope of log(seconds) over log(tokens)."""
    fitted = [row for row in rows if row["tokens"] >= 0.99 * FITTED_FROM]
    tokens = [math.log(row["tokens"]) for row in fitted]
    seconds = [math.log(row["CPU seconds"]) for row in fitted]
    return round(float(np.polyfit(tokens, seconds, 1)[0]), 2)


@benchmark(
    critics=["lexical", "auto"],
    lengths=option(type=int, nargs="*", default=list(LENGTHS)),
    out=Path("evals/results/compression_memory.json"),
)
def main(options: Options) -> Result:
    """Measure, print and write the report after every process, lengths of earlier runs kept."""
    result = earlier_report(options.out)
    result.pop("command", None)
    with tempfile.TemporaryDirectory() as folder:
        for tokens in options.lengths:
            path = Path(folder) / f"{tokens}.txt"
            write_text(path, tokens)
            for critic in options.critics:
                new = in_fresh_process(one, str(path), critic)
                old: list[dict[str, Any]] = result.get(critic, {"rows": []})["rows"]
                rows = {row["tokens"]: row for row in [*old, new]}
                result[critic] = {"rows": [rows[size] for size in sorted(rows)]}
                report(result, options.out)
            path.unlink()
    for figures in result.values():
        if len(figures["rows"]) > 2:
            figures["exponent"] = exponent(figures["rows"])
        figures["peak MB"] = max(row["peak MB"] for row in figures["rows"])
    return result
