"""Against RAGAS faithfulness: the same model, documents and answers.

    python -m benchmarks.check.ragas --ragas-python VENV/bin/python --documents 30
    python -m benchmarks.check.ragas --ragas-python VENV/bin/python --model vllm/NAME --base-url URL

Answers of one fact about a note of eight, half of them wrong (`notes.py`). RAGAS
(in its own environment) says faithful at a score of 1; ours at PASS, blind with one sample, and
once without any model. Accuracy counts what has no verdict as not right; it stands beside the
accuracy of what has one. Calls are those that were sent, repeated ones included; seconds pass
while one answer at a time is checked. `vllm/` holds our roles to a JSON schema, as `harness check`
does. Intervals: 95 %, bootstrap over answers. Results by model are added to `--out`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from benchmarks.check.notes import generated
from benchmarks.reports import Options, add_run, benchmark, option, peer
from harness.engines import served_app
from harness.models import CallStore, serving
from harness.rag.check import BatchReport, Outcome, Row, check_batch
from harness.rag.check.blind import CheckSettings, check_batch_blind
from harness.stats import ratio_interval

PEER = Path(__file__).with_name("ragas_peer.py")
ASKED = "What do the notes say?"


class Said(NamedTuple):
    """Verdict of a checker on one answer, None without one, and its effort."""

    faithful: bool | None
    calls: int
    seconds: float


def ours(rows: Sequence[Row], spec: str, url: str, calls: Path | None) -> list[Said]:
    """Our verdicts, blind with one sample."""
    settings = CheckSettings(base_url=url, calls=CallStore(calls))

    def check_row(row: Row) -> list[BatchReport]:
        return check_batch_blind([row], [spec], settings, concurrency=1)

    return [_timed(check_row, row) for row in rows]


def _timed(check_row: Callable[[Row], list[BatchReport]], row: Row) -> Said:
    started = time.monotonic()
    report = check_row(row)[0].report
    seconds = round(time.monotonic() - started, 2)
    print("ours", row.id, report.verdict, seconds, file=sys.stderr, flush=True)
    faithful = None if report.verdict is Outcome.INVALID else report.verdict is Outcome.PASS
    return Said(faithful, sum(report.calls.values()), seconds)


def ragas(rows: Sequence[Row], url: str, model: str, python: Path) -> list[Said]:
    """Verdicts of RAGAS."""
    fields = ("id", "question", "answer", "contexts")
    cases = json.dumps([{name: getattr(row, name) for name in fields} for row in rows])
    replies: list[dict[str, Any]] = peer(python, PEER, url, model, input=cases)
    for reply in replies[:3]:
        print("ragas", reply, flush=True)
    return [
        Said(
            None if reply["score"] is None else reply["score"] == 1.0,
            reply["calls"],
            reply["seconds"],
        )
        for reply in replies
    ]


def summary(judgements: Sequence[Said], truth: Sequence[bool]) -> dict[str, Any]:
    """Accuracy, invalid rate and calls."""
    right = [judgement.faithful is true for judgement, true in zip(judgements, truth, strict=True)]
    judged = [
        good
        for good, judgement in zip(right, judgements, strict=True)
        if judgement.faithful is not None
    ]
    interval = ratio_interval([(float(good), 1.0) for good in right])
    return {
        "accuracy": round(mean(right), 4),
        "accuracy_ci95": [round(end, 4) for end in interval] if interval else None,
        "accuracy_of_judged": round(mean(judged), 4) if judged else None,
        "invalid": round(mean(judgement.faithful is None for judgement in judgements), 4),
        "calls_median": median(judgement.calls for judgement in judgements),
        "calls_mean": round(mean(judgement.calls for judgement in judgements), 2),
        "seconds_median": round(median(judgement.seconds for judgement in judgements), 2),
        "seconds_mean": round(mean(judgement.seconds for judgement in judgements), 2),
    }


async def run(options: argparse.Namespace) -> dict[str, Any]:
    """All three over the same answers."""
    cases = list(generated(options.documents, options.seed))
    truth = [case.true for case in cases]
    rows = [
        Row(id=case.document.id, answer=case.answer, contexts=(case.document.text,), question=ASKED)
        for case in cases
    ]
    async with AsyncExitStack() as stack:
        url, spec = options.base_url, options.model
        if url is None:
            served = await stack.enter_async_context(serving(served_app(options.model)))
            url, spec = f"{served}/v1", f"openai/{options.model.partition('/')[2]}"
        mine = await asyncio.to_thread(ours, rows, spec, url, options.calls)
        peer = await asyncio.to_thread(
            ragas, rows, url, spec.partition("/")[2], options.ragas_python
        )
    by_rule = [
        _timed(lambda row: list(check_batch([row], "zero-tolerance", "rules")), row) for row in rows
    ]
    pairs = [
        (float((judgement.faithful is true) - (peer_judgement.faithful is true)), 1.0)
        for judgement, peer_judgement, true in zip(mine, peer, truth, strict=True)
    ]
    interval = ratio_interval(pairs)
    return {
        "model": options.model,
        "answers": len(cases),
        "faithful": sum(truth),
        "majority": round(max(mean(truth), 1 - mean(truth)), 4),
        "ours": summary(mine, truth),
        "ragas": summary(peer, truth),
        "ours_without_model": summary(by_rule, truth),
        "ours_minus_ragas": {
            "accuracy": round(mean(value for value, _ in pairs), 4),
            "ci95": [round(end, 4) for end in interval] if interval else None,
        },
    }


@benchmark(
    ragas_python=Path,
    model=option(default="local/smollm2-135m", help="openai/ and vllm/ with --base-url"),
    base_url=option(),
    documents=30,
    seed=7,
    calls=option(type=Path, help="keeps answered calls of ours"),
    out=Path("evals/results/check_ragas.json"),
)
def main(options: Options) -> None:
    """Compare with one model and add the result to the file."""
    os.environ.setdefault("OPENAI_API_KEY", "none")
    result = asyncio.run(run(options))
    command = "python -m benchmarks.check.ragas --ragas-python VENV/bin/python"
    add_run(result, options.out, "model", command=command, ragas="0.4.3")
