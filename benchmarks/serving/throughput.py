"""Throughput of an eval run against vLLM's own benchmark on the same prompts and server.

    harness models serve FOLDER --name small --port 8765      # VLLM_SERVER_DEV_MODE=1 around it
    python -m benchmarks.serving.throughput --url http://127.0.0.1:8765/v1 --name small \\
        --tokenizer FOLDER --python $HARNESS_VLLM_PYTHON --rollouts 128 --rounds 2

An arm is `harness eval` (the react graph, a preloaded skill, every answer of the same length,
with cache and trajectories), the other is `vllm bench serve` with the requests that
the first recorded. They take turns, each on an empty prefix cache (`/reset_prefix_cache` of a
server in development mode). Wall time of an arm is from its first request to its last result;
start-up of either program does not count.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from benchmarks.reports import (
    Options,
    benchmark,
    in_fresh_process,
    option,
    peer,
    report,
    write_suite,
)

HERE = Path(__file__).parent
SKILL = HERE.parents[1] / "skills" / "short-answers"
CITIES = ("Aldermere", "Brackwater", "Corvane", "Dunholm", "Eastry", "Fenmarch", "Galt", "Hythe")
GOODS = ("chairs", "lamps", "crates", "ladders", "barrels", "looms", "kettles", "ropes")


def tasks(count: int) -> list[dict[str, str]]:
    """Delivery notes with a question each."""
    rows: list[dict[str, str]] = []
    for number in range(count):
        lines = [
            f"{10 + (number * 7 + line * 3) % 80} {GOODS[(number + line) % 8]} go to "
            f"{CITIES[(number * 5 + line) % 8]} on day {1 + (number + line) % 28}."
            for line in range(3)
        ]
        kind = number % 3
        rows.append(
            {
                "id": f"note-{number}",
                "prompt": f"Delivery note {number}. {' '.join(lines)}\n\nQuestion: To which city "
                f"do the {GOODS[(number + kind) % 8]} go?",
                "answer": CITIES[(number * 5 + kind) % 8],
            }
        )
    return rows


def evaluated(
    out: str, url: str, name: str, rollouts: int, tokens: int, concurrency: int
) -> dict[str, Any]:
    """One eval run in this process; the requests are left in `out/bodies.json`."""
    from harness.api import EvalSettings, run_evaluation
    from harness.models import CallStore

    folder = Path(tempfile.mkdtemp(dir=out))
    sampling = f"{{temperature: 0, max_tokens: {tokens}, extra: {{ignore_eos: true}}}}"
    lines = ("tools: []", "max_turns: 1", f"sampling: {sampling}")
    suite = write_suite(folder, tasks(rollouts), *lines)
    settings = EvalSettings(
        suite=str(suite), agent="graph:react", skill=SKILL, out=folder / "run",
        models=(f"vllm/{name}",), base_url=url, concurrency=concurrency,
        sandbox="none",
    )  # fmt: skip
    cpu = time.process_time()
    final_report = run_evaluation(settings)[0]
    ended, cpu = time.time(), time.process_time() - cpu
    with contextlib.closing(sqlite3.connect(folder / "run" / "calls.sqlite")) as db:
        seconds = ended - float(db.execute("SELECT min(sent_at) FROM calls").fetchone()[0])
    with CallStore(folder / "run" / "calls.sqlite") as calls:
        answered = calls.answered()
        usage = calls.usage()
    Path(out, "bodies.json").write_text(json.dumps([call.body for call in answered]))
    return {
        "duration": seconds, "completed": len(answered), "items": final_report.items,
        "client CPU s": round(cpu, 2), "total_input_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens, "total_output_tokens": usage.completion_tokens,
    }  # fmt: skip


def one_round(arm: str, bodies: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One round of an arm in a process of its own, on an empty prefix cache."""
    from harness.engines.vllm import find_profile, read_figures

    root = options.url.removesuffix("/v1")
    httpx.post(f"{root}/reset_prefix_cache", timeout=60).raise_for_status()
    before = read_figures(options.url)
    spent = _cpu_s(options.group) if options.group else 0.0
    template = find_profile(options.tokenizer, options.profile).chat_template
    figures: dict[str, Any] = (
        in_fresh_process(
            evaluated, str(bodies.parent), options.url, options.name, options.rollouts,
            options.tokens, options.concurrency,
        )
        if arm == "harness eval"
        else peer(options.python, HERE / "vllm_bench.py", bodies, options.tokenizer, template,
                  root, options.name, options.concurrency)
    )  # fmt: skip
    rate = (read_figures(options.url) - before).hit_rate
    if options.group:
        figures["server CPU s"] = round(_cpu_s(options.group) - spent, 1)
    assert figures["completed"] == options.rollouts, (arm, figures)
    figures |= {"arm": arm, "prefix cache hit rate": rate and round(rate, 4)}
    print(json.dumps(figures), file=sys.stderr, flush=True)
    return figures


def _cpu_s(group: int) -> float:
    """CPU time of the processes of a group that live, seconds."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12]) if int(fields[2]) == group else 0
    return ticks / os.sysconf("SC_CLK_TCK")


@benchmark(
    url="http://127.0.0.1:8765/v1",
    name=option(required=True, help="of the model"),
    tokenizer=option(required=True, help="folder of the model"),
    profile="smollm2",
    python=option(type=Path, default=os.environ.get("HARNESS_VLLM_PYTHON")),
    rollouts=128,
    tokens=option(type=int, default=32, help="of every answer"),
    concurrency=16,
    rounds=3,
    group=option(type=int, help="process group of a server on this machine"),
    device=option(default="CPU", help="what the server runs on, for the report"),
    out=Path("evals/results/serving.json"),
)
def main(options: Options) -> None:
    """Measure in turn, print and write the report."""
    rounds: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            arms = ("harness eval", "vllm bench serve")
            rounds += [one_round(arm, Path(folder) / "bodies.json", options) for arm in arms]
            seconds = {  # after every round, so that what was measured is kept
                arm: [figures["duration"] for figures in rounds if figures["arm"] == arm]
                for arm in arms
            }
            middle = {arm: statistics.median(values) for arm, values in seconds.items()}
            report(
                {
                    "device": options.device, "rollouts": options.rollouts,
                    "tokens an answer": options.tokens, "concurrency": options.concurrency,
                    "rollouts a second": {
                        arm: round(options.rollouts / value, 3) for arm, value in middle.items()
                    },
                    "harness of vllm": round(
                        middle["vllm bench serve"] / middle["harness eval"], 3
                    ),
                    "by round": [
                        round(bench / served, 3)
                        for served, bench in zip(*seconds.values(), strict=True)
                    ],
                    "rounds": rounds,
                },
                options.out,
            )  # fmt: skip
