"""Speed and memory of a long eval run, at its end beside its beginning.

    python -m benchmarks.evals.flatness --calls 1 --samples 100000 --piece 10000

One run of `harness eval` in one process against the mock endpoint of eval_overhead.py, with cache,
trajectories and records. CPU time a sample, memory and file sizes after every piece of the run;
what was measured is written after every piece, so that a run that is cut short says how far it got.
Samples of one call (`--calls 1`) or of three with two tool calls (`--calls 3`).
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.endpoints import endpoint
from benchmarks.evals.overhead import questions, skill_in
from benchmarks.reports import Options, benchmark, earlier_report, option, report, write_suite


def resident_mb() -> float:
    """Memory of this process now, MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class Pieces:
    """Figures after every so many samples."""

    def __init__(self, piece: int, out: Path, about: dict[str, Any]) -> None:
        self._piece, self._out, self._about = piece, out, about
        self._cpu, self._wall = time.process_time(), time.perf_counter()
        self._rows: list[dict[str, float]] = []

    def saw(self, finished: int) -> None:
        """So many are finished."""
        if finished % self._piece:
            return
        cpu, wall = time.process_time(), time.perf_counter()
        self._rows.append(
            {
                "samples": finished,
                "CPU ms a sample": round(1000 * (cpu - self._cpu) / self._piece, 2),
                "samples/s": round(self._piece / (wall - self._wall), 1),
                "MB": round(resident_mb()),
            }
        )
        self._cpu, self._wall = cpu, wall
        key = f"{self._about['calls a sample']} calls a sample"
        pieces = {**self._about, "pieces": self._rows}
        report({**earlier_report(self._out), key: pieces}, self._out)


@benchmark(
    calls=option(type=int, choices=(1, 3), default=1),
    samples=100_000,
    piece=10_000,
    concurrency=16,
    out=Path("evals/results/eval_flatness.json"),
)
def main(options: Options) -> None:
    """Run and write the report."""
    os.environ.setdefault("OPENAI_API_KEY", "none")
    os.environ["LANGSMITH_TRACING"] = "false"
    from harness.api import EvalSettings, run_evaluation

    about = {"calls a sample": options.calls, "planned": options.samples}
    with endpoint() as url, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tools = "[read_skill_file]" if options.calls == 3 else "[]"
        suite = write_suite(folder, questions(0, options.samples), f"tools: {tools}")
        settings = EvalSettings(
            suite=str(suite), agent="graph:react",
            skill=skill_in(folder), out=folder / "run", models=("openai/mock",), base_url=url,
            concurrency=options.concurrency, sandbox="none",
        )  # fmt: skip
        pieces = Pieces(options.piece, options.out, about)
        (final_report,) = run_evaluation(
            settings, on_progress=lambda _, tally: pieces.saw(tally.done)
        )
        assert final_report.passed == options.samples, final_report
