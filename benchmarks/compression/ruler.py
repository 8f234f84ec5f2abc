"""Needles, chains and keys in 128 K tokens, compressed to 1 %: is the evidence still there?

    python -m benchmarks.compression.ruler --samples 25 --critics lexical --rows /dev/shm/rows.jsonl
    python -m benchmarks.compression.ruler --samples 25 --critics auto --seconds 850 --shared FOLDER

The eight needle tasks and the variable chains of RULER, and the three retrieval tasks of
InfiniteBench, from our own generator (`lab.corpora.ruler`; its templates took no part in any
training); key-value objects of 75 and 140 pairs (Liu et al. 2023; their own rows where `--shared`
has them), with a budget of 2 % but at least 160 tokens, since 1 % holds not even one pair; and a
needle at every fifth token around the ends of the blocks in which a file is read. Tokens are those
of all-MiniLM-L6-v2. Unhinted, the compressor sees the question; hinted, the templates of the
needles too, as the published evaluation of QwenLong-CPRS does; where a task has no hint there is
one run. Evidence counts if all of its characters are kept. Intervals are Wilson's, 95 %; needles of
one sample are not quite independent. Rows are kept, and a run that is started again goes on.

Every run is a call of `harness.api.compress`; vectors of sentences that were met before are kept in
memory.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.compression.cases import covered
from benchmarks.compression.memory import remembering
from benchmarks.reports import (
    Journal,
    Options,
    Result,
    benchmark,
    option,
    read_jsonl,
    share_interval,
)
from harness.api import compress
from harness.corpora import Evidence, Reading, Source
from harness.rag.compress import Critic, Store, open_critic
from harness.rag.compress.critics.mixture import MixCritic
from harness.rag.retrieve import Document, open_encoder
from lab.corpora.ruler import INFINITE, NIAH, SEED, boundary_readings, ruler_reading
from lab.corpora.ruler.infinite import key_value

LENGTH = 128 * 1024
SHARE = 0.01
PAIRS = {"kv75": 75, "kv140": 140}
TASKS = (*NIAH, "vt", *INFINITE, *PAIRS)


@dataclass(frozen=True)
class Sample:
    """A reading and the tokens that it may be compressed to."""

    reading: Reading
    budget: int


def sample(task: str, length: int, number: int, shared: Path | None = None) -> Sample:
    """One sample of a task; the same arguments give the same one."""
    if task not in PAIRS:
        return Sample(ruler_reading(task, length, number), int(SHARE * length))
    pairs, name = PAIRS[task], f"{task}-{number}"
    reading = recorded(shared, task, number) if shared else None
    chance = Random(f"{SEED}:{name}")
    reading = reading or key_value(1 << 20, chance, name, pairs=pairs)
    return Sample(reading, max(160, int(0.02 * 60 * pairs)))


def recorded(shared: Path, task: str, number: int) -> Reading | None:
    """The n-th published key-value sample of a size, as JSON; None behind the last."""
    samples = read_jsonl(shared / "data/compression/dev/kv_retrieval.jsonl")
    rows = [row for row in samples if row["id"].startswith(f"{task}-")]
    if number >= len(rows):
        return None
    row = rows[number]
    text = json.dumps(dict(row["ordered_kv_records"]))
    entry = f'"{row["key"]}": "{row["value"]}"'
    start = text.index(entry)
    none = "Keep what answers the question."
    return Reading(
        id=f"published-{row['id']}", family="longdoc", answers=(row["value"],), metric="all",
        question=f'What is the value of the key "{row["key"]}" in the JSON object?',
        sources=(Source(id="document", text=text),),
        evidence=(Evidence(doc="document", start=start, end=start + len(entry)),),
        meta={"unhinted": none, "hinted": none},
    )  # fmt: skip


def boundary(length: int) -> Iterator[Sample]:
    """Needles around a place in the middle, five tokens apart: 400 places."""
    for reading in boundary_readings(length // 2, 1000, length, step=5):
        yield Sample(reading, int(SHARE * length))


def run(drawn: Sample, critic: Critic, instruction: str, store: Store) -> dict[str, Any]:
    """Compress a sample; what of its evidence is left, tokens, seconds."""
    reading, started = drawn.reading, time.process_time()
    text = reading.sources[0].text
    result = compress(
        Document(reading.sources[0].id, text), reading.question, instruction=instruction,
        budget=drawn.budget, critic=critic, tokenizer="minilm", store=store,
    )  # fmt: skip
    hits = [covered(evidence, result.spans, text) for evidence in reading.evidence]
    return {
        "kept": sum(hits),
        "of": len(hits),
        "tokens": result.tokens.output,
        "share": result.tokens.output / result.tokens.input,
        "seconds": round(time.process_time() - started, 2),
    }


def open_remembering(name: str) -> Critic:
    """The critic of that name; the shipped default with a memory: fillers come again."""
    critic = open_critic(name)
    if isinstance(critic, MixCritic):
        return MixCritic(remembering(open_encoder("encoder")))
    return critic


def jobs(options: argparse.Namespace) -> list[tuple[str, Callable[[], Sample]]]:
    """Tasks in turn, so that a run that is cut short has samples of all."""
    if options.boundary:
        return [("boundary", lambda index=index: index) for index in boundary(options.length)]
    return [
        (task, partial(sample, task, options.length, number, options.shared))
        for number in range(options.samples)
        for task in options.tasks
    ]


def measure_all(
    journal: Journal, task: str, drawn: Sample, critics: dict[str, Critic], hints: list[str]
) -> None:
    """Every critic with every instruction that was not measured yet."""
    instructions = {hint: str(drawn.reading.meta[hint]) for hint in hints}
    if len(set(instructions.values())) < len(instructions):  # the task has no hint
        instructions.pop("hinted")
    with TemporaryDirectory() as folder:
        for critic, hint in product(critics, instructions):
            key = json.dumps([f"{critic}, {hint}", task, drawn.reading.id])
            arm = (critics[critic], instructions[hint], Store(Path(folder)))
            journal.result(key, lambda arm=arm: run(drawn, *arm))


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Recall of pieces of evidence, and of samples with all of theirs, with intervals."""
    pieces, retained = sum(row["of"] for row in rows), sum(row["kept"] for row in rows)
    complete = sum(row["kept"] == row["of"] for row in rows)

    def share(hits: int, count: int) -> list[Any]:
        return [hits, count, round(100 * hits / count, 2), share_interval(hits, count, 1, 100)]

    return {
        "samples": len(rows),
        "evidence": share(retained, pieces),
        "whole": share(complete, len(rows)),
        "most of the input": round(100 * max(row["share"] for row in rows), 2),
        "CPU seconds, median": median(row["seconds"] for row in rows),
    }


