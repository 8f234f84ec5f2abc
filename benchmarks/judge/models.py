"""A model as judge of labelled pairs, by each method, on the same pairs. Resumes where it stopped.

    python -m benchmarks.judge.models ../shared/data/dev --set llmbar --limit 40 --out judged \\
        --model local/qwen2.5-coder-1.5b --method direct --method openrs

Pairs are drawn with a fixed seed from those whose texts are short enough for small models. Figures
of a method: accuracy over valid verdicts (a tie counts half) with a bootstrap interval, agreement
of both orders, invalid verdicts, tokens a pair; beside it, the longer answer on the same pairs.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from pathlib import Path
from typing import Any

from harness.core import loops, read_rows
from harness.core.rundir import RunReader
from harness.judge.session import JudgeCommand, Judged, Method, judge_rows
from harness.stats import mean_interval

LONGEST = 3000
"""Characters of task and answers together."""
SIDES = {1: "A", 2: "B"}


def pairs(folder: Path, name: str) -> list[dict[str, Any]]:
    """The labelled pairs of a set as rows of `harness judge`."""
    rows: list[dict[str, Any]] = []
    for number, (_, row) in enumerate(read_rows(folder / f"{name}.jsonl")):
        if name == "llmbar":
            texts = row["input"], row["output_1"], row["output_2"], SIDES[row["label"]]
        elif name == "judgebench":
            texts = row["question"], row["response_A"], row["response_B"], row["label"][0]
        else:
            votes = [row[f"annotator{place}"] for place in (1, 2, 3)]
            winner = max(votes, key=votes.count)
            if votes.count(winner) < 2 or winner not in SIDES:
                continue
            prompt = f"{row['instruction']}\n\n{row['input']}".strip()
            texts = prompt, row["response1"], row["response2"], SIDES[winner]
        if sum(map(len, texts)) <= LONGEST:
            fields = dict(zip(("prompt", "a", "b", "label"), texts, strict=True))
            rows.append({"id": f"{name}-{number}", **fields})
    return rows


def figures(run: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What a run came to, on all of its pairs."""
    judged = {record["id"]: Judged.model_validate(record) for record in RunReader(run).items()}
    verdicts = [(judged[row["id"]].verdict, row) for row in rows if row["id"] in judged]
    values = [
        0.5 if verdict.preference == "tie" else float(verdict.preference == row["label"])
        for verdict, row in verdicts
        if verdict is not None and verdict.preference is not None
    ]
    agreements = [v.agreement for v, _ in verdicts if v is not None and v.agreement is not None]
    longer = [float((len(row["a"]) > len(row["b"])) == (row["label"] == "A")) for row in rows]
    return {
        "pairs": len(verdicts),
        "accuracy": statistics.fmean(values) if values else None,
        "ci95": mean_interval(values),
        "orders agree": statistics.fmean(agreements) if agreements else None,
        "invalid": len(verdicts) - len(values),
        "tokens a pair": statistics.fmean(v.usage.tokens for v, _ in verdicts if v is not None),
        "longer answer": statistics.fmean(longer),
    }


def main() -> None:
    """Judge the pairs by every method, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--set", choices=("llmbar", "judgebench", "pandalm"), required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--base-url")
    parser.add_argument("--method", action="append", choices=("direct", "openrs", "skill"))
    parser.add_argument("--limit", type=int, default=40)
    parser.add_argument("--concurrency", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rows = pairs(options.folder, options.set)
    random.Random(7).shuffle(rows)
    rows = rows[: options.limit]
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / f"{options.set}-{options.limit}.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    result: dict[str, Any] = {"model": options.model, "set": options.set}
    methods: list[Method] = options.method or ["direct"]
    for method in methods:
        run = options.out / f"{options.set}-{options.limit}-{method}"
        settings = JudgeCommand(
            rows=file, method=method, models=(options.model,), base_url=options.base_url,
            out=run, concurrency=options.concurrency,
        )  # fmt: skip
        loops.run(judge_rows(settings))
        result[method] = figures(run, rows)
        print(json.dumps(result, indent=1), flush=True)


if __name__ == "__main__":
    main()
