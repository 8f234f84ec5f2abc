"""Claims judged by a language model as `harness check --model` does, beside simple baselines.

    python -m benchmarks.check.served --shared ../shared --journal FILE \
        --model vllm/NAME proposer=simulated/lookup --base-url http://HOST:PORT/v1

Sets, split and baselines are those of benchmarks/check/whole.py. Of each set `--claims` claims of
the remaining documents are drawn, half of them supported, as many documents as possible, and
`--tuning` of the tuning part. The model reads the sentences that share the most words with the
claim (`--sentences` for each of its sentences; all of a document that has no more than 12) and
answers questions about them without seeing the claim; a simulated Proposer leaves these questions
to the rules, which saves half of the time. With `--mixed`, values are left to the numeric engine
where it is sure. Of four ways to read the verdicts the one with the best mean
balanced accuracy over the tuning claims is used for all sets. The baseline is the best one of the
whole set and has the threshold of the result file of whole.py; intervals: 95 %, bootstrap over
documents. Careful claims (`--careful`) are shown as false ones found and true ones flagged, by the
same reading. What is judged is kept in the journal, and a run resumes after it; `--seconds` stops
asking and reports what is there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.check.labelled import Labelled, evaluation_sets
from benchmarks.check.whole import BASELINES, CHECKERS, facts, interval
from benchmarks.reports import Journal, Options, add_run, benchmark, option
from harness.rag.check import Row as Answer
from harness.rag.check.blind import CheckSettings, check_batch_blind
from harness.rag.check.overlap import Source, read
from harness.rag.retrieve import sentence_spans
from harness.stats import balanced_accuracy
from lab.training.questions import in_turn
from tests.rag.check.careful.test_claims import cases

SHORT = 12
"""Sentences of a document that is read as a whole."""
WHOLE = Path("evals/results/check_whole.json")
Row = dict[str, Any]
READINGS: dict[str, Callable[[Row], bool]] = {
    "pass": lambda row: row["verdict"] == "PASS",
    "half supported": lambda row: (
        2 * (_count(row, "SUPPORTED") + _count(row, "DERIVED"))
        >= max(1, sum(row["verdicts"].values()))
    ),
    "not contradicted": lambda row: row["verdict"] != "INVALID" and not _count(row, "CONTRADICTED"),
    "not contradicted, no number missing": lambda row: (
        READINGS["not contradicted"](row) and row["numbers"] == 1
    ),
}
"""Ways to read the verdicts on the parts of a claim as one."""


def _count(row: Row, verdict: str) -> int:
    return row["verdicts"].get(verdict, 0)


def drawn(claims: Sequence[Labelled], size: int, seed: int) -> list[Labelled]:
    """Claims of both labels in turn, half of `size` of each; every document once before any twice.

    Where a label has fewer, so are there of it. A larger `size` adds to the claims of a smaller.
    """
    sides: list[list[Labelled]] = []
    for label in (True, False):
        documents: dict[str, list[Labelled]] = {}
        for claim in (claim for claim in claims if claim.supported is label):
            documents.setdefault(claim.document, []).append(claim)
        sides.append(in_turn(documents, random.Random(seed))[: size // 2])
    return [claim for pair in zip_longest(*sides) for claim in pair if claim is not None]


def passage(claim: Labelled, most: int) -> str:
    """The sentences of the document that share the most words with the claim, in their order."""
    source = Source(claim.document)
    numbers = set(range(len(source.sentences) if len(source.sentences) <= SHORT else 0))
    for start, end in sentence_spans(claim.claim) if not numbers else ():
        numbers |= {*source.nearest(read(claim.claim[start:end]), most)}
    return "\n".join(source.sentences[number].text for number in sorted(numbers))


def judge(claim: Labelled, options: argparse.Namespace) -> Row:
    """Judge a claim with the model and without; count calls and seconds."""
    started = time.monotonic()
    report = check_batch_blind(
        [Answer(id="", answer=claim.claim, contexts=(passage(claim, options.sentences),))],
        options.model,
        CheckSettings(mixed=options.mixed, base_url=options.base_url),
    )[0].report
    return {
        "verdict": report.verdict.value,
        "verdicts": Counter(part.verdict.value for part in report.claims),
        "reason": report.reason,
        "calls": sum(report.calls.values()),
        "seconds": round(time.monotonic() - started, 2),
        **facts(claim),
    }


def compared(
    judged: Sequence[tuple[Labelled, Row]], reading: str, baseline: str, least: Mapping[str, float]
) -> dict[str, Any]:
    """Balanced accuracies on one set, and the difference to its best baseline."""
    labels = np.array([claim.supported for claim, _ in judged])
    flags = {name: np.array([read_as(row) for _, row in judged])
             for name, read_as in READINGS.items()}  # fmt: skip
    for name in (*BASELINES, *CHECKERS):
        flags[name] = np.array([row[name] >= least[name] for _, row in judged])
    scores = {name: round(balanced_accuracy(flagged, labels), 4) for name, flagged in flags.items()}
    sources = np.array([hashlib.sha256(c.document.encode()).hexdigest() for c, _ in judged])
    low, high = interval(flags[reading], flags[baseline], labels, sources)
    return {
        "claims": len(judged),
        "supported": int(labels.sum()),
        "documents": len(set(sources)),
        "balanced_accuracy": scores,
        "best_baseline": baseline,
        "difference": round(scores[reading] - scores[baseline], 4),
        "ci95": [round(low, 4), round(high, 4)],
        **effort(judged),
    }


def effort(judged: Sequence[tuple[Labelled, Row]]) -> dict[str, float]:
    """Share without a verdict, calls and seconds of a claim."""
    rows = [row for _, row in judged]
    return {
        "no_verdict": round(mean(row["verdict"] == "INVALID" for row in rows), 4),
        "calls_mean": round(mean(row["calls"] for row in rows), 2),
        "seconds_mean": round(mean(row["seconds"] for row in rows), 2),
    }


def careful(judged: Sequence[tuple[Labelled, Row]], reading: str) -> dict[str, Any]:
    """False claims that are found and true ones that are flagged, with the model and by rule."""
    ways: dict[str, Callable[[Row], bool]] = {
        "model": READINGS[reading],
        "rules": lambda row: row["rules"] == 1,
        **{f"model, {name}": read_as for name, read_as in READINGS.items()},
    }
    table = {
        name: {
            "false_found": sum(not c.supported and not read_as(row) for c, row in judged),
            "true_flagged": sum(c.supported and not read_as(row) for c, row in judged),
        }
        for name, read_as in ways.items()
    }
    return {
        "claims": len(judged),
        "true": sum(claim.supported for claim, _ in judged),
        **table,
        **effort(judged),
    }


@benchmark(
    shared=Path("../shared"),
    journal=option(type=Path, required=True, help="keeps what was judged"),
    model=option(nargs="+", default=["local/smollm2-135m"], help="as of `harness check`"),
    base_url=option(),
    mixed=False,
    sets=option(nargs="*", help="default: all five"),
    careful=["last", "unread"],
    claims=30,
    tuning=8,
    sentences=5,
    seed=22,
    seconds=option(type=float, default=float("inf"), help="stop asking after so many"),
    out=Path("evals/results/check_served.json"),
)
def main(options: Options) -> None:
    """Judge the drawn claims in turn over the sets, and add the run to the file."""
    work: dict[tuple[str, str], list[Labelled]] = {}
    for name in options.careful:
        work["careful", name] = [Labelled(name, c.claim, c.document, c.true) for c in cases(name)]
    for name, claims in evaluation_sets(options.shared / "data").items():
        if options.sets is None or name in options.sets:
            for part, size in (("tuning", options.tuning), ("rest", options.claims)):
                work[part, name] = drawn(
                    [claim for claim in claims if claim.tuning is (part == "tuning")],
                    size, options.seed,
                )  # fmt: skip
    turns = zip_longest(*([(key, claim) for claim in claims] for key, claims in work.items()))
    queue = [turn for parallel in turns for turn in parallel if turn is not None]
    journal, started = Journal(options.journal), time.monotonic()
    judged: dict[tuple[str, str], list[tuple[Labelled, Row]]] = {}
    for number, (key, claim) in enumerate(queue, start=1):
        how = [options.model, options.mixed, options.sentences, claim.claim, claim.document]
        digest = hashlib.sha256(json.dumps(how).encode()).hexdigest()[:24]
        if digest not in journal.rows and time.monotonic() - started > options.seconds:
            continue
        row = journal.result(digest, partial(judge, claim, options))
        judged.setdefault(key, []).append((claim, row))
        print(f"{number}/{len(queue)}", *key, row["verdict"], f"{row['seconds']} s", flush=True)
    means = {
        name: round(mean(
            balanced_accuracy(np.array([read_as(row) for _, row in rows]),
                              np.array([claim.supported for claim, _ in rows]))
            for (part, _), rows in judged.items()
            if part == "tuning"
        ), 4)
        for name, read_as in READINGS.items()
    } if any(part == "tuning" for part, _ in judged) else {"pass": 0.0}  # fmt: skip
    reading = max(means, key=lambda name: means[name])
    earlier = json.loads(WHOLE.read_text("utf-8"))
    run = {
        "model": " ".join(options.model),
        "mixed": options.mixed,
        "sentences": options.sentences,
        "seed": options.seed,
        "unasked": len(queue) - sum(map(len, judged.values())),
        "reading": reading,
        "mean_tuning": means,
        "sets": {
            name: compared(rows, reading, earlier["sets"][name]["best_baseline"],
                           earlier["thresholds"])
            for (part, name), rows in judged.items()
            if part == "rest" and len({claim.supported for claim, _ in rows}) > 1
        },
        "careful": {
            name: careful(rows, reading)
            for (part, name), rows in judged.items()
            if part == "careful"
        },
    }  # fmt: skip
    add_run(run, options.out, "model", "mixed", command="python -m benchmarks.check.served")
