"""The powered comparison behind the demo: the same pipeline, more tasks.

Run: python -m benchmarks.evolution.demo_lift [--out DIR]

150 train tasks teach, 100 selection tasks gate, the best of eight random sets is chosen on 40
selection tasks, and every condition runs on the same 300 test tasks with the embedded model.
Nothing is chosen on the test split. The result without texts goes to
evals/results/demo_lift.json, and the table to standard output. Running it again with the same
--out goes on where it was.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from benchmarks.reports import option, read_options
from harness.cli import EventLines
from harness.core import assets, write_atomic
from harness.evolve.demo import DemoReport, DemoSizes, run_demo

SIZES = DemoSizes(train=150, gate=100, choose=40, sets=8, test=300, examples=6)
RESULT = "evals/results/demo_lift.json"
HEAD = "| condition | passed | 95 % interval | evolved skill minus this |\n|---|---|---|---|"


def table(report: DemoReport) -> str:
    """The arms as Markdown."""
    rows = [HEAD]
    for arm in report.arms:
        interval = f"{arm.ci95[0]:.1%} to {arm.ci95[1]:.1%}" if arm.ci95 else ""
        paired = arm.against
        against = ""
        if paired is not None and paired.difference is not None and paired.ci95 is not None:
            low, high = paired.ci95
            against = f"{paired.difference:+.1%} ({low:+.1%} to {high:+.1%}), p = {paired.p:.2g}"
        rows.append(f"| {arm.name} | {arm.passed}/{arm.valid} | {interval} | {against} |")
    return "\n".join(rows)


def main() -> None:
    """Measure, keep, print."""
    options = read_options(__doc__, out=option(type=Path))
    with tempfile.TemporaryDirectory() as folder:
        out = options.out or Path(folder)
        report = run_demo(out, model="local/smollm2-135m", sizes=SIZES, tell=EventLines())
    lists = {"fixed": True, "broken": True}
    dropped = {"arms": {"__all__": {"against": lists}}, "evolution": {"gate": lists}}
    result = report.model_dump(mode="json", exclude=dropped)
    # Where the skill lay on this machine is nobody's business.
    result["evolution"]["skill"] = Path(report.evolution.skill).name
    write_atomic(assets.root() / RESULT, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    print(table(report))


if __name__ == "__main__":
    main()
