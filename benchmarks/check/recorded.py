"""Recorded agent answers: does a failed check predict a wrong one? And does noise change verdicts?

    python -m benchmarks.check.recorded --shared ../shared --out evals/results/check_recorded.json

HotpotQA questions with the recorded answers of four runs (Qwen2.5, 32B and 3B), checked against
the ten paragraphs of the question without a language model. Wrong: exact match 0 and token F1
below 0.5. Questions with SHA-256 modulo 10 below 3 are left out (nothing is tuned on them here).
`answer_fails` is what zero tolerance does with `check(answer, paragraphs)`. The baseline is the
share of the words of question and answer in the paragraph that has most of them.
Irrelevance: the answers to 60 questions once more, with paragraphs of another question added.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.check.labelled import is_tuning, rows_of
from benchmarks.reports import Journal, Options, Result, benchmark, option
from harness.rag.check.checking import check
from harness.rag.check.overlap import read
from harness.rag.check.types import Outcome
from harness.rag.retrieve import Document
from harness.stats import auc, cluster_interval

RIGHT_F1 = 0.5
NOISY = 60
"""Questions that are asked once more, with paragraphs of another one."""


def judged(rows: Sequence[dict[str, Any]], file: Path | None) -> Iterator[list[dict[str, Any]]]:
    """The answers of each question with what the checker says; a stopped run resumes."""
    journal, draw = Journal(file), random.Random(0)
    for number, row in enumerate(rows):
        noise = None
        if number < NOISY:
            noise = draw.choice([candidate for candidate in rows if candidate is not row])
        yield journal.result(row["question"], partial(judge, row, noise))


def judge(row: dict[str, Any], noise: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Judge the recorded answers of one question; equal ones once."""
    documents = paragraphs(row, "own")
    more = [*documents, *paragraphs(noise, "other")[:3]] if noise else []

    @cache
    def verdict(text: str, *, noisy: bool = False) -> Outcome:
        return check(text, more if noisy else documents, question=row["question"]).verdict

    return [
        {
            "question": row["question"],
            "run": answer["run"],
            "wrong": answer["em"] == 0 and answer["f1"] < RIGHT_F1,
            "fails": verdict(text) is not Outcome.PASS,
            "moved": verdict(text) != verdict(text, noisy=True) if noise else None,
        }
        for answer in recorded(row)
        for text in [answer["prediction"]]
    ]


def paragraphs(row: dict[str, Any], prefix: str) -> list[Document]:
    """The paragraphs of a question, titles in front."""
    return [
        Document(f"{prefix}-{number}", f"{paragraph['title']}. {paragraph['text']}")
        for number, paragraph in enumerate(row["paragraphs"])
    ]


def recorded(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Recorded answers that say something."""
    return [
        {"run": run, **reply}
        for run, reply in row["_recorded"].items()
        if str(reply.get("prediction") or "").strip()
    ]


def overlap(row: dict[str, Any], answer: str) -> float:
    """Share of the words of question and answer in the paragraph that has most of them."""
    words = set(read(f"{row['question'].rstrip('? ')} {answer}").content_stems)
    paragraph_stems = [set(read(paragraph.text).stems) for paragraph in paragraphs(row, "own")]
    return max(len(words & stems) for stems in paragraph_stems) / max(1, len(words))


class Columns:
    """Facts of recorded answers as arrays, one place an answer."""

    def __init__(self, verdicts: Sequence[dict[str, Any]]) -> None:
        self.wrong = np.array([verdict["wrong"] for verdict in verdicts], bool)
        self._questions = np.array([verdict["question"] for verdict in verdicts])

    def area(self, name: str, scores: NDArray[np.float64]) -> dict[str, Any]:
        """Area under the ROC curve for wrong answers, and its 95 % interval by questions."""

        def of_sample(indices: NDArray[np.int64]) -> float:
            return auc(scores[indices], self.wrong[indices])

        ends = cluster_interval(of_sample, self._questions)
        return {
            name: round(auc(scores, self.wrong), 4),
            f"{name}_ci95": [round(end, 4) for end in ends],
        }

    def filtered(self, flagged: NDArray[np.bool_]) -> dict[str, Any]:
        """Measure the share of right answers without the flagged ones."""

        def gain(indices: NDArray[np.int64]) -> float | None:
            right = ~self.wrong[indices]
            passing = right[~flagged[indices]]
            return float(passing.mean() - right.mean()) if len(passing) else None

        passing = ~self.wrong[~flagged]
        return {
            **self.area("auc", flagged.astype(float)),
            "passed": round(float((~flagged).mean()), 4),
            "right_of_passed": round(float(passing.mean()), 4) if len(passing) else None,
            "gain_ci95": [round(end, 4) for end in cluster_interval(gain, self._questions)],
        }


def summary(verdicts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Areas under the ROC curve with intervals, and precision before and after filtering."""
    columns = Columns(verdicts)
    overlaps = np.array([verdict["overlap"] for verdict in verdicts], float)
    return {
        "answers": len(verdicts),
        "right": round(float((~columns.wrong).mean()), 4),
        **columns.area("overlap_auc", -overlaps),
        "answer_fails": columns.filtered(
            np.array([verdict["fails"] for verdict in verdicts], bool)
        ),
    }


@benchmark(
    shared=Path,
    out=Path,
    questions=10_000,
    kept=option(type=Path, help="file of judged questions, to go on from"),
)
def main(options: Options) -> Result:
    """Check every recorded answer and write the result."""
    rows = rows_of(options.shared / "data/dev/hotpotqa_agent.jsonl")
    held_out = [row for row in rows if not is_tuning(row["question"])][: options.questions]
    verdicts = [
        {**verdict, "overlap": overlap(row, answer["prediction"])}
        for row, row_verdicts in zip(held_out, judged(held_out, options.kept), strict=True)
        for verdict, answer in zip(row_verdicts, recorded(row), strict=True)
    ]
    again = [verdict["moved"] for verdict in verdicts if verdict["moved"] is not None]
    return {
        "command": f"python -m benchmarks.check.recorded --questions {len(held_out)} "
        "--shared ../shared --out evals/results/check_recorded.json",
        "questions": len(held_out),
        "all": summary(verdicts),
        "runs": {
            run: summary([verdict for verdict in verdicts if verdict["run"] == run])
            for run in sorted({verdict["run"] for verdict in verdicts})
        },
        "irrelevance": {"answers": len(again), "verdicts_changed": sum(again),
                        "share": round(sum(again) / max(1, len(again)), 4)},
    }  # fmt: skip
