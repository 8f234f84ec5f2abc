"""`check: rubric` in a suite with a real model: agreement with labels, and flips between two runs.

    python -m benchmarks.judge.suite ../shared/data/dev --model local/qwen2.5-coder-0.5b --runs run

The tasks are pairs of LLMBar whose answers are short: of each pair one answer, the better one of
every second pair, is what the agent (a look-up) answers. The label is whether it was the better
one. Both runs ask the model anew. Beside the agreement stands that of passing every answer.
A run that was interrupted is resumed.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from benchmarks.reports import option, read_options, report
from harness.core import mapping, read_rows
from harness.core.rundir import RunReader
from harness.stats import wilson

LONGEST = 600
"""Characters of task and answer together."""
RUBRIC = "- The answer does exactly what the instruction asks for.\n- What it says is correct.\n"
AGENT = """
import json
from pathlib import Path

ANSWERS = json.loads((Path(__file__).parent / "answers.json").read_text())


def answer(prompt, workdir, skill):
    return ANSWERS[prompt]
"""


def write_suite(folder: Path, data: Path, limit: int, model: str) -> dict[str, bool]:
    """Write the suite; the labels of its tasks."""
    pairs = [row for _, row in read_rows(data / "llmbar.jsonl")]
    random.Random(11).shuffle(pairs)
    rows: list[dict[str, Any]] = []
    answers: dict[str, str] = {}
    labels: dict[str, bool] = {}
    for pair in pairs:
        better = len(rows) % 2 == 0
        side = pair["label"] if better else 3 - pair["label"]
        text = pair[f"output_{side}"]
        if len(pair["input"]) + len(text) > LONGEST or pair["input"] in answers:
            continue
        name = f"t{len(rows)}"
        rows.append({"id": name, "prompt": pair["input"], "check": "rubric"})
        answers[pair["input"]], labels[name] = text, better
        if len(rows) == limit:
            break
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "answers.json").write_text(json.dumps(answers))
    (folder / "agent.py").write_text(AGENT)
    (folder / "none.json").write_text('[{"text": ""}]')
    suite = {
        "name": "labelled",
        "tasks": "tasks.jsonl",
        "judge": {"model": model, "rubric": RUBRIC},
    }
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite))
    return labels


def outcomes(
    folder: Path, number: int, base_url: str | None, concurrency: int
) -> tuple[dict[str, str], int]:
    """Task -> outcome of one run of the suite, and the judge's tokens."""
    out = folder / f"run-{number}"
    command = [
        sys.executable, "-m", "harness", "eval", str(folder / "suite.yaml"), "--agent",
        f"py:{folder / 'agent.py'}:answer", "--resume" if out.exists() else "--out", str(out),
        "--concurrency", str(concurrency), "--model", f"scripted/{folder / 'none.json'}",
        # The agent looks answers up, and the check asks a model: no code of others runs.
        "--sandbox", "none", "--trust", *(["--base-url", base_url] if base_url else []),
    ]  # fmt: skip
    subprocess.run(command, check=False)
    items = list(RunReader(out).items())
    used = (mapping(mapping(item["detail"].get("judge")).get("usage")) for item in items)
    tokens = sum(row.get("prompt_tokens", 0) + row.get("completion_tokens", 0) for row in used)
    return {item["task_id"]: item["outcome"] for item in items}, tokens


def main() -> None:
    """Run the suite twice, and print what came of it as JSON."""
    options = read_options(
        (__doc__ or "").partition("\n")[0], "folder", model=str, base_url=option(), limit=12,
        concurrency=1, runs=option(type=Path, required=True, help="folder of suite and runs"),
        out=option(type=Path, help="JSON file of results"),
    )  # fmt: skip
    suite = options.runs.absolute()
    labels = write_suite(suite, options.folder, options.limit, options.model)
    (first, tokens), (second, _) = (
        outcomes(suite, number, options.base_url, options.concurrency) for number in (1, 2)
    )
    valid = [name for name in labels if first.get(name) in ("pass", "fail")]
    right = sum((first[name] == "pass") == labels[name] for name in valid)
    both = [name for name in valid if second.get(name) in ("pass", "fail")]
    flips = sum(first[name] != second[name] for name in both)
    passing = sum(labels[name] for name in valid)
    result = {
        "model": options.model, "tasks": len(labels), "invalid": len(labels) - len(valid),
        "invalid in the second run": sum(second.get(n) not in ("pass", "fail") for n in labels),
        "agreement": {"right": right, "n": len(valid), "ci95": wilson(right, len(valid))},
        "passing every answer": {"right": passing, "n": len(valid)},
        "passed": sum(first[name] == "pass" for name in valid),
        "flips": {"count": flips, "n": len(both), "ci95": wilson(flips, len(both))},
        "tokens of the judge, a run": tokens,
    }  # fmt: skip
    report(result, options.out)


if __name__ == "__main__":
    main()
