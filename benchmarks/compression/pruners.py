"""Pruners of words and tokens beside `compress`, at equal budgets, paired.

    pip install --no-deps compactprompt==0.5.2
    python -m benchmarks.compression.pruners --cache CACHE --llmlingua PYTHON --gguf MODEL.gguf

A pruner of words keeps no sentence, so that all are judged by what a reader needs at least: the
share of questions of which one answer stands verbatim in the compressed text, and (kinder) of which
all words of an answer stand anywhere in it. Of a meeting every gold turn is an answer and counts by
itself. The same questions as in `compression_quality`. Ours is `harness.api.compress` with its
defaults, its markers within the budget.
`compactprompt` runs as its bare package installs: static word information, no language model.
LLMLingua-2's method is re-implemented (`compression_pruners_words`). LongLLMLingua is the package
itself with SmolLM2-135M in an environment of its own; it does not hold a budget, so `compress` gets
as many tokens as it left, question by question. Budgets count MiniLM word pieces.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.compression.cases import Case, readers_of, sample
from benchmarks.compression.memory import remembering
from benchmarks.compression.pruners_words import WordPruner
from benchmarks.compression.quality import default_critic, interval, percent
from benchmarks.reports import Journal, earlier_report, option, read_jsonl, read_options, report
from harness.api import compress
from harness.core import BadInput, digest_file, write_atomic
from harness.rag.compress import Critic, Store, open_tokenizer
from harness.rag.compress.critics.token import WEIGHTS
from harness.rag.retrieve import open_encoder

BUDGETS = (0.05, 0.10, 0.20)
DEFAULT = "compress"
LONG = "LongLLMLingua, SmolLM2-135M"
RATE = 0.10
"""What LongLLMLingua is asked for."""

Arm = Callable[[Case, float], str]
Judged = dict[str, float]


def compactprompt(case: Case, budget: float) -> str:
    """Compress the text with compactprompt."""
    compressor: Any = import_module("compactprompt").HardPromptCompressor()
    return str(compressor.compress(text_of(case), ratio=1 - budget).compressed)


def remembered(arm: Arm, path: Path) -> Arm:
    """The arm with a memory on disk: a run that was stopped resumes."""
    journal = Journal(path)

    def compressed(case: Case, budget: float) -> str:
        key = f"{case.id}|{len(case.units)}|{budget}"
        return journal.result(key, partial(arm, case, budget))

    return compressed


def text_of(case: Case) -> str:
    """All sentences."""
    return " ".join(unit.text for unit in case.units)


def command(critic: Critic, store: Store) -> Arm:
    """`compress` as users call it; nothing where it refuses the budget."""

    def compressed(case: Case, budget: float) -> str:
        try:
            return compress(
                case.documents, case.query.query, ratio=budget, critic=critic, store=store,
                tokenizer="minilm",
            ).text  # fmt: skip
        except BadInput:
            return ""

    return compressed


def judged(name: str, case: Case, text: str) -> Judged:
    """Look for an answer, verbatim and by all its words, in what is left of a case.

    One answer is enough; of a meeting, whose gold turns are answers, the share of them counts.
    """
    answers = case.answer_texts
    words = set(re.findall(r"\w+", text.lower()))
    plain = " ".join(text.split())
    verbatim = [" ".join(answer.split()) in plain for answer in answers]
    by_words = [set(re.findall(r"\w+", answer.lower())) <= words for answer in answers]
    if name == "qmsum":
        return {"verbatim": fmean(verbatim), "all words": fmean(by_words)}
    return {"verbatim": float(any(verbatim)), "all words": float(any(by_words))}


def beside(rows: dict[str, list[Judged]], clusters: Sequence[str], seed: int) -> dict[str, Any]:
    """Shares of every arm, and the gain of the default on each with its interval by document."""
    table: dict[str, Any] = {}
    for arm, verdicts in rows.items():
        table[arm] = {}
        for rule in verdicts[0]:
            pairs = zip(rows[DEFAULT], verdicts, strict=True)
            gains = [float(ours[rule]) - float(baseline[rule]) for ours, baseline in pairs]
            table[arm][rule] = {"share": percent([float(verdict[rule]) for verdict in verdicts])}
            if arm != DEFAULT:
                table[arm][rule] |= {
                    "gain of the default": percent(gains),
                    "interval": interval(gains, clusters),
                }
    return table


def pruned_by_tokens(cases: Sequence[Case], options: argparse.Namespace) -> dict[str, str]:
    """Question -> what LongLLMLingua leaves; kept in a file beside the other caches."""
    folder: Path = options.cache / "longllmlingua"
    folder.mkdir(parents=True, exist_ok=True)
    requests, out = folder / "cases.jsonl", folder / "out.jsonl"
    lines: list[str] = []
    for case in cases:
        documents: dict[str, list[str]] = {}
        for unit in case.units:
            documents.setdefault(unit.doc, []).append(unit.text)
        contexts = [" ".join(texts) for texts in documents.values()]
        row = {"id": case.id, "query": case.query.query, "contexts": contexts, "rate": RATE}
        lines.append(json.dumps(row, ensure_ascii=False))
    write_atomic(requests, "\n".join(lines) + "\n")
    worker = Path(__file__).with_name("pruners_longllmlingua.py")
    command = [str(options.llmlingua), str(worker), str(options.gguf), str(requests), str(out)]
    subprocess.run(command, check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    return {row["id"]: row["text"] for row in read_jsonl(out) if row["rate"] == RATE}


def against_tokens(
    cases: Sequence[Case], arms: dict[str, Arm], judge: Callable[[Case, str], Judged],
    options: argparse.Namespace,
) -> dict[str, Any]:  # fmt: skip
    """LongLLMLingua beside sentences that get as many tokens as it left."""
    counts = open_tokenizer("minilm").counts
    texts = pruned_by_tokens(cases, options)
    rows: dict[str, list[Judged]] = {}
    shares: list[float] = []
    for case in cases:
        output_tokens, input_tokens = (
            counts([texts[case.id]])[0],
            sum(counts([unit.text for unit in case.units])),
        )
        shares.append(output_tokens / input_tokens)
        rows.setdefault(LONG, []).append(judge(case, texts[case.id]))
        verdict = judge(case, arms[DEFAULT](case, output_tokens / input_tokens))
        rows.setdefault(DEFAULT, []).append(verdict)
    table = beside(rows, [case.cluster for case in cases], options.seed)
    return {"cases": len(cases), "asked for": RATE, "tokens left": percent(shares), **table}


def main() -> None:
    """Measure, print and write the report."""
    options = read_options(
        __doc__,
        shared=Path("../shared"),
        cache=option(type=Path, required=True, help="folder of scores and texts"),
        size=120,
        sets=["xquad_en", "covidqa", "qmsum"],
        llmlingua=option(type=Path, help="python with llmlingua"),
        gguf=option(type=Path, help="SmolLM2-135M"),
        long_size=option(type=int, default=60, help="questions for LongLLMLingua"),
        long_sets=option(nargs="*", default=["xquad_en"], help="its sets"),
        seed=17,
        out=Path("evals/results/compression_pruners.json"),
    )
    folder = options.shared / "data/compression/dev"
    weights = digest_file(WEIGHTS / "critic.onnx")
    encoder = remembering(open_encoder("encoder"), options.cache)
    words = WordPruner()
    arms: dict[str, Arm] = {
        "compactprompt": remembered(compactprompt, options.cache / "compactprompt.jsonl"),
        words.name: remembered(
            lambda case, budget: words.compress(text_of(case), budget),
            options.cache / f"words-{weights[:12]}.jsonl",
        ),
        DEFAULT: command(default_critic(encoder, options.cache), Store(options.cache / "store")),
    }
    # Sets that are not measured keep what the report says of them.
    sets = earlier_report(options.out).get("sets", {})
    readers = readers_of(folder, options.seed)
    for name in options.sets:
        judge = partial(judged, name)
        drawn = sample(readers[name.removesuffix("_en")](), options.size, options.seed)
        table: dict[str, Any] = {"cases": len(drawn)}
        rows: dict[float, dict[str, list[Judged]]] = {budget: {} for budget in BUDGETS}
        for case in drawn:
            for budget in BUDGETS:
                for arm, compressed in arms.items():
                    verdict = judge(case, compressed(case, budget))
                    rows[budget].setdefault(arm, []).append(verdict)
        clusters = [case.cluster for case in drawn]
        for budget in BUDGETS:
            table[f"{budget:.0%}"] = beside(rows[budget], clusters, options.seed)
        if options.llmlingua and name in options.long_sets:
            table[LONG] = against_tokens(drawn[: options.long_size], arms, judge, options)
        sets[name] = table
        report({"seed": options.seed, "sets": sets}, options.out)


if __name__ == "__main__":
    main()
