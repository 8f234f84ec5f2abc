"""Speed and memory of a long eval run, at its end beside its beginning, and of its resume.

    python -m benchmarks.evals.flatness --samples 100000 --piece 10000

One run of `harness eval` in one process against the mock endpoint of overhead.py, one call a
sample, with cache, trajectories and records: CPU time a sample and memory after every piece of the
run. Then `harness eval --resume` of the finished run: CPU time and memory of that command.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.endpoints import endpoint
from benchmarks.evals.overhead import questions, skill_in
from benchmarks.reports import Options, Result, benchmark, peak_mb, peer, write_suite
from harness.api import EvalSettings, run_evaluation
from harness.evals import Tally

MEASURED = """
import json, sys, time
from harness.cli.program import main
try:
    main()
finally:
    peak_kb = open("/proc/self/status").read().split("VmHWM:")[1].split()[0]
    print(json.dumps({"CPU s": round(time.process_time(), 2), "MB": int(peak_kb) // 1024}))
"""


@benchmark(
    samples=100_000, piece=10_000, concurrency=16, out=Path("evals/results/eval_flatness.json")
)
def main(options: Options) -> Result:
    """Run and resume."""
    os.environ.update(OPENAI_API_KEY="none", LANGSMITH_TRACING="false")
    pieces: list[dict[str, float]] = []
    last = time.process_time(), time.perf_counter()

    def note_piece(_: str, tally: Tally) -> None:
        nonlocal last
        if tally.done < options.piece * (len(pieces) + 1):
            return
        now = time.process_time(), time.perf_counter()
        cpu, wall = (after - before for after, before in zip(now, last, strict=True))
        last = now
        pieces.append({
            "samples": tally.done, "CPU ms a sample": round(1000 * cpu / options.piece, 2),
            "samples/s": round(options.piece / wall, 1),
            "peak MB": round(peak_mb()),
        })  # fmt: skip

    with endpoint() as url, tempfile.TemporaryDirectory() as name:
        run, skill = Path(name, "run"), skill_in(Path(name))
        suite = write_suite(Path(name), questions(0, options.samples), "tools: []")
        settings = EvalSettings(
            suite=str(suite), agent="graph:react", skill=skill, out=run, models=("openai/mock",),
            base_url=url, concurrency=options.concurrency, sandbox="none",
        )  # fmt: skip
        (report,) = run_evaluation(settings, on_progress=note_piece)
        assert report.passed == options.samples, report
        resume = peer(
            sys.executable, "-c", MEASURED, "eval", suite, "--resume", run, "--skill", skill,
            "--agent", "graph:react", "--model", "openai/mock", "--base-url", url,
            "--sandbox", "none",
        )  # fmt: skip
    return {"samples": options.samples, "pieces": pieces, "resume": resume}
