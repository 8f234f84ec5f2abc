"""What guards without a guard model are worth on XSTest: a word list, and an embedding head.

    python -m benchmarks.judge.offline_guard ../shared/data/dev/xstest.jsonl

XSTest (CC BY 4.0) pairs harmless prompts that look harmful with harmful ones, so it is the hard
case of a word list. The head is a logistic regression on sentence embeddings (MiniLM of the extra
`rag`), trained and tested across the set's themes: a theme, with its contrasts, is never in both.
It is not shipped.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from harness.core import loops, read_rows
from harness.core.plugins import load
from harness.judge.guards import WordGuard
from harness.stats import wilson

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
    """What the word list flags."""
    guard = WordGuard(WORDS)

    async def flagged() -> list[bool]:
        labels = [await guard.check(prompt) for prompt in prompts]
        return [guarded is not None and guarded.label == "Unsafe" for guarded in labels]

    return loops.run(flagged())


def theme(kind: str) -> str:
    """What a type of prompts and its contrast have in common."""
    shared = next((name for name in ("privacy", "discr") if name in kind), "")
    return shared or kind.removeprefix("contrast_")


def by_head(prompts: list[str], unsafe: list[bool], kinds: list[str]) -> list[bool]:
    """What a head flags that was trained without the prompt's theme."""
    from sklearn.linear_model import LogisticRegression  # pyright: ignore[reportMissingTypeStubs]

    vectors: Any = np.asarray(load("encoders", "sentences")().encode(prompts))
    labels, groups = np.array(unsafe), np.array(list(map(theme, kinds)))
    flagged = np.zeros(len(prompts), bool)
    for group in sorted(set(groups.tolist())):
        held_out = groups == group
        head: Any = LogisticRegression(C=10.0, max_iter=1000, class_weight="balanced")
        head.fit(vectors[~held_out], labels[~held_out])
        flagged[held_out] = head.predict(vectors[held_out])
    return flagged.tolist()


def main() -> None:
    """Print the rates of both guards as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = [row for _, row in read_rows(options.file)]
    prompts = [row["prompt"] for row in rows]
    unsafe = [row["label"] == "unsafe" for row in rows]
    result = {
        "prompts": len(rows),
        "word list": rates(by_words(prompts), unsafe),
        "embedding head": rates(by_head(prompts, unsafe, [row["type"] for row in rows]), unsafe),
        "flag all": rates([True] * len(rows), unsafe),
    }
    text = json.dumps(result, indent=1)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
