"""Discovery of our own skills: the embedded model and a lexical client on written queries.

    python -m benchmarks.receipts.trigger [--only NAME] [--runs FOLDER]

Each arm is a run of `harness skill trigger skills --queries evals/trigger/queries.yaml`. The
simulated librarian opens the skill whose description shares most words with the query (two or
more): a baseline without any understanding, SIMULATED. The queries were written by us before any
model was asked them; the worked examples in the prompt of `choose` were chosen on drafted queries
and controls, not on these. Arms that the result has already are not run again, and a run that was
stopped is gone on with.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.reports import Options, benchmark, earlier_report, option, out_or_resume, report
from harness.receipts.trigger import TriggerSettings, run_trigger

ARMS: dict[str, dict[str, Any]] = {
    "embedded": {"models": ("local/smollm2-135m",), "agent": "choose"},
    "lexical": {"models": ("simulated/librarian",)},
    "lexical, drafted queries": {"models": ("simulated/librarian",), "queries": None},
}


@benchmark(
    only=option(choices=list(ARMS)),
    runs=Path("runs/trigger"),
    out=Path("evals/results/trigger.json"),
)
def main(options: Options) -> None:
    result: dict[str, Any] = earlier_report(options.out)
    for name, fields in ARMS.items():
        if name in result or options.only not in (None, name):
            continue
        run = options.runs / name.replace(", ", "-").replace(" ", "-")
        shared: dict[str, Any] = {
            "skill": Path("skills"),
            "queries": Path("evals/trigger/queries.yaml"),
            **out_or_resume(run),
        }
        figures = run_trigger(TriggerSettings(**shared | fields, concurrency=2))
        result["command"] = "python -m benchmarks.receipts.trigger"
        result[name] = figures.model_dump(mode="json")
        report(result, options.out)
    for name in ARMS.keys() & result.keys():
        for skill in result[name]["skills"]:
            control, recall = skill["control"], skill["recall"]
            print(name, skill["skill"], "control", control["hits"], "of", control["n"],
                  "recall", recall["hits"], "of", recall["n"],
                  "valid" if skill["valid"] else "INVALID")  # fmt: skip
