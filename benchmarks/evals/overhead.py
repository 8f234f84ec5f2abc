"""CPU time of an eval sample: ours, a bare script's, a user's, inspect_ai's; the same three steps.

    python -m benchmarks.evals.overhead --inspect PYTHON --samples 200 1600 --rounds 5

An agent that reads two files of a skill with a tool and then answers, against a mock endpoint in a
process of its own. The bare script is LangGraph and the `openai` client without cache, trajectories
or records; ours is `harness eval` with all of them; `graph` and `function` are `harness eval` with
the bare script's graph as a file of a user's own; inspect_ai (with its cache on) runs in an
environment of its own. In turn, several rounds; CPU time per sample, of the client's process and
all that it has started, is the slope between a short and a long run, so that nothing that is done
once counts. Medians over rounds.
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.endpoints import endpoint
from benchmarks.reports import (
    Options,
    Result,
    benchmark,
    in_fresh_process,
    option,
    peak_mb,
    peer,
    write_suite,
)

HERE = Path(__file__).parent
AGENTS = {
    "ours": "graph:react",
    "graph": f"graph:{HERE}/overhead_own.py:graph",
    "function": f"py:{HERE}/overhead_own.py:answer",
}


def skill_in(folder: Path) -> Path:
    """A skill with two files to read."""
    skill = folder / "two-files"
    (skill / "references").mkdir(parents=True)
    head = '---\nname: "two-files"\ndescription: "Read both files."\n---\n'
    text = "See references/one.md and references/two.md.\n"
    (skill / "SKILL.md").write_text(head + text)
    for name in ("one", "two"):
        (skill / "references" / f"{name}.md").write_text(f"The {name} file. " * 20)
    return skill


def questions(first: int, count: int) -> list[dict[str, str]]:
    """Tasks whose right answer is 4."""
    numbers = range(first, first + count)
    return [{"id": f"t{n}", "prompt": f"What is 2 + 2? ({n})", "answer": "4"} for n in numbers]


def ours(
    agent: str, url: str, skill: str, samples: int, concurrency: int, folder: str
) -> dict[str, Any]:
    """Run `harness eval` in this process."""
    from harness.api import EvalSettings, run_evaluation

    def evaluate(name: str, first: int, count: int) -> int:
        work = Path(folder, name)
        suite = write_suite(work / "suite", questions(first, count), "tools: [read_skill_file]")
        settings = EvalSettings(
            suite=str(suite), agent=agent, skill=Path(skill), out=work / "run",
            models=("openai/mock",), base_url=url, sandbox="none", concurrency=concurrency,
        )  # fmt: skip
        return run_evaluation(settings)[0].passed

    evaluate("first", 10**6, concurrency)
    wall = time.perf_counter()
    passed = evaluate("all", 0, samples)
    return {
        "samples": samples,
        "passed": passed,
        "wall": time.perf_counter() - wall,
        "peak MB": peak_mb(),
    }


def processor_s() -> float:
    """Processor time of the processes that this one has started and that have ended, seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@benchmark(
    samples=[200, 1600],
    rounds=5,
    concurrency=16,
    inspect=option(type=Path, help="python with inspect_ai"),
    out=Path("evals/results/eval_overhead.json"),
)
def main(options: Options) -> Result:
    """Measure in turn, print and write the report."""
    arms: dict[str, Callable[..., dict[str, Any]]] = {
        "bare": partial(peer, sys.executable, HERE / "overhead_bare.py"),
        **{arm: partial(in_fresh_process, ours, agent) for arm, agent in AGENTS.items()},
    }
    if options.inspect:
        arms["inspect_ai"] = partial(peer, options.inspect, HERE / "overhead_inspect.py")
    rounds: dict[str, list[dict[str, Any]]] = {arm: [] for arm in arms}
    os.environ.update(OPENAI_API_KEY="none", LANGSMITH_TRACING="false")
    with endpoint() as url:
        for _ in range(options.rounds):
            for arm, run in arms.items():
                pair: list[dict[str, Any]] = []
                for samples in options.samples:
                    with tempfile.TemporaryDirectory() as folder:
                        skill, work = str(skill_in(Path(folder))), f"{folder}/work"
                        before, os.environ["OVERHEAD_SKILL"] = processor_s(), skill
                        pair.append(run(url, skill, samples, options.concurrency, work))
                        pair[-1]["cpu"] = processor_s() - before
                    assert pair[-1]["passed"] == samples, (arm, pair[-1])
                few, many = pair
                slope = (many["cpu"] - few["cpu"]) / (many["samples"] - few["samples"])
                rounds[arm].append({**many, "cpu each": slope})
                print(f"{arm}: {1000 * slope:.2f} ms a sample", file=sys.stderr, flush=True)
    median = {
        arm: statistics.median(figures["cpu each"] for figures in rows)
        for arm, rows in rounds.items()
    }
    return {
            "samples": options.samples, "rounds": options.rounds,
            "concurrency": options.concurrency,
            "CPU ms a sample": {arm: round(1000 * value, 2) for arm, value in median.items()},
            "of the bare script, median of rounds": {
                arm: round(statistics.median(
                    row["cpu each"] / bare["cpu each"]
                    for row, bare in zip(rows, rounds["bare"], strict=True)
                ), 2)
                for arm, rows in rounds.items()
            },
            "CPU ms a sample, each round": {
                arm: [round(1000 * figures["cpu each"], 2) for figures in rows]
                for arm, rows in rounds.items()
            },
            "samples/s": {
                arm: round(statistics.median(row["samples"] / row["wall"] for row in rows), 1)
                for arm, rows in rounds.items()
            },
            "CPU ms beside the bare script": {
                arm: round(1000 * (value - median["bare"]), 1) for arm, value in median.items()
            },
            "peak MB of ours": round(max(figures["peak MB"] for figures in rounds["ours"])),
        }  # fmt: skip
