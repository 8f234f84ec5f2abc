"""The programming interface: typed, with the command line's defaults.

Every function has a twin for running event loops, named with an `a` in front (`aevaluate`); the
plain ones work there as well, as in a notebook, and wait.

>>> from harness.api import evaluate
>>> report = evaluate("demo", model="simulated/lookup", limit=4, sandbox="none")  # doctest: +SKIP
>>> report.items, len(report.samples)  # doctest: +SKIP
(4, 4)
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from harness.core import BadInput
from harness.core.plugins import load, plugins

if TYPE_CHECKING:
    from harness.api.keywords import EvalKeywords, EvolveKeywords
    from harness.api.results import Comparison, Evaluation, Evolved
    from harness.api.work import Suite
    from harness.evals import EvalReport, EvalSettings, RunComparison, run_evaluation
    from harness.evals.report import Measure
    from harness.evolve import EvolveResult, EvolveSettings
    from harness.rag.api import Answer as Answer
    from harness.rag.api import AskSettings as AskSettings
    from harness.rag.api import Compressed as Compressed
    from harness.rag.api import Report as Report
    from harness.rag.api import aask as aask
    from harness.rag.api import acheck as acheck
    from harness.rag.api import acompress as acompress
    from harness.rag.api import ask as ask
    from harness.rag.api import check as check
    from harness.rag.api import compress as compress

__all__ = [
    "Comparison",
    "EvalReport",
    "EvalSettings",
    "Evaluation",
    "EvolveResult",
    "EvolveSettings",
    "Evolved",
    "RunComparison",
    "aevaluate",
    "aevolve",
    "compare_runs",
    "evaluate",
    "evolve",
    "plan_evaluation",
    "plan_evolution",
    "run_evaluation",
]


_ROOMS = {
    "EvolveResult": "harness.evolve",
    "EvolveSettings": "harness.evolve",
    "Comparison": "harness.api.results",
    "Evaluation": "harness.api.results",
    "Evolved": "harness.api.results",
}
"""Where names are from; all others are of `harness.evals`, or of wings (not in `__all__`, since a
wing may be deleted)."""
T = TypeVar("T")
Models = str | Sequence[str] | None
"""`[ROLE=]SPEC`, or several; default the embedded model."""


def __getattr__(name: str) -> Any:
    """Members of rooms, and functions of wings (`harness.api`), loaded when first asked for."""
    if name in plugins("api"):
        return load("api", name)
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_ROOMS.get(name, "harness.evals")), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *plugins("api")})


def evaluate(
    suite: Suite | None = None,
    *,
    tasks: Suite | None = None,
    agent: str | Callable[..., Any] | None = None,
    model: Models = None,
    progress: bool | None = None,
    **settings: Unpack[EvalKeywords],
) -> Evaluation:
    """Run an agent over a suite and score it, as `harness eval` does.

    Args:
        suite: path or name of a suite; or rows of a task file: mappings, a data frame of pandas.
            Names of columns and ids that are missing are those of a task file; the paths of files
            and checks start at the working folder, and a check may be a function of any of
            `answer`, `expected`, `prompt`, `task` and `workdir`, which is copied into the sandbox.
            Default with `resume`: that of the run.
        tasks: the same under another name.
        agent: spec, or a function of any of `prompt`, `workdir` and `skill` that returns the
            answer, sync or async. Each attempt calls a copy of it in a process of its own, whose
            `OPENAI_BASE_URL` leads to the model.
        model: spec, or several with roles; default the embedded model.
        progress: whether to draw a bar; default: in a notebook or a terminal.
        settings: further fields of :class:`EvalSettings`.

    Raises:
        HarnessError: as the command line does, with the exit code as an attribute.
    """
    return _wait(
        aevaluate(suite, tasks=tasks, agent=agent, model=model, progress=progress, **settings)
    )


async def aevaluate(
    suite: Suite | None = None,
    *,
    tasks: Suite | None = None,
    agent: str | Callable[..., Any] | None = None,
    model: Models = None,
    progress: bool | None = None,
    **settings: Unpack[EvalKeywords],
) -> Evaluation:
    """Run :func:`evaluate` where an event loop is running."""
    from harness.api.results import Evaluation
    from harness.api.work import bars, eval_settings, in_python, named, run_folder
    from harness.evals import EvalSettings, run_evaluation_async
    from harness.evals.resuming import started_with

    fields: dict[str, Any] = {**settings}
    resume = settings.get("resume")
    if suite is None and tasks is None and resume is not None:
        fields = {**started_with(Path(resume)), **settings}
        suite, models = fields["suite"], fields.pop("models")
        model = model or models
    fields["out"] = folder = run_folder(resume or settings.get("out"))
    with in_python(EvalSettings), bars(progress) as on_progress:
        checked, python_agent = eval_settings(
            named(suite, tasks), agent, _models(model), folder, fields
        )
        reports = await run_evaluation_async(checked, on_progress, agent=python_agent)
    return Evaluation.model_validate({**reports[-1].model_dump(), "folder": folder})


def plan_evaluation(
    suite: Suite | EvalSettings | None = None,
    *,
    tasks: Suite | None = None,
    agent: str | Callable[..., Any] | None = None,
    model: Models = None,
    **settings: Unpack[EvalKeywords],
) -> dict[str, Any]:
    """Return the plan and expected cost of :func:`evaluate` with these arguments; no model call.

    Args:
        suite: as there, or settings that hold all.
        tasks: as there.
        agent: as there.
        model: as there.
        settings: as there.

    Raises:
        BadInput: for what the run would refuse.
    """
    from tempfile import TemporaryDirectory

    from harness.api.work import eval_settings, in_python, named, plan_in_python
    from harness.evals import EvalSettings
    from harness.evals import plan_evaluation as plan

    if isinstance(suite, EvalSettings):
        return plan_in_python(plan(suite), EvalSettings)
    with in_python(EvalSettings), TemporaryDirectory() as folder:
        checked, python_agent = eval_settings(
            named(suite, tasks), agent, _models(model), Path(folder), settings
        )
        return plan_in_python(plan(checked, python_agent), EvalSettings)


def evolve(
    out: Path | str,
    *,
    suite: Suite | None = None,
    agent: str | Callable[..., Any] | None = None,
    model: Models = None,
    progress: bool | None = None,
    **settings: Unpack[EvolveKeywords],
) -> Evolved:
    """Distil one skill from trajectories and gate it, as `harness evolve` does.

    Args:
        out: folder for the skill and everything behind it.
        suite: what is run for the trajectories, and for the gate: as for :func:`evaluate`.
        agent: spec, or a function as for :func:`evaluate`, of which a copy is kept in `out`; it
            should read the skill at the path `skill`.
        model: spec for every role, or several with roles; default the embedded model.
        progress: whether to draw bars; default: in a notebook or a terminal.
        settings: further fields of :class:`EvolveSettings` (`trajectories` in place of a suite,
            `create` or `skill`, `patches`, `analyst`, `merge`, `gate`, ...).

    Raises:
        HarnessError: as the command line does. A gate that refuses is a result, not an error.
    """
    return _wait(aevolve(out, suite=suite, agent=agent, model=model, progress=progress, **settings))


async def aevolve(
    out: Path | str,
    *,
    suite: Suite | None = None,
    agent: str | Callable[..., Any] | None = None,
    model: Models = None,
    progress: bool | None = None,
    **settings: Unpack[EvolveKeywords],
) -> Evolved:
    """Run :func:`evolve` where an event loop is running."""
    from harness.api.results import Evolved
    from harness.api.work import event_bars, evolve_settings, in_python
    from harness.evolve import EvolveSettings, run_evolution_async

    with in_python(EvolveSettings), event_bars(progress) as on_event:
        checked = evolve_settings(Path(out), suite, agent, _models(model), settings)
        result = await run_evolution_async(checked, on_event)
    return Evolved.model_validate(result.model_dump())


def plan_evolution(
    *,
    suite: Suite | None = None,
    agent: str | Callable[..., Any] | None = None,
    model: Models = None,
    **settings: Unpack[EvolveKeywords],
) -> dict[str, Any]:
    """Return the plan and expected cost of :func:`evolve` with these arguments; no model call.

    Args:
        suite: as there.
        agent: as there.
        model: as there.
        settings: as there.

    Raises:
        BadInput: for what the evolution would refuse.
    """
    from tempfile import TemporaryDirectory

    from harness.api.work import evolve_settings, in_python, plan_in_python
    from harness.evolve import EvolveSettings
    from harness.evolve import plan_evolution as plan

    with in_python(EvolveSettings), TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        planned = plan(evolve_settings(out, suite, agent, _models(model), settings))
    return plan_in_python(planned, EvolveSettings)


def compare_runs(
    first: Path | str, second: Path | str, *, measure: Measure = "outcome"
) -> Comparison:
    """Compare two runs, paired by task, as `harness compare` does.

    Args:
        first: run folder, side of a gate (`OUT/runs/gate-before`), or results of another tool.
        second: the same.
        measure: whether attempts passed, or their scores from 0 to 1.

    Raises:
        BadInput: if one holds no run or several, or they share no task that is valid in both.
    """
    from harness.api.results import Comparison
    from harness.evolve import compare_paths

    comparisons = compare_paths([Path(first), Path(second)], measure)
    if len(comparisons) > 1:
        raise BadInput(f"expected two runs, found {len(comparisons) + 1}: harness compare")
    return Comparison.model_validate(comparisons[0].model_dump())


def _wait(work: Coroutine[Any, Any, T]) -> T:
    from harness.api.work import wait

    return wait(work)


def _models(model: Models) -> tuple[str, ...]:
    return (model,) if isinstance(model, str) else tuple(model or ())
