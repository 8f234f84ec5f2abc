"""Pruning word by word without the question (`compactprompt`) against whole sentences by BM25.

    pip install --no-deps compactprompt==0.5.2
    python -m benchmarks.compression_pruners --size 120

A pruner of words keeps no sentence, so that both are judged by what a reader needs at least: the
share of questions of which one answer stands verbatim in the compressed text, and (kinder) of
which all words of an answer stand anywhere in it. The same questions as in
`compression_quality`; budgets count the pruner's own tokens for it, MiniLM word pieces for BM25.
`compactprompt` runs as its bare package installs: static word information, no language model.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.compression_cases import Case, covidqa, read_jsonl, sample, xquad
from harness.compress.critics.lexical import LexicalCritic
from harness.compress.tokens import open_tokenizer
from harness.core import write_atomic

BUDGETS = (0.05, 0.10, 0.20)


def pruned(case: Case, budget: float) -> str:
    """What compactprompt leaves of the text."""
    compressor: Any = import_module("compactprompt").HardPromptCompressor()
    text = " ".join(unit.text for unit in case.units)
    return str(compressor.compress(text, ratio=1 - budget).compressed)


def best_sentences(case: Case, budget: float) -> str:
    """The best sentences by BM25: the best one, then what fits."""
    scores = LexicalCritic().score(case.query, case.units)
    sizes = open_tokenizer("minilm").counts([unit.text for unit in case.units])
    order = sorted(range(len(sizes)), key=lambda at: -scores[at])
    room, kept = budget * sum(sizes) - sizes[order[0]], {order[0]}
    for at in order[1:]:
        if sizes[at] <= room:
            kept.add(at)
            room -= sizes[at]
    return " ".join(case.units[at].text for at in sorted(kept))


def answers_of(folder: Path, name: str) -> dict[str, list[str]]:
    """Question -> the texts of its answers."""
    texts = {row["id"]: row["context"] for row in read_jsonl(folder / "covidqa_docs.jsonl")}
    return {
        row["id"]: [
            (row["context"] if name == "xquad_en" else texts[row["doc"]])[start:end]
            for start, end in row["spans"]
        ]
        for row in read_jsonl(folder / f"{name}.jsonl")
    }


def judged(text: str, answers: list[str]) -> dict[str, bool]:
    """Whether an answer stands verbatim in the text, and whether all of its words do."""
    words = set(re.findall(r"\w+", text.lower()))
    plain = " ".join(text.split())
    return {
        "verbatim": any(" ".join(one.split()) in plain for one in answers),
        "all words": any(set(re.findall(r"\w+", one.lower())) <= words for one in answers),
    }


def main() -> None:
    """Measure, print and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--size", type=int, default=120)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--out", type=Path, default=Path("evals/results/compression_pruners.json"))
    options = parser.parse_args()
    folder = options.shared / "data/compression/dev"
    arms: dict[str, Callable[[Case, float], str]] = {
        "compactprompt": pruned,
        "BM25, sentences": best_sentences,
    }
    report: dict[str, Any] = {"seed": options.seed, "sets": {}}
    for name, cases in (("xquad_en", xquad(folder, options.seed)), ("covidqa", covidqa(folder))):
        drawn, answers = sample(cases, options.size, options.seed), answers_of(folder, name)
        table: dict[str, Any] = {"cases": len(drawn)}
        for arm, compressed in arms.items():
            for budget in BUDGETS:
                rows = [judged(compressed(case, budget), answers[case.id]) for case in drawn]
                table.setdefault(arm, {})[f"{budget:.0%}"] = {
                    rule: round(100 * sum(row[rule] for row in rows) / len(rows), 1)
                    for rule in rows[0]
                }
        report["sets"][name] = table
        print(name, json.dumps(table, indent=1), flush=True)
        write_atomic(options.out, json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
