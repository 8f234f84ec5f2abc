"""Recorded agent answers: does a failed check predict a wrong one? And does noise change verdicts?

    python -m benchmarks.check.recorded --shared ../shared --out evals/results/check_recorded.json

HotpotQA questions with the recorded answers of four runs (Qwen2.5, 32B and 3B), checked against
the ten paragraphs of the question without a language model. Wrong: exact match 0 and token F1
below 0.5. Questions with SHA-256 modulo 10 below 3 are left out (nothing is tuned on them here).
The claim is the question and the answer in one line; the score is the classifier's probability
over the ten paragraphs, of the first `--scored` questions. `answer_fails` is what zero tolerance
does with `check(answer, paragraphs)`, on all of them; `unsupported` what it does with the claim.
The baseline is the share of its words in the paragraph that has most of them.
Irrelevance: the claims of 60 questions once more, with paragraphs of another question added.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.reports import option, read_options
from harness.core import write_atomic
from harness.rag.check.checking import check
from harness.rag.check.types import Claim, Finding, Outcome, Verdict
from harness.rag.check.verify import TrainedVerifier, read
from harness.rag.retrieve import Document
from harness.stats import auc, cluster_interval
from harness.train.verifier.features import is_tuning, rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

RIGHT_F1 = 0.5
NOISY = 60
"""Questions that are asked once more, with paragraphs of another one."""


def main() -> None:
    """Check every recorded answer and write the result."""
    options = read_options(
        __doc__,
        shared=Path,
        out=Path,
        questions=10_000,
        scored=option(type=int, default=10_000, help="questions for the classifier"),
        kept=option(type=Path, help="file of judged questions, to go on from"),
    )
    rows = rows_of(options.shared / "data/dev/hotpotqa_agent.jsonl")
    held_out = [row for row in rows if not is_tuning(row["question"])][: options.questions]
    verdicts = [
        {**verdict, "overlap": overlap(row, answer["prediction"])}
        for row, own in zip(held_out, judged(held_out, options.kept, options.scored), strict=True)
        for verdict, answer in zip(own, recorded(row), strict=True)
    ]
    again = [verdict["moved"] for verdict in verdicts if verdict["moved"] is not None]
    result = {
        "command": f"python -m benchmarks.check.recorded --questions {len(held_out)} "
        f"--scored {min(options.scored, len(held_out))} "
        "--shared ../shared --out evals/results/check_recorded.json",
        "questions": len(held_out),
        "all": summary(verdicts),
        "runs": {
            run: summary([verdict for verdict in verdicts if verdict["run"] == run])
            for run in sorted({verdict["run"] for verdict in verdicts})
        },
        "irrelevance": {"claims": len(again), "verdicts_changed": sum(again),
                        "share": round(sum(again) / max(1, len(again)), 4)},
    }  # fmt: skip
    write_atomic(options.out, json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))


def judged(
    rows: Sequence[dict[str, Any]], file: Path | None, scored: int
) -> Iterator[list[dict[str, Any]]]:
    """The answers of each question with what the checker says; a stopped run goes on."""
    stored: dict[str, list[dict[str, Any]]] = {}
    if file and file.exists():
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        stored = {own[0]["question"]: own for own in lines}
    verifier = TrainedVerifier()
    draw = random.Random(0)
    for number, row in enumerate(rows):
        noise = (
            draw.choice([candidate for candidate in rows if candidate is not row])
            if number < NOISY
            else None
        )
        own = stored.get(row["question"]) or judge(row, noise, verifier, scored=number < scored)
        if file and row["question"] not in stored:
            with file.open("a") as journal:
                journal.write(json.dumps(own) + "\n")
        yield own


def judge(
    row: dict[str, Any], noise: dict[str, Any] | None, verifier: TrainedVerifier, *, scored: bool
) -> list[dict[str, Any]]:
    """What the checker says to the recorded answers of one question; equal ones once."""
    documents = paragraphs(row, "own")
    answers = recorded(row)
    texts = list(dict.fromkeys(answer["prediction"] for answer in answers))
    fails = {
        text: check(text, documents, question=row["question"], verifier=verifier).verdict
        is not Outcome.PASS
        for text in texts
    }
    claims = [statement(row["question"], text) for text in texts]
    plain = dict(zip(texts, verifier.verify(claims, documents), strict=True)) if scored else {}
    noisy = plain
    if noise and scored:
        more = [*documents, *paragraphs(noise, "other")[:3]]
        noisy = dict(zip(texts, verifier.verify(claims, more), strict=True))
    return [
        {
            "question": row["question"],
            "run": answer["run"],
            "wrong": answer["em"] == 0 and answer["f1"] < RIGHT_F1,
            "score": signed(finding.verdict, finding.confidence) if finding else None,
            "unsupported": finding.verdict is not Verdict.SUPPORTED if finding else None,
            "fails": fails[answer["prediction"]],
            "moved": moved(finding, noisy[answer["prediction"]]) if finding and noise else None,
        }
        for answer in answers
        for finding in [plain.get(answer["prediction"])]
    ]


def moved(before: Finding, after: Finding) -> bool:
    """Whether the verdict is another."""
    return before.verdict != after.verdict


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
    claim = read(statement(row["question"], answer).text)
    words = {claim.stems[position] for position in claim.content}
    every = [set(read(paragraph.text).stems) for paragraph in paragraphs(row, "own")]
    return max(len(words & own) for own in every) / max(1, len(words))


def statement(question: str, answer: str) -> Claim:
    """Question and answer as one claim."""
    text = f"{question.rstrip('? ')} {answer}"
    return Claim(text=text, type="relation", start=0, end=len(text), sentence=text)


def signed(verdict: Verdict, confidence: float) -> float:
    """How far the finding speaks against the claim."""
    return -confidence if verdict is Verdict.SUPPORTED else confidence


def summary(verdicts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Areas under the ROC curve with intervals, and precision before and after filtering."""
    wrong = np.array([verdict["wrong"] for verdict in verdicts], bool)
    overlaps = np.array([verdict["overlap"] for verdict in verdicts], float)
    questions = np.array([verdict["question"] for verdict in verdicts])
    scored = [verdict for verdict in verdicts if verdict["score"] is not None]
    return {
        "answers": len(verdicts),
        "right": round(float((~wrong).mean()), 4),
        "overlap_auc": round(auc(-overlaps, wrong), 4),
        "overlap_auc_ci95": interval(-overlaps, wrong, questions),
        "answer_fails": filtered(verdicts, "fails"),
        "statement": of_statements(scored),
    }


