"""Start-up time of the command line, beside the interpreter's own.

Run: python -m benchmarks.startup [--json]

Prints medians over interleaved repeats: `python -c pass`, `harness --help`,
`import langgraph.graph`, and the first event of a live sample with the simulated model.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial

from benchmarks.reports import Options, benchmark, in_turn

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "harness --help": [sys.executable, "-m", "harness", "--help"],
    "import langgraph.graph": [sys.executable, "-c", "import langgraph.graph"],
}
EVENT = "first event of a live sample (simulated)"
FIRST_EVENT = [
    sys.executable, "-m", "harness", "eval", "demo", "--sample", "almanac-test-000",
    "--model", "simulated/lookup", "--sandbox", "none",
]  # fmt: skip
REPEATS = 9


def first_event_seconds() -> float:
    """Seconds until a live sample with the simulator shows its first event."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        process = subprocess.Popen(
            FIRST_EVENT, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        event = next((line for line in process.stderr if " reply: " in line), None)
        elapsed = time.perf_counter() - started  # notes may stand before the event
        process.communicate()
        if event is None:
            raise SystemExit("expected an event, got none")
        return elapsed


@benchmark(json=False)
def main(options: Options) -> None:
    """Measure and print."""
    arms = {
        name: partial(subprocess.run, command, check=True, capture_output=True)
        for name, command in COMMANDS.items()
    }
    times = in_turn(arms, REPEATS, time.perf_counter, warm=0)
    times[EVENT] = [first_event_seconds() for _ in range(REPEATS)]
    medians = {name: statistics.median(values) for name, values in times.items()}
    if options.json:
        print(json.dumps(medians))
        return
    print(f"| command | median of {REPEATS}, s |\n|---|---|")
    for name, value in medians.items():
        print(f"| `{name}` | {value:.3f} |")
