"""Start-up time of the command line, beside the interpreter's own.

Run: python benchmarks/startup.py [--json]
Prints medians over interleaved repeats: `python -c pass`, `harness --help`,
`import langgraph.graph`.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "harness --help": [sys.executable, "-m", "harness", "--help"],
    "import langgraph.graph": [sys.executable, "-c", "import langgraph.graph"],
}
REPEATS = 9


def seconds(command: list[str]) -> float:
    """Wall-clock seconds of one run."""
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def main() -> None:
    """Measure and print."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(REPEATS):
        for name, command in COMMANDS.items():
            times[name].append(seconds(command))
    medians = {name: statistics.median(values) for name, values in times.items()}
    if "--json" in sys.argv:
        print(json.dumps(medians))
        return
    print(f"| command | median of {REPEATS}, s |\n|---|---|")
    for name, value in medians.items():
        print(f"| `{name}` | {value:.3f} |")


if __name__ == "__main__":
    main()
