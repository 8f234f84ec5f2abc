"""Small embedded models on workbooks without a skill: `graph:program` beside ReAct.

Run: python -m benchmarks.agents.baseline [--cell MODEL/AGENT/SUITE ...] [--limit N] [--minutes M]

The protocol is fixed in docs/concepts/baseline.md and below; `--limit` takes the first of a fixed
order of tasks. Every task is an eval run of its own below `--work`, whose answered calls are kept:
a benchmark that was stopped resumes after its last task, and a kill in mid-task repeats no call.
Results of a cell go to evals/results/program_baseline.json as far as it has come. `--base-url`
names an OpenAI-compatible server of the same weights in place of the embedded engine.
"""

from __future__ import annotations

import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.reports import (
    Journal,
    Options,
    add_run,
    benchmark,
    option,
    out_or_resume,
    read_jsonl,
    share_interval,
    write_suite,
)
from harness.core import Task, assets, digest
from harness.core.rundir import RunReader
from harness.evals import EvalSettings, load_suite, run_evaluation
from harness.stats import compare_rates
from harness.tasks import load_spreadsheetbench

RESULT = "evals/results/program_baseline.json"
SHA256 = {
    "1.5b": "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    "0.5b": "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
}
"""Weights: Qwen2.5-Coder-Instruct Q4_K_M, the official GGUF files."""
TURNS = {"react": 10, "program": 5}
"""Model calls of an attempt."""
SUITES = ("spreadsheetbench", "ledger")
TASKS = 60
PROTOCOL: dict[str, Any] = {
    "weights": SHA256,
    "temperature": 0.0,
    "seed": 41,
    "max_tokens": 1024,
    "context_tokens": 8192,
    "turns": TURNS,
    "react_protocol": "json",
    "program_seconds": {"react": 120, "program": 60},
    "program_memory_mb": 2048,
    "skill": None,
    "tasks": f"{TASKS} of each suite",
}
CELLS = [f"{model}/{agent}/{suite}" for model in SHA256 for agent in TURNS for suite in SUITES]


def spreadsheetbench(shared: Path) -> list[Task]:
    """SpreadsheetBench tasks of the dev half without a recorded run, in the order of a digest.

    Tasks whose official score says nothing are left out.
    """
    path = shared / "data" / "dev" / "spreadsheetbench_tasks.jsonl"
    recorded = {str(row["id"]) for row in read_jsonl(path) if row["_has_trajectory"]}
    tasks = [
        task for task in load_spreadsheetbench(path)
        if task.id not in recorded and "known_bad" not in task.meta
    ]  # fmt: skip
    return sorted(tasks, key=lambda task: digest(["baseline", task.id]))


def ledger() -> list[Task]:
    """Test tasks of ledger as they stand: kinds and difficulties take turns. Paths are absolute."""
    suite = load_suite("ledger", "test")
    return [
        task.model_copy(
            update={
                "files": {name: str(suite.base / path) for name, path in task.files.items()},
                "answer": str(suite.base / str(task.answer)),
            }
        )
        for task in suite.tasks
    ]


def attempted(suite: Path, task: Task, cell: str, work: Path, base_url: str | None) -> Any:
    """One attempt at a task, as a row of the journal."""
    model, agent, _ = cell.split("/")
    local = f"local/qwen2.5-coder-{model}"
    settings = EvalSettings(
        suite=str(suite),
        sample=task.id,
        agent=f"graph:{agent}",
        trust=True,  # the tasks name workbooks of other folders
        models=(f"openai/{local.partition('/')[2]}" if base_url else local,),
        base_url=base_url,
        seed=PROTOCOL["seed"],
        concurrency=1,
    )
    run = work / cell.replace("/", "-") / digest(task.id)[:12]
    run_evaluation(settings.model_copy(update=out_or_resume(run)))
    reader = RunReader(run)
    item, trajectory = list(reader.items())[-1], list(reader.trajectories())[-1]
    ending = {"pass": "passed", "invalid": "invalid"}.get(item["outcome"], "wrong values")
    if item["reason"].startswith("there is no output file"):
        ending = "no output file"
    return {
        "outcome": item["outcome"],
        "ending": ending,
        "reason": item["reason"][:200],
        "turns": trajectory["extra"]["harness"]["turns"],
        "stratum": item["stratum"],
        **{key: item["usage"][key] for key in ("prompt_tokens", "completion_tokens", "seconds")},
    }


