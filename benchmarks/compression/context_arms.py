"""End to end with the embedded model: what a context stage does to answers and to the wait.

    python -m benchmarks.compression.context_arms --tasks 48 --keep context_arms.jsonl

Questions of our own `dossier` and `institute` suites, answered by SmolLM2-135M, greedy, from the
context that an arm chose: nothing, head and tail, retrieval (hybrid), compression (the default
critic), both, the gold evidence alone (the ceiling), or the whole of it where the model's 8,192
tokens hold it. Three worked examples go before the question: without them, on the train split, the
model answered nothing right from any context. In the setting `4k` there
are about 4,000 tokens and an arm may keep 500; in `full` 11,000 to 16,000, and it may keep 1,000.
The wait runs from the question to the first token: the stage and the reading of the prompt. The
index of the retrieval is made beforehand (`index_s` says in how long). `cpu` counts seconds of the
processor, all threads, which a busy machine does not change. Every prompt is new to the engine;
`whole, asked again` is a second question over the same text, which the engine's cached prefix makes
cheap. Rows are kept one by one: the command goes on where it was.
"""

from __future__ import annotations

import json
import math
import queue
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks.compression.context_arms_cases import SETTINGS, SUITES, Case, case
from benchmarks.reports import option, read_options
from harness.core import write_atomic
from harness.corpora import Evidence
from harness.engines.embedded import Engine, Job, Progress, Settings, Text, shared_engine
from harness.rag.evals.ablation import mean_interval
from harness.rag.tasks.reading import best_overlap, exact_match, official_normal
from harness.rag.tools.context import ContextArm, ContextStage
from harness.rag.tools.documents import index_of
from harness.rag.tools.passages import GAP, Passage

ARMS = (
    "none", "gold", "truncate", "retrieve", "compress", "both", "whole", "whole, asked again",
)  # fmt: skip
STAGES: dict[str, ContextArm] = {
    "truncate": "truncate", "retrieve": "retrieve", "compress": "compress", "both": "both",
    "whole": "truncate", "whole, asked again": "truncate",
}  # fmt: skip
BUDGET = {"4k": 500, "full": 1_000}
UNLIMITED = 1_000_000
ANSWER_TOKENS = 32
RULE = "You answer questions with a few words copied from the text."
EXAMPLES = (
    ("The bridge at Ormsund was opened in 1931 and painted green in 1950.",
     "When was the bridge at Ormsund opened?", "1931"),
    ("The orchard belongs to Nora Hale. Her brother Piet keeps the bees.",
     "Who keeps the bees?", "Piet"),
    ("The pump was ordered for 4,200 crowns; 3,900 crowns were paid in the end.",
     "How much was paid for the pump?", "3,900 crowns"),
)  # fmt: skip
OTHER_QUESTION = "What is the first sentence about?"
MEASURES = ("em", "f1", "holds_answer", "evidence")
Row = dict[str, Any]


def messages(context: str, question: str) -> list[dict[str, str]]:
    """The rule, the examples, then the context and the question."""
    turns = [{"role": "system", "content": RULE}]
    for passage, example_question, answer in EXAMPLES:
        turns.append({"role": "user", "content": f"Text: {passage}\nQuestion: {example_question}"})
        turns.append({"role": "assistant", "content": answer})
    return [*turns, {"role": "user", "content": f"Text: {context}\nQuestion: {question}"}]


def answered(model: Engine, text: Text, context: str, question: str) -> Row:
    """The reply and how long its first token took, in seconds of the clock and the processor."""
    tokens = text.encode_chat(messages(context, question))
    heard: queue.Queue[tuple[float, float, Progress]] = queue.Queue()
    began, cpu = time.perf_counter(), time.process_time()
    settings = Settings(limit=ANSWER_TOKENS, stops=frozenset({"\n"}))
    model.submit(
        Job(tokens, settings, lambda p: heard.put((time.perf_counter(), time.process_time(), p)))
    )
    first, first_cpu, progress = heard.get()
    generated = list(progress.tokens)
    while progress.finish is None and progress.error is None:
        _, _, progress = heard.get()
        generated += progress.tokens
    if progress.error:
        return {"error": progress.error, "prompt_tokens": len(tokens)}
    return {
        "reply": text.decode(generated),
        "prompt_tokens": len(tokens),
        "first_s": first - began,
        "first_cpu": first_cpu - cpu,
        "answer_s": time.perf_counter() - began,
    }


def measured(sample: Case, arm: str, model: Engine, text: Text) -> Row:
    """One question by one arm."""
    row: Row = {"task": sample.id, "suite": sample.suite, "setting": sample.setting, "arm": arm}
    context = "[No documents]"
    passages: Sequence[Passage] = ()
    if arm in ("retrieve", "both"):
        began = time.perf_counter()
        index_of(sample.documents, "hybrid")
        row["index_s"] = time.perf_counter() - began
    began, cpu = time.perf_counter(), time.process_time()
    if arm == "gold":
        passages = gold_passages(sample)
        context = GAP.join(passage.shown for passage in passages)
    if arm in STAGES:
        budget = UNLIMITED if arm.startswith("whole") else BUDGET[sample.setting]
        chosen = ContextStage(STAGES[arm]).gather(sample.question, sample.documents, budget)
        context, passages = chosen.text, chosen.passages
    row |= {"stage_s": time.perf_counter() - began, "stage_cpu": time.process_time() - cpu}
    question = OTHER_QUESTION if arm.endswith("again") else sample.question
    row |= answered(model, text, context, question)
    if "error" in row or arm.endswith("again"):
        return row
    reply = str(row["reply"]).strip()
    right = [official_normal(answer) for answer in sample.answers]
    return row | {
        "em": float(exact_match(reply, sample.answers)),
        "f1": best_overlap(reply, sample.answers).f1,
        "holds_answer": float(any(f" {a} " in f" {official_normal(reply)} " for a in right)),
        "evidence": float(all(kept(gold, passages) for gold in sample.evidence)),
    }


