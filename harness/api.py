"""The programming interface: typed, with the command line's defaults.

from harness.api import evaluate, evolve

report = evaluate("demo", model="local/smollm2-135m", limit=10)
print(report.score, report.ci95)
"""

from __future__ import annotations

from harness.evals.session import (
    EvalSettings,
    plan_evaluation,
    run_evaluation,
)
from harness.evals.types import EvalReport

__all__ = ["EvalReport", "EvalSettings", "evaluate", "plan_evaluation", "run_evaluation"]


def evaluate(suite: str, *, model: str | None = None, **settings: object) -> EvalReport:
    """Run an agent over a suite and score it.

    Args:
        suite: path or name of a suite.
        model: model spec; default the embedded model.
        settings: further fields of :class:`EvalSettings`.

    Raises:
        HarnessError: as the command line does, with the exit code as an attribute.
    """
    models = (model,) if model else ()
    return run_evaluation(
        EvalSettings.model_validate({"suite": suite, "models": models, **settings})
    )[-1]
