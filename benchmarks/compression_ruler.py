"""Needles, chains and keys in 128 K tokens, compressed to 1 %: is the evidence still there?

    python -m benchmarks.compression_ruler --samples 25 --critics lexical
    python -m benchmarks.compression_ruler --samples 5 --critics auto --seconds 1800

The eight needle tasks and the variable chains of RULER, and the three retrieval tasks of
InfiniteBench, from our own generator (`harness.corpora.ruler`; its templates took no part in any
training); key-value objects of 75 and 140 pairs, with a budget of 2 % but at least 160 tokens,
since 1 % holds not even one pair; and a needle at every fifth token around the ends of the blocks
in which a file is read. Unhinted, the compressor sees the question; hinted, the templates of the
needles too, as the published evaluation of QwenLong-CPRS does. Evidence counts if all of its
characters are kept. Intervals are Clopper-Pearson, 95 %; needles of one sample are not quite
independent. The file is written after every round, and a run that is started again goes on.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from harness.compress import compress
from harness.compress.critics import open_critic
from harness.compress.types import Compressed, Critic
from harness.core import write_atomic
from harness.corpora.reading import Reading
from harness.corpora.ruler import INFINITE, NIAH, SEED, boundary_readings, ruler_reading
from harness.corpora.ruler.infinite import key_value

LENGTH = 128 * 1024
SHARE = 0.01
PAIRS = {"kv75": 75, "kv140": 140}
TASKS = (*NIAH, "vt", *INFINITE, *PAIRS)


@dataclass(frozen=True)
class Sample:
    """A reading and the tokens that it may be compressed to."""

    reading: Reading
    budget: int


def sample(task: str, length: int, number: int) -> Sample:
    """One sample of a task; the same arguments give the same one."""
    if task in PAIRS:
        name = f"{task}-{number}"
        made = key_value(1 << 20, Random(f"{SEED}:{name}"), name, pairs=PAIRS[task])
        return Sample(made, max(160, int(0.02 * 60 * PAIRS[task])))
    return Sample(ruler_reading(task, length, number), int(SHARE * length))


def boundary(length: int) -> Iterator[Sample]:
    """Needles around a place in the middle, five tokens apart: 400 places."""
    for reading in boundary_readings(length // 2, 1000, length, step=5):
        yield Sample(reading, int(SHARE * length))


def kept(found: Compressed, reading: Reading) -> list[bool]:
    """For every piece of evidence whether all of its characters are kept."""
    spans = sorted((span.start, span.end) for span in found.spans)
    return [
        _covered(one.start, one.end, spans, reading.sources[0].text) for one in reading.evidence
    ]


def _covered(start: int, end: int, spans: list[tuple[int, int]], text: str) -> bool:
    """Whether spans cover the range; blanks between two of them are in neither."""
    for begin, stop in spans:
        if begin <= start < stop:
            start = stop
            while start < end and text[start].isspace():
                start += 1
    return start >= end


def run(one: Sample, critic: Critic, instruction: str) -> dict[str, Any]:
    """Compress a sample; what of its evidence is left, tokens, seconds."""
    started = time.perf_counter()
    found = compress(
        one.reading.sources[0].text, one.reading.question, instruction=instruction,
        budget=one.budget, critic=critic, tokenizer="minilm", reversible=False,
    )  # fmt: skip
    hits = kept(found, one.reading)
    return {
        "kept": sum(hits),
        "of": len(hits),
        "tokens": found.tokens.output,
        "share": found.tokens.output / found.tokens.input,
        "seconds": round(time.perf_counter() - started, 2),
    }


def interval(hits: int, count: int) -> list[float]:
    """Clopper-Pearson, 95 %, in percent."""
    beta: Any = import_module("scipy.stats").beta
    low = beta.ppf(0.025, hits, count - hits + 1) if hits else 0.0
    high = beta.ppf(0.975, hits + 1, count - hits) if hits < count else 1.0
    return [round(100 * float(low), 1), round(100 * float(high), 1)]


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Recall of pieces of evidence, and of samples with all of theirs, with intervals."""
    pieces, left = sum(row["of"] for row in rows), sum(row["kept"] for row in rows)
    whole = sum(row["kept"] == row["of"] for row in rows)
    return {
        "samples": len(rows),
        "evidence": [left, pieces, round(100 * left / pieces, 2), interval(left, pieces)],
        "whole": [whole, len(rows), round(100 * whole / len(rows), 2), interval(whole, len(rows))],
        "most of the input": round(100 * max(row["share"] for row in rows), 2),
        "seconds, median": sorted(row["seconds"] for row in rows)[len(rows) // 2],
    }


class Results:
    """Rows by arm and task, kept in a file beside the report.

    Args:
        path: of the report.
        length: of the samples.
    """

    def __init__(self, path: Path, length: int) -> None:
        self._path, self._rows = path, path.with_suffix(".rows.jsonl")
        self._length = length
        self.found: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
        if self._rows.exists():
            for line in self._rows.read_text(encoding="utf-8").splitlines():
                self._put(json.loads(line))

    def add(self, arm: str, task: str, id_: str, make: Callable[[], dict[str, Any]]) -> None:
        """Measure a sample, unless it was before."""
        if id_ in self.found.get(arm, {}).get(task, {}):
            return
        row = {"arm": arm, "task": task, "id": id_, **make()}
        self._rows.parent.mkdir(parents=True, exist_ok=True)
        with self._rows.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        self._put(row)

    def write(self) -> None:
        """Write the report."""
        report = {
            "tokens": self._length,
            "arms": {
                arm: {task: summary(list(rows.values())) for task, rows in tasks.items()}
                | {"all needles": self._needles(tasks)}
                for arm, tasks in self.found.items()
            },
        }
        write_atomic(self._path, json.dumps(report, indent=1) + "\n")

    def _needles(self, tasks: dict[str, dict[str, dict[str, Any]]]) -> dict[str, Any]:
        rows = [row for task in NIAH for row in tasks.get(task, {}).values()]
        return summary(rows) if rows else {}

    def _put(self, row: dict[str, Any]) -> None:
        self.found.setdefault(row["arm"], {}).setdefault(row["task"], {})[row["id"]] = row


def main() -> None:
    """Measure and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--length", type=int, default=LENGTH)
    parser.add_argument("--samples", type=int, default=25)
    parser.add_argument("--critics", nargs="*", default=["lexical", "auto"])
    parser.add_argument("--hints", nargs="*", default=["unhinted", "hinted"])
    parser.add_argument("--tasks", nargs="*", default=list(TASKS))
    parser.add_argument("--boundary", action="store_true", help="needles around a block's end")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin none after")
    parser.add_argument("--out", type=Path, default=Path("evals/results/compression_ruler.json"))
    options = parser.parse_args()
    results, started = Results(options.out, options.length), time.monotonic()
    critics = {name: open_critic(name) for name in options.critics}
    jobs: list[tuple[str, Callable[[], Sample]]] = [
        (task, partial(sample, task, options.length, number))
        for number in range(options.samples)
        for task in options.tasks
    ]
    if options.boundary:
        jobs = [("boundary", lambda one=one: one) for one in boundary(options.length)]
    for task, make in jobs:
        if time.monotonic() - started > options.seconds:
            break
        one = make()
        for name, critic in critics.items():
            for hint in options.hints:
                instruction = str(one.reading.meta[hint])
                results.add(
                    f"{name}, {hint}", task, one.reading.id,
                    partial(run, one, critic, instruction),
                )  # fmt: skip
        results.write()
    results.write()
    print(json.dumps(json.loads(options.out.read_text(encoding="utf-8")), indent=1))


if __name__ == "__main__":
    main()