def gold_passages(sample: Case) -> list[Passage]:
    """The gold evidence as passages."""
    texts = {document.id: document.text for document in sample.documents}
    places = [(gold.doc, gold.start, gold.end) for gold in sample.evidence]
    return [Passage(doc, start, end, texts[doc][start:end], 1.0) for doc, start, end in places]


def kept(gold: Evidence, passages: Sequence[Passage]) -> bool:
    """Whether nine tenths of a piece of evidence stand in the passages."""
    places = {
        character for passage in passages if passage.doc == gold.doc
        for character in range(max(gold.start, passage.start), min(gold.end, passage.end))
    }  # fmt: skip
    return len(places) >= 0.9 * (gold.end - gold.start)


def run(tasks: int, untruncated: int, settings: Sequence[str], keep: Path) -> list[Row]:
    """Measure what is not kept yet; arms of a question one after another, suites in turn."""
    rows = [json.loads(line) for line in keep.read_text().splitlines()] if keep.is_file() else []
    finished = {(row["task"], row["setting"], row["arm"]) for row in rows}
    model = shared_engine("smollm2-135m")
    text = model.load()
    ContextStage("both").gather("warm", case("dossier", "4k", 999).documents, 100)
    answered(model, text, "No text.", "What is this?")
    for setting in settings:
        for number in range(tasks):
            fits = setting == "4k" and number < untruncated
            arms = [arm for arm in ARMS if fits or not arm.startswith("whole")]
            for suite in SUITES:
                sample = case(suite, setting, number)
                for arm in arms:
                    if (sample.id, setting, arm) in finished:
                        continue
                    rows.append(measured(sample, arm, model, text))
                    with keep.open("a") as handle:
                        handle.write(json.dumps(rows[-1]) + "\n")
            print(setting, number + 1, flush=True)
    return rows


def table(rows: Sequence[Row]) -> list[Row]:
    """Per setting, suite and arm: means, and paired differences to truncation and to the whole."""
    cells: dict[tuple[str, str], dict[str, dict[str, Row]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        for suite in (row["suite"], "both suites"):
            cells[row["setting"], suite][row["arm"]][row["task"]] = row
    return [
        _line(setting, suite, arm, arms)
        for (setting, suite), arms in sorted(cells.items())
        for arm in ARMS
        if arm in arms
    ]


def _line(setting: str, suite: str, arm: str, arms: dict[str, dict[str, Row]]) -> Row:
    rows = [row for row in arms[arm].values() if "error" not in row]
    line: Row = {"setting": setting, "suite": suite, "arm": arm, "tasks": len(rows),
                 "failed": len(arms[arm]) - len(rows)}  # fmt: skip
    for name in MEASURES:
        values = [row[name] for row in rows if name in row]
        if values:
            line[name] = [round(fmean(values), 4), *_rounded(mean_interval(values))]
    for name in ("prompt_tokens", "index_s", "stage_s", "first_s", "answer_s"):
        values = [row[name] for row in rows if name in row]
        if values:
            line[f"{name}_median"] = round(median(values), 3)
    for baseline in ("truncate", "whole"):
        shared_tasks = [
            (row, arms[baseline][row["task"]]) for row in rows
            if arm != baseline
            and "error" not in arms.get(baseline, {}).get(row["task"], {"error": 1})
        ]  # fmt: skip
        if shared_tasks:
            line[f"against {baseline}"] = _against(shared_tasks)
    return line


def _against(pairs: Sequence[tuple[Row, Row]]) -> Row:
    result: Row = {"tasks": len(pairs)}
    for name in MEASURES[:3]:
        gaps = [ours[name] - baseline[name] for ours, baseline in pairs if name in ours]
        if gaps:
            result[name] = [round(fmean(gaps), 4), *_rounded(mean_interval(gaps))]
    result["wait_times_shorter"] = _ratio(pairs, lambda row: row["stage_s"] + row["first_s"])
    result["cpu_times_less"] = _ratio(pairs, lambda row: row["stage_cpu"] + row["first_cpu"])
    return result


def _ratio(pairs: Sequence[tuple[Row, Row]], of: Callable[[Row], float]) -> list[float]:
    """Geometric mean of (other / one) with its 95 % interval."""
    logs = [math.log(of(baseline) / of(ours)) for ours, baseline in pairs]
    low, high = mean_interval(logs)
    return [round(math.exp(value), 3) for value in (fmean(logs), low, high)]


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 4) for value in values]


def main() -> None:
    """Measure, and write the table."""
    chosen = read_options(
        __doc__,
        tasks=option(type=int, default=48, help="Questions of each suite."),
        whole=option(type=int, default=48, help="Questions with the whole context."),
        settings=option(nargs="*", choices=SETTINGS, default=list(SETTINGS)),
        keep=Path("context_arms.jsonl"),
        out=Path("evals/results/context_arms.json"),
    )
    rows = run(chosen.tasks, chosen.whole, chosen.settings, chosen.keep)
    report = {
        "command": "python -m benchmarks.compression.context_arms",
        "model": "local/smollm2-135m",
        "budgets": BUDGET,
        "rows": table(rows),
    }
    write_atomic(chosen.out, json.dumps(report, indent=1) + "\n")
    for row in report["rows"]:
        print(json.dumps(row))


if __name__ == "__main__":
    main()
