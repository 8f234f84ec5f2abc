"""The programming interface: typed, with the command line's defaults.

>>> from harness.api import evaluate
>>> report = evaluate("demo", model="simulated/lookup", limit=4, sandbox="none")  # doctest: +SKIP
>>> report.items  # doctest: +SKIP
4
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.plugins import load, plugins

if TYPE_CHECKING:
    from harness.evals import (
        EvalReport,
        EvalSettings,
        RunComparison,
        compare_runs,
        plan_evaluation,
        run_evaluation,
    )
    from harness.evolve import EvolveResult, EvolveSettings
    from harness.rag.api import Answer as Answer
    from harness.rag.api import AskSettings as AskSettings
    from harness.rag.api import Compressed as Compressed
    from harness.rag.api import Report as Report
    from harness.rag.api import ask as ask
    from harness.rag.api import check as check
    from harness.rag.api import compress as compress

__all__ = [
    "EvalReport",
    "EvalSettings",
    "EvolveResult",
    "EvolveSettings",
    "RunComparison",
    "compare_runs",
    "evaluate",
    "evolve",
    "plan_evaluation",
    "run_evaluation",
]


_EVOLVE = ("EvolveResult", "EvolveSettings")
"""Names of `harness.evolve`; all others are of `harness.evals`, or of wings (not in `__all__`,
since a wing may be deleted)."""


def __getattr__(name: str) -> Any:
    """Members of rooms, and functions of wings (`harness.api`), loaded when first asked for."""
    if name in plugins("api"):
        return load("api", name)
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = "harness.evolve" if name in _EVOLVE else "harness.evals"
    return getattr(import_module(room), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *plugins("api")})


def evaluate(suite: str, *, model: str | None = None, **settings: object) -> EvalReport:
    """Run an agent over a suite and score it, as `harness eval` does.

    Args:
        suite: path or name of a suite.
        model: model spec; default the embedded model.
        settings: further fields of :class:`EvalSettings`.

    Raises:
        HarnessError: as the command line does, with the exit code as an attribute.
    """
    from harness.evals import EvalSettings, run_evaluation

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
    from harness.evolve import EvolveSettings, run_evolution

    fields = {"out": out, "models": (model,) if model else (), **settings}
    return run_evolution(EvolveSettings.model_validate(fields))
