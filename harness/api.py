"""The programming interface: typed, with the command line's defaults.

>>> from harness.api import evaluate
>>> report = evaluate("demo", model="simulated/lookup", limit=4, sandbox="none")  # doctest: +SKIP
>>> report.items  # doctest: +SKIP
4
"""

from __future__ import annotations

from pathlib import Path

from harness.agents.asking import Answer, AskSettings
from harness.agents.asking import ask as run_ask
from harness.agents.verdicts import passage_checker
from harness.check import Report, check
from harness.compress import Compressed, compress
from harness.evals.compare import RunComparison, compare_runs
from harness.evals.dryrun import plan_evaluation
from harness.evals.session import EvalSettings, run_evaluation
from harness.evals.types import EvalReport
from harness.evolve import EvolveResult, EvolveSettings, run_evolution

__all__ = [
    "Answer",
    "AskSettings",
    "Compressed",
    "EvalReport",
    "EvalSettings",
    "EvolveResult",
    "EvolveSettings",
    "Report",
    "RunComparison",
    "ask",
    "check",
    "compare_runs",
    "compress",
    "evaluate",
    "evolve",
    "plan_evaluation",
    "run_evaluation",
]


def ask(
    question: str,
    *paths: Path | str,
    index: Path | str | None = None,
    model: str | None = None,
    verifier: str = "rules",
    **settings: object,
) -> Answer:
    """Answer a question from files or an index with citations, as `harness ask` does.

    The checker's verdict on the answer stands in its `verdict`.

    Args:
        question: not empty.
        paths: files and folders to read; or
        index: folder of an index.
        model: model spec; default the embedded model.
        verifier: what gives the verdict without calling a model: "rules", "trained", "auto";
            "none" for no verdict.
        settings: further fields of :class:`AskSettings` (`context`, `budget`, `extract`, ...).

    Raises:
        HarnessError: as the command line does, with the exit code as an attribute.
    """
    fields = {"question": question, "paths": paths, "index": index, "model": model, **settings}
    return run_ask(AskSettings.model_validate(fields), checker=passage_checker(verifier))


def evaluate(suite: str, *, model: str | None = None, **settings: object) -> EvalReport:
    """Run an agent over a suite and score it, as `harness eval` does.

    Args:
        suite: path or name of a suite.
        model: model spec; default the embedded model.
        settings: further fields of :class:`EvalSettings`.

    Raises:
        HarnessError: as the command line does, with the exit code as an attribute.
    """
    fields = {"suite": suite, "models": (model,) if model else (), **settings}
    return run_evaluation(EvalSettings.model_validate(fields))[-1]


def evolve(out: Path | str, *, model: str | None = None, **settings: object) -> EvolveResult:
    """Distil one skill from trajectories and gate it, as `harness evolve` does.

    Args:
        out: folder for the skill and everything behind it.
        model: model spec for every role; default the embedded model.
        settings: further fields of :class:`EvolveSettings` (`suite` or `trajectories`, `create`
            or `skill`, `patches`, `analyst`, `merge`, `gate`, ...).

    Raises:
        HarnessError: as the command line does. A gate that refuses is a result, not an error.
    """
    fields = {"out": out, "models": (model,) if model else (), **settings}
    return run_evolution(EvolveSettings.model_validate(fields))
