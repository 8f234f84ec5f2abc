"""`ask --extract` on files that answer a question, and on the same files without the answer.

    python -m benchmarks.retrieval.answers --shared ../shared

XQuAD-en, questions of distinct paragraphs: the paragraph that answers and the four that share the
most words with it are a file each; then the four alone, which no answer of the data set stands in.
Right is a quote that holds an answer; declined, no quote. `harness.api.ask` with its defaults reads
the files. Counts with Wilson intervals in percent. The thresholds of `ask` were chosen on the first
60 questions, which are skipped.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.reports import Options, benchmark, read_jsonl, share_interval
from harness.api import ask
from harness.rag.retrieve import terms

NEAR = 4


def outcome(question: str, texts: Sequence[str], answers: Sequence[str]) -> dict[str, bool]:
    """Whether the quote is right, whether there is none, and whether it comes with a PASS."""
    with TemporaryDirectory() as folder:
        for number, text in enumerate(texts):
            Path(folder, f"{number}.txt").write_text(text, encoding="utf-8")
        answer = ask(question, folder, extract=True)
    quote = (answer.answer or "").casefold()
    passed = isinstance(answer.verdict, dict) and answer.verdict["verdict"] == "PASS"
    right = any(gold.casefold() in quote for gold in answers)
    return {"right": right, "declined": not quote, "wrong with PASS": passed and not right}


@benchmark(
    shared=Path("../shared"),
    questions=40,
    skip=60,
    seed=9,
    out=Path("evals/results/retrieval_answers.json"),
)
def main(options: Options) -> dict[str, Any]:
    """Measure both kinds of files."""
    rows = list(read_jsonl(options.shared / "data/compression/dev/xquad_en.jsonl"))
    paragraphs = {text: set(terms(text)) for text in sorted({row["context"] for row in rows})}
    random.Random(options.seed).shuffle(rows)
    first: dict[str, dict[str, Any]] = {}
    for row in rows:
        first.setdefault(row["context"], row)
    drawn = list(first.values())[options.skip : options.skip + options.questions]
    counts = {kind: Counter[str]() for kind in ("answerable", "unanswerable")}
    for row in drawn:
        gold, answers = row["context"], [answer.casefold() for answer in row["answers"]]
        shared = {
            text: len(bag & paragraphs[gold]) / len(bag | paragraphs[gold])
            for text, bag in paragraphs.items()
            if text != gold and not any(answer in text.casefold() for answer in answers)
        }
        near = sorted(shared, key=lambda text: -shared[text])[:NEAR]
        counts["answerable"].update(outcome(row["query"], [*near, gold], answers))
        counts["unanswerable"].update(outcome(row["query"], near, answers))
    return {
        "questions": len(drawn),
        **{
            kind: {
                name: [hits, share_interval(hits, len(drawn), 1, 100)]
                for name, hits in counter.items()
            }
            for kind, counter in counts.items()
        },
    }
