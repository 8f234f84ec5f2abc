"""Against RAGAS faithfulness: the same model, documents and answers.

    python -m benchmarks.check.ragas --ragas-python VENV/bin/python --documents 30
    python -m benchmarks.check.ragas --ragas-python VENV/bin/python --simulated 0.2

Answers of one fact about a note of eight, half of them wrong (`check_blindness_cases.py`). RAGAS
(in its own environment) says faithful at a score of 1; ours at PASS, blind with one sample, and
once without any model. Accuracy counts what has no verdict as not right; it stands beside the
accuracy of what has one. Calls are those that were sent, repeated ones included. Intervals: 95 %,
bootstrap over answers. Results by model are added to `--out`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from benchmarks.check.blindness_cases import Case, generated
from benchmarks.check.ragas_simulator import app
from benchmarks.reports import add_run, option, read_options
from harness.engines import served_app
from harness.models import CallStore, serving
from harness.rag.check import Outcome, Row, check_batch
from harness.rag.check.blind import CheckSettings, check_batch_blind
from harness.stats import ratio_interval

PEER = Path(__file__).with_name("ragas_peer.py")
ASKED = "What do the notes say?"


class Said(NamedTuple):
    """What a checker says of one answer: faithful or not, None without a verdict; its calls."""

    faithful: bool | None
    calls: int


def rows_of(cases: Sequence[Case]) -> list[Row]:
    """The answers as rows of a batch."""
    return [
        Row(id=one.document.id, answer=one.answer, contexts=(one.document.text,), question=ASKED)
        for one in cases
    ]


def ours(rows: Sequence[Row], url: str, model: str, calls: Path | None) -> list[Said]:
    """Our verdicts, blind with one sample."""
    settings = CheckSettings(base_url=url, calls=CallStore(calls))
    found = check_batch_blind(rows, [f"openai/{model}"], settings, concurrency=1)
    return [_said(one.found.report.verdict, sum(one.found.report.calls.values())) for one in found]


def without_model(rows: Sequence[Row]) -> list[Said]:
    """Our verdicts by rule."""
    found = check_batch(list(rows), "zero-tolerance", "rules")
    return [_said(one.report.verdict, 0) for one in found]


def _said(verdict: Outcome, calls: int) -> Said:
    return Said(None if verdict is Outcome.INVALID else verdict is Outcome.PASS, calls)


def ragas(rows: Sequence[Row], url: str, model: str, python: Path) -> list[Said]:
    """Verdicts of RAGAS."""
    lines = [
        json.dumps(
            {"id": one.id, "question": one.question, "answer": one.answer, "contexts": one.contexts}
        )
        for one in rows
    ]
    done = subprocess.run(
        [str(python), str(PEER), url, model],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    for one in found[:3]:
        print("ragas", one, flush=True)
    return [
        Said(None if one["score"] is None else one["score"] == 1.0, one["calls"]) for one in found
    ]


def summary(said: Sequence[Said], truth: Sequence[bool]) -> dict[str, Any]:
    """Accuracy, invalid rate and calls."""
    right = [one.faithful is true for one, true in zip(said, truth, strict=True)]
    judged = [good for good, one in zip(right, said, strict=True) if one.faithful is not None]
    interval = ratio_interval([(float(good), 1.0) for good in right])
    return {
        "accuracy": round(mean(right), 4),
        "accuracy_ci95": [round(one, 4) for one in interval] if interval else None,
        "accuracy_of_judged": round(mean(judged), 4) if judged else None,
        "invalid": round(mean(one.faithful is None for one in said), 4),
        "calls_median": median(one.calls for one in said),
        "calls_mean": round(mean(one.calls for one in said), 2),
    }


async def run(given: argparse.Namespace) -> dict[str, Any]:
    """All three over the same answers."""
    cases = list(generated(given.documents, given.seed, 1))
    truth = [all(one.true for one in case.stated) for case in cases]
    rows = rows_of(cases)
    async with AsyncExitStack() as stack:
        url, model = given.base_url, given.model
        if given.simulated is not None:
            url = await stack.enter_async_context(serving(app(given.simulated))) + "/v1"
            model = "simulated"
        elif url is None:
            served = await stack.enter_async_context(serving(served_app(given.model)))
            url, model = f"{served}/v1", given.model.partition("/")[2]
        mine = await asyncio.to_thread(ours, rows, url, model, given.calls)
        theirs = await asyncio.to_thread(ragas, rows, url, model, given.ragas_python)
    plain = without_model(rows)
    pairs = [
        (float((one.faithful is true) - (other.faithful is true)), 1.0)
        for one, other, true in zip(mine, theirs, truth, strict=True)
    ]
    interval = ratio_interval(pairs)
    label = given.model
    if given.simulated is not None:
        label = f"SIMULATED ({given.simulated:g} of replies unreadable)"
    return {
        "model": label,
        "answers": len(cases),
        "faithful": sum(truth),
        "majority": round(max(mean(truth), 1 - mean(truth)), 4),
        "ours": summary(mine, truth),
        "ragas": summary(theirs, truth),
        "ours_without_model": summary(plain, truth),
        "ours_minus_ragas": {
            "accuracy": round(mean(value for value, _ in pairs), 4),
            "ci95": [round(one, 4) for one in interval] if interval else None,
        },
    }


def main() -> None:
    """Compare with one model and add the result to the file."""
    given = read_options(
        __doc__,
        ragas_python=Path,
        model=option(default="local/smollm2-135m", help="or a name, with --base-url"),
        base_url=option(),
        simulated=option(type=float, metavar="P", help="share of unreadable replies"),
        documents=30,
        seed=7,
        calls=option(type=Path, help="keeps answered calls of ours"),
        out=Path("evals/results/check_ragas.json"),
    )
    os.environ.setdefault("OPENAI_API_KEY", "none")
    found = asyncio.run(run(given))
    command = "python -m benchmarks.check.ragas --ragas-python VENV/bin/python"
    add_run(found, given.out, "model", command=command, ragas="0.4.3")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
