"""CPU time of an eval sample: ours, a bare script, and inspect_ai, on the same three-step task.

    python -m benchmarks.evals.overhead --inspect PYTHON --samples 300 --rounds 5

An agent that reads two files of a skill with a tool and then answers, against a mock endpoint in a
process of its own. The bare script is LangGraph and the `openai` client without cache, trajectories
or records; ours is `harness eval` with all of them; inspect_ai (with its cache on) runs in an
environment of its own. In turn, several rounds, medians of seconds of CPU time of the client's
process per sample; start-up and the first samples do not count.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.reports import option, read_options, report

HERE = Path(__file__).parent


@contextmanager
def endpoint() -> Generator[str]:
    """The mock endpoint's base URL."""
    command = [sys.executable, str(HERE / "overhead_server.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        finally:
            server.kill()


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


def ours(url: str, skill: Path, samples: int, concurrency: int, folder: Path) -> dict[str, Any]:
    """Run `harness eval` in this process."""
    from harness.api import EvalSettings, run_evaluation

    def settings(name: str, first: int, count: int) -> EvalSettings:
        rows = [
            {"id": f"t{n}", "prompt": f"What is 2 + 2? ({n})", "answer": "4"}
            for n in range(first, first + count)
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        suite = folder / f"{name}.yaml"
        suite.write_text(f"name: {name}\ntasks: {name}.jsonl\ntools: [read_skill_file]\n")
        return EvalSettings(
            suite=str(suite), agent="graph:react", skill=skill, out=folder / f"run-{name}",
            models=("openai/mock",), base_url=url, concurrency=concurrency, sandbox="none",
        )  # fmt: skip

    run_evaluation(settings("first", 10**6, concurrency))
    begun, wall = time.process_time(), time.perf_counter()
    final_report = run_evaluation(settings("all", 0, samples))[0]
    cpu, wall = time.process_time() - begun, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "samples": samples,
        "passed": final_report.passed,
        "cpu": cpu,
        "wall": wall,
        "peak MB": peak,
    }


def once(arm: str, url: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One round of an arm, in a process of its own."""
    skill = skill_in(folder)
    numbers = [str(options.samples), str(options.concurrency)]
    commands = {
        "bare": [sys.executable, str(HERE / "overhead_bare.py"), url, str(skill), *numbers],
        "ours": [sys.executable, "-m", "benchmarks.evals.overhead", "--one", url, str(skill),
                 *numbers, str(folder)],
        "inspect_ai": [str(options.inspect), str(HERE / "overhead_inspect.py"), url,
                       str(skill), *numbers, str(folder / "logs")],
    }  # fmt: skip
    environment = {**os.environ, "OPENAI_API_KEY": "none", "LANGSMITH_TRACING": "false"}
    process = subprocess.run(
        commands[arm], capture_output=True, text=True, env=environment, check=False
    )
    if process.returncode:
        raise SystemExit(f"{arm} failed:\n{process.stderr[-2000:]}")
    figures: dict[str, Any] = json.loads(process.stdout.strip().splitlines()[-1])
    assert figures["passed"] == figures["samples"], (arm, figures)
    return figures


def main() -> None:
    """Measure in turn, print and write the report."""
    options = read_options(
        __doc__,
        samples=300,
        rounds=5,
        concurrency=16,
        inspect=option(type=Path, help="python with inspect_ai"),
        one=option(nargs=5, metavar=("URL", "SKILL", "SAMPLES", "SLOTS", "FOLDER")),
        out=Path("evals/results/eval_overhead.json"),
    )
    if options.one:
        url, skill, samples, slots, folder = options.one
        os.environ.setdefault("OPENAI_API_KEY", "none")
        figures = ours(url, Path(skill), int(samples), int(slots), Path(folder))
        print(json.dumps(figures))
        return
    arms = ["bare", "ours", *(["inspect_ai"] if options.inspect else [])]
    rounds: dict[str, list[dict[str, Any]]] = {arm: [] for arm in arms}
    with endpoint() as url:
        for _ in range(options.rounds):
            for arm in arms:
                with tempfile.TemporaryDirectory() as folder:
                    rounds[arm].append(once(arm, url, Path(folder), options))
    median = {
        arm: statistics.median(figures["cpu"] / figures["samples"] for figures in rows)
        for arm, rows in rounds.items()
    }
    report(
        {
            "samples": options.samples, "rounds": options.rounds,
            "concurrency": options.concurrency,
            "CPU ms a sample": {arm: round(1000 * value, 2) for arm, value in median.items()},
            "of the bare script": {
                arm: round(value / median["bare"], 2) for arm, value in median.items()
            },
            "CPU ms a sample, each round": {
                arm: [round(1000 * figures["cpu"] / figures["samples"], 2) for figures in rows]
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
