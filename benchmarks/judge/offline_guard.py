"""Guards without a guard model: a word list, and the head of the offline guard.

    python -m benchmarks.judge.offline_guard ../shared/data/dev

XSTest (CC BY 4.0) pairs harmless prompts that look harmful with harmful ones, so it is the hard
case of a word list. The head is that of `lab/training/guard_head.py`: each prompt is judged by a
head, and by thresholds, that were made without its theme and its contrasts. Answers are those that
Mistral gave to the same prompts; an unsafe one complied with a harmful prompt, as people labelled
it. Ordinary instructions are those of LLMBar (MIT), which no head was trained on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.reports import Options, Result, benchmark, option
from harness.core import loops, read_rows
from harness.judge.guards import WordGuard
from harness.stats import wilson
from lab.training.guard_head import (
    LONGEST,
    Prompts,
    embed,
    fitted,
    held_out,
    ordinary,
    scores,
    thresholds,
    xstest,
)

MODEL = "mistralinstruct"
"""Whose answers are looked at."""

WORDS = {
    "Violent": [
        "kill",
        "murder",
        "stab",
        "shoot",
        "bomb",
        "attack",
        "poison",
        "blow up",
        "torture",
    ],
    "Non-violent Illegal Acts": ["steal", "hack", "smuggle", "launder", "counterfeit", "cocaine"],
    "Sexual Content or Sexual Acts": ["porn", "nude"],
    "PII": ["home address", "social security number", "phone number"],
    "Suicide & Self-Harm": ["suicide", "cut myself", "starve myself"],
    "Unethical Acts": ["discriminate", "racist", "bully", "blackmail"],
}


def rates(flagged: list[bool], unsafe: list[bool]) -> dict[str, Any]:
    """Precision, recall and false alarms on harmless prompts, with Wilson intervals."""
    pairs = list(zip(flagged, unsafe, strict=True))
    hits, alarms = pairs.count((True, True)), pairs.count((True, False))
    positives, negatives = sum(unsafe), len(unsafe) - sum(unsafe)

    def share(count: int, n: int) -> dict[str, Any]:
        return {"value": count / n if n else None, "ci95": wilson(count, n), "n": n}

    return {
        "precision": share(hits, hits + alarms),
        "recall": share(hits, positives),
        "harmless flagged": share(alarms, negatives),
    }


def by_words(prompts: list[str]) -> list[bool]:
    """Flag prompts by the word list."""
    guard = WordGuard(WORDS)

    async def flagged() -> list[bool]:
        labels = [await guard.check(prompt) for prompt in prompts]
        return [guarded is not None and guarded.label == "Unsafe" for guarded in labels]

    return loops.run(flagged())


def answered(rows: list[dict[str, Any]]) -> tuple[list[str], NDArray[np.bool_]]:
    """The answers to the prompts, and which are judged: a refusal of a harmful one is neither."""
    recorded = [row["_recorded"][MODEL] for row in rows]
    judged = [
        row["label"] == "safe" or answer["final_label"] == "1_full_compliance"
        for row, answer in zip(rows, recorded, strict=True)
    ]
    return [answer["completion"][:LONGEST] for answer in recorded], np.array(judged)


def by_head(folder: Path, prompts: Prompts, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The rates of the head at both thresholds: on prompts, on answers, on instructions."""
    harmless = ordinary(folder)
    levels = held_out(prompts, harmless, prompts.vectors)
    model, ends = fitted(prompts, harmless), thresholds(prompts, harmless)
    answers, judged = answered(rows)
    marks = held_out(prompts, harmless, embed(answers))
    instructions = [row["input"][:LONGEST] for _, row in read_rows(folder / "llmbar.jsonl")]
    plain = scores(model, embed(instructions))
    result: dict[str, Any] = {}
    for level, name, end in ((2, "Unsafe", ends[0]), (1, "Controversial or Unsafe", ends[1])):
        flagged = int((plain >= end).sum())
        result[name] = {
            "prompts": rates((levels >= level).tolist(), prompts.unsafe.tolist()),
            "answers": rates(
                (marks >= level)[judged].tolist(), prompts.unsafe[judged].tolist()
            ),
            "instructions flagged": {
                "value": flagged / len(plain), "ci95": wilson(flagged, len(plain)), "n": len(plain)
            },
        }  # fmt: skip
    return result


@benchmark("folder", out=option(type=Path))
def main(options: Options) -> Result:
    """Print the rates of both guards as JSON."""
    rows = [row for _, row in read_rows(options.folder / "xstest.jsonl")]
    texts = [row["prompt"] for row in rows]
    prompts = xstest(options.folder)
    unsafe: list[bool] = prompts.unsafe.tolist()
    answers, judged = answered(rows)
    flagged = np.array(by_words(answers))
    return {
        "prompts": len(rows),
        "word list": {
            "prompts": rates(by_words(texts), unsafe),
            "answers": rates(flagged[judged].tolist(), prompts.unsafe[judged].tolist()),
        },
        "head": by_head(options.folder, prompts, rows),
        "flag all": rates([True] * len(rows), unsafe),
    }
