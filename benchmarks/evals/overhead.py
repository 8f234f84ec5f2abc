"""CPU time of an eval sample: ours, a bare script, and inspect_ai, on the same three-step task.

    python -m benchmarks.evals.overhead --inspect PYTHON --samples 200 1600 --rounds 5

An agent that reads two files of a skill with a tool and then answers, against a mock endpoint in a
process of its own. The bare script is LangGraph and the `openai` client without cache, trajectories
or records; ours is `harness eval` with all of them; inspect_ai (with its cache on) runs in an
environment of its own. In turn, several rounds; CPU time of the client's process per sample is the
slope between a short and a long run, so that nothing that is done once counts. Medians over rounds.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.endpoints import endpoint
from benchmarks.reports import last_line, option, read_options, report, write_suite

HERE = Path(__file__).parent


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


def evaluate(folder: Path, first: int, count: int, url: str, skill: Path, **settings: Any) -> Any:
    """The report of one `harness eval` of so many questions in this process."""
    from harness.api import EvalSettings, run_evaluation

    os.environ.setdefault("OPENAI_API_KEY", "none")
    suite = write_suite(folder / "suite", questions(first, count), "tools: [read_skill_file]")
    options = EvalSettings(
        suite=str(suite), agent="graph:react", skill=skill, out=folder / "run",
        models=("openai/mock",), base_url=url, sandbox="none", **settings,
    )  # fmt: skip
    return run_evaluation(options)[0]


def ours(url: str, skill: Path, samples: int, concurrency: int, folder: Path) -> dict[str, Any]:
    """Run `harness eval` in this process."""
    evaluate(folder / "first", 10**6, concurrency, url, skill, concurrency=concurrency)
    begun, wall = time.process_time(), time.perf_counter()
    final_report = evaluate(folder / "all", 0, samples, url, skill, concurrency=concurrency)
    cpu, wall = time.process_time() - begun, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "samples": samples,
        "passed": final_report.passed,
        "cpu": cpu,
        "wall": wall,
        "peak MB": peak,
    }


def main() -> None:
    """Measure in turn, print and write the report."""
    options = read_options(
        __doc__,
        samples=[200, 1600],
        rounds=5,
        concurrency=16,
        inspect=option(type=Path, help="python with inspect_ai"),
        one=option(nargs=5, metavar=("URL", "SKILL", "SAMPLES", "SLOTS", "FOLDER")),
        out=Path("evals/results/eval_overhead.json"),
    )
    if options.one:
        url, skill, samples, slots, folder = options.one
        print(json.dumps(ours(url, Path(skill), int(samples), int(slots), Path(folder))))
        return
    commands = {
        "bare": [sys.executable, HERE / "overhead_bare.py"],
        "ours": [sys.executable, "-m", "benchmarks.evals.overhead", "--one"],
    }
    if options.inspect:
        commands["inspect_ai"] = [options.inspect, HERE / "overhead_inspect.py"]
    rounds: dict[str, list[dict[str, Any]]] = {arm: [] for arm in commands}
    environment = {**os.environ, "OPENAI_API_KEY": "none", "LANGSMITH_TRACING": "false"}
    with endpoint() as url:
        for _ in range(options.rounds):
            for arm, command in commands.items():
                pair: list[dict[str, Any]] = []
                for samples in options.samples:
                    with tempfile.TemporaryDirectory() as folder:
                        numbers = (samples, options.concurrency)
                        words = [*command, url, skill_in(Path(folder)), *numbers]
                        words += [] if arm == "bare" else [f"{folder}/work"]
                        pair.append(last_line(words, env=environment))
                    assert pair[-1]["passed"] == samples, (arm, pair[-1])
                few, many = pair
                slope = (many["cpu"] - few["cpu"]) / (many["samples"] - few["samples"])
                rounds[arm].append({**many, "cpu each": slope})
                print(f"{arm}: {1000 * slope:.2f} ms a sample", file=sys.stderr, flush=True)
    median = {
        arm: statistics.median(figures["cpu each"] for figures in rows)
        for arm, rows in rounds.items()
    }
    ratios = {
        arm: statistics.median(
            row["cpu each"] / bare["cpu each"]
            for row, bare in zip(rows, rounds["bare"], strict=True)
        )
        for arm, rows in rounds.items()
    }
    report(
        {
            "samples": options.samples, "rounds": options.rounds,
            "concurrency": options.concurrency,
            "CPU ms a sample": {arm: round(1000 * value, 2) for arm, value in median.items()},
            "of the bare script, median of rounds": {
                arm: round(value, 2) for arm, value in ratios.items()
            },
            "CPU ms a sample, each round": {
                arm: [round(1000 * figures["cpu each"], 2) for figures in rows]
                for arm, rows in rounds.items()
            },
            "samples/s": {
                arm: round(statistics.median(row["samples"] / row["wall"] for row in rows), 1)
                for arm, rows in rounds.items()
            },
            "peak MB of ours": round(max(figures["peak MB"] for figures in rounds["ours"])),
        },
        options.out,
    )  # fmt: skip


if __name__ == "__main__":
    main()