def of_statements(verdicts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The same for the classifier, on the questions that it was asked."""
    wrong = np.array([verdict["wrong"] for verdict in verdicts], bool)
    scores = np.array([verdict["score"] for verdict in verdicts], float)
    questions = np.array([verdict["question"] for verdict in verdicts])
    return {
        "answers": len(verdicts),
        "auc": round(auc(scores, wrong), 4),
        "auc_ci95": interval(scores, wrong, questions),
        "unsupported": filtered(verdicts, "unsupported"),
    }


def filtered(verdicts: Sequence[dict[str, Any]], flag: str) -> dict[str, Any]:
    """What leaving out the flagged answers does to the share of right ones."""
    wrong = np.array([verdict["wrong"] for verdict in verdicts], bool)
    questions = np.array([verdict["question"] for verdict in verdicts])
    flagged = np.array([verdict[flag] for verdict in verdicts], bool)
    passing = ~wrong[~flagged]

    def gain(indices: NDArray[np.int64]) -> float | None:
        passing_sample = ~wrong[indices][~flagged[indices]]
        return (
            float(passing_sample.mean() - (~wrong[indices]).mean()) if len(passing_sample) else None
        )

    return {
        "auc": round(auc(flagged.astype(float), wrong), 4),
        "auc_ci95": interval(flagged.astype(float), wrong, questions),
        "passed": round(float((~flagged).mean()), 4),
        "right_of_passed": round(float(passing.mean()), 4) if len(passing) else None,
        "gain_ci95": [round(end, 4) for end in cluster_interval(gain, questions)],
    }


def interval(
    scores: NDArray[np.float64], wrong: NDArray[np.bool_], questions: NDArray[np.str_]
) -> list[float]:
    """95 % interval of the area, drawn by questions."""
    ends = cluster_interval(lambda indices: auc(scores[indices], wrong[indices]), questions)
    return [round(end, 4) for end in ends]


if __name__ == "__main__":
    main()
