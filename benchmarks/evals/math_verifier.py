"""Verdicts of the math family on real replies, against labels that came with them.

    python -m benchmarks.evals.math_verifier --data ../shared/data/dev

- GSM8K: 808 problems of the test set with four recorded solutions each, labelled `is_correct` by
  the authors of the set; the same solutions by the trivial baseline, the last number as text.
- MATH-500: 303 published solutions, each of which must equal its own gold answer.
- MATH: recorded samples of Qwen2.5-Math with the verdict of that model's own evaluation script.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.reports import Options, benchmark, option, read_jsonl, report
from harness.tasks import judge_math

RECORDED = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*")


def gsm8k(data: Path, limit: int | None) -> dict[str, Any]:
    """Agreement with the labels of recorded solutions."""
    by_verifier: Counter[str] = Counter()
    plain: Counter[str] = Counter()
    apart: list[dict[str, Any]] = []
    for row in _rows(data / "gsm8k_test_recorded.jsonl", limit):
        gold = row["ground_truth"].rsplit("A:", 1)[1].strip().replace(",", "")
        for name in RECORDED:
            solution, label = row[name]["solution"], row[name]["is_correct"]
            verdict = judge_math([gold], solution).outcome == "pass"
            last = (NUMBER.findall(solution) or [""])[-1].replace(",", "").rstrip(".")
            by_verifier[_pair(label, verdict)] += 1
            plain[_pair(label, last == gold)] += 1
            if verdict != label:
                apart.append({"gold": gold, "end": solution[-60:], "label": label})
    return {
        "ours": _agreement(by_verifier),
        "last number as text": _agreement(plain),
        "apart": apart[:20],
    }


def math500(data: Path, limit: int | None) -> dict[str, Any]:
    """Published solutions against their own gold answers, and against those of the next problem."""
    rows = _rows(data / "math500.jsonl", limit)
    missed, mistaken = list[str](), list[str]()
    for row, following in zip(rows, rows[1:] + rows[:1], strict=True):
        if judge_math([row["answer"]], row["solution"]).outcome != "pass":
            missed.append(row["answer"])
        foreign = following["answer"]
        if foreign != row["answer"] and judge_math([foreign], row["solution"]).outcome == "pass":
            mistaken.append(f"{foreign} for {row['answer']}")
    return {"solutions": len(rows), "missed": missed, "of another problem accepted": mistaken}


def qwen(data: Path, limit: int | None) -> dict[str, Any]:
    """Agreement with the verdicts of the model's own evaluation script."""
    counts: Counter[str] = Counter()
    apart: list[dict[str, Any]] = []
    for row in _rows(data / "math_qwen_cot_samples.jsonl", limit):
        for reply, label in zip(row["code"], row["score"], strict=False):
            verdict = judge_math([row["gt"]], reply).outcome == "pass"
            counts[_pair(bool(label), verdict)] += 1
            if verdict != bool(label):
                apart.append({"gold": row["gt"], "end": reply[-80:], "label": bool(label)})
    return {"ours": _agreement(counts), "apart": apart[:20]}


def _rows(path: Path, limit: int | None) -> list[dict[str, Any]]:
    rows = read_jsonl(path)
    return rows if limit is None else random.Random(41).sample(rows, min(limit, len(rows)))


def _pair(label: bool, verdict: bool) -> str:
    return f"label {'right' if label else 'wrong'}, judged {'right' if verdict else 'wrong'}"


def _agreement(counts: Counter[str]) -> dict[str, Any]:
    agreed = sum(n for pair, n in counts.items() if pair.count("right") != 1)
    return {"agreement": round(agreed / max(1, counts.total()), 5), "of": counts.total(), **counts}


@benchmark(
    data=Path("../shared/data/dev"),
    out=Path("evals/results/math_verifier.json"),
    limit=option(type=int, help="problems of each set, drawn at random"),
)
def main(options: Options) -> None:
    """Measure and write the figures."""
    figures: dict[str, Any] = {
        "command": "python -m benchmarks.evals.math_verifier",
        "limit": options.limit,
    }
    for name, measure in (("gsm8k", gsm8k), ("math500", math500), ("qwen_samples", qwen)):
        started = time.monotonic()
        figures[name] = measure(options.data, options.limit)
        figures[name]["seconds"] = round(time.monotonic() - started, 1)
        report(figures, options.out)