def summary(cell: str, rows: dict[str, Any]) -> dict[str, Any]:
    """A cell as far as it has come. Invalid attempts count as not passed in `pass_rate`."""
    model, agent, suite = cell.split("/")
    count, outcomes = len(rows), Counter(row["outcome"] for row in rows.values())

    def mean(key: str) -> float:
        return round(sum(row[key] for row in rows.values()) / count, 1)

    return {
        "model": f"qwen2.5-coder-{model}",
        "agent": f"graph:{agent}",
        "suite": suite,
        "tasks": count,
        "passed": outcomes["pass"],
        "invalid": outcomes["invalid"],
        "pass_rate": round(outcomes["pass"] / count, 3),
        "ci95": share_interval(outcomes["pass"], count),
        "mean": {
            key: mean(key) for key in ("prompt_tokens", "completion_tokens", "seconds", "turns")
        },
        "endings": dict(Counter(row["ending"] for row in rows.values()).most_common()),
        "turns": dict(sorted(Counter(str(row["turns"]) for row in rows.values()).items())),
    }


def difference(cell: str, journal: Journal) -> dict[str, Any] | None:
    """`graph:program` minus ReAct over the tasks that both have attempted; None without any."""
    rates = {
        agent: {
            key.rpartition("/")[2]: float(row["outcome"] == "pass")
            for key, row in journal.rows.items()
            if key.startswith(f"{cell.replace('/program/', f'/{agent}/')}/")
        }
        for agent in TURNS
    }
    paired = compare_rates(rates["react"], rates["program"])
    fields = {"tasks", "before", "after", "difference", "ci95", "p"}
    return paired.model_dump(mode="json", include=fields) if paired.tasks else None


@benchmark(
    cell=option(nargs="*", default=CELLS, choices=CELLS),
    limit=TASKS,
    minutes=1e9,
    work=Path("runs/baseline"),
    shared=Path("../shared"),
    base_url=option(),
    out=assets.root() / RESULT,
)
def main(options: Options) -> None:
    """Measure, keep, print."""
    ends = time.monotonic() + 60 * options.minutes
    work = options.work.absolute()
    journal = Journal(work / "journal.jsonl")
    for cell in options.cell:
        name = cell.rpartition("/")[2]
        drawn = ledger() if name == "ledger" else spreadsheetbench(options.shared.resolve())
        tasks = drawn[: min(options.limit, TASKS)]
        turns = TURNS[cell.split("/")[1]]
        suite = write_suite(
            work / cell.replace("/", "-"),
            [task.model_dump(mode="json") for task in tasks],
            f"sampling: {{temperature: {PROTOCOL['temperature']}, "
            f"max_tokens: {PROTOCOL['max_tokens']}}}",
            f"max_turns: {turns}",
            f"protocol: {PROTOCOL['react_protocol']}",
        )
        for task in tasks:
            if time.monotonic() < ends:
                attempt = partial(attempted, suite, task, cell, work, options.base_url)
                journal.result(f"{cell}/{task.id}", attempt)
        keys = (f"{cell}/{task.id}" for task in tasks)
        rows = {key: journal.rows[key] for key in keys if key in journal.rows}
        if not rows:
            continue
        run = summary(cell, rows)
        if "/program/" in cell and (paired := difference(cell, journal)) is not None:
            run["minus_react"] = paired
        command = "python -m benchmarks.agents.baseline"
        add_run(run, options.out, "model", "agent", "suite", command=command, protocol=PROTOCOL)