@benchmark(
    length=LENGTH,
    samples=25,
    critics=["lexical", "auto"],
    hints=["unhinted", "hinted"],
    tasks=option(nargs="*", default=list(TASKS)),
    boundary=option(action="store_true", help="needles around a block's end"),
    seconds=option(type=float, default=float("inf"), help="begin none after"),
    shared=option(type=Path, help="folder of published key-value samples"),
    rows=Path("/dev/shm/compression_ruler.rows.jsonl"),
    out=Path("evals/results/compression_ruler.json"),
)
def main(options: Options) -> Result:
    """Measure and write the report."""
    journal = Journal(options.rows)
    started = time.monotonic()
    critics = {name: open_remembering(name) for name in options.critics}
    for task, make in jobs(options):
        if time.monotonic() - started > options.seconds:
            break
        measure_all(journal, task, make(), critics, options.hints)
    rows: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for key, row in journal.rows.items():
        arm, task, _ = json.loads(key)
        rows.setdefault(arm, {}).setdefault(task, []).append(row)
    arms: dict[str, dict[str, Any]] = {}
    for arm, tasks in rows.items():
        needles = [row for task in NIAH for row in tasks.get(task, [])]
        arms[arm] = {task: summary(task_rows) for task, task_rows in tasks.items()}
        arms[arm]["all needles"] = summary(needles) if needles else {}
    return {"tokens": options.length, "arms": arms}
