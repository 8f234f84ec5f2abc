"""The programming interface: typed, with the command line's defaults.

Every function has a twin for running event loops, named with an `a` in front (`aevaluate`); the
plain ones work there as well, as in a notebook, and wait.

>>> from harness.api import evaluate
>>> report = evaluate("demo", model="simulated/lookup", limit=4, sandbox="none")  # doctest: +SKIP
>>> report.items, len(report.samples)  # doctest: +SKIP
(4, 4)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from harness.core import Task, from_keywords, loops
from harness.core.plugins import load, plugins

if TYPE_CHECKING:
    from harness.api.keywords import EvalKeywords, EvolveKeywords
    from harness.api.results import Evaluation, Evolved
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
    from harness.rag.api import aask as aask
    from harness.rag.api import acheck as acheck
    from harness.rag.api import acompress as acompress
    from harness.rag.api import ask as ask
    from harness.rag.api import check as check
    from harness.rag.api import compress as compress

__all__ = [
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
    "run_evaluation",
]


_ROOMS = {
    "EvolveResult": "harness.evolve",
    "EvolveSettings": "harness.evolve",
    "Evaluation": "harness.api.results",
    "Evolved": "harness.api.results",
}
"""Where names are from; all others are of `harness.evals`, or of wings (not in `__all__`, since a
wing may be deleted)."""
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
    suite: Path | str | None = None,
    *,
    tasks: Iterable[Task | Mapping[str, Any]] | None = None,
    agent: str | Callable[..., Any] | None = None,
    model: Models = None,
    progress: bool | None = None,
    **settings: Unpack[EvalKeywords],
) -> Evaluation:
    """Run an agent over a suite and score it, as `harness eval` does.

    Args:
        suite: path or name of a suite; or
        tasks: rows of a task file, ids made where missing; files start at the working folder.
        agent: spec, or a function `(prompt, workdir, skill) -> answer`, sync or async. Each attempt
            calls a copy of it in a process of its own, whose `OPENAI_BASE_URL` leads to the model.
        model: spec, or several with roles; default the embedded model.
        progress: whether to draw a bar; default: in a notebook.
        settings: further fields of :class:`EvalSettings`.

    Raises:
        HarnessError: as the command line does, with the exit code as an attribute.
    """
    return loops.run(
        aevaluate(suite, tasks=tasks, agent=agent, model=model, progress=progress, **settings)
    )


async def aevaluate(
    suite: Path | str | None = None,
    *,
    tasks: Iterable[Task | Mapping[str, Any]] | None = None,
    agent: str | Callable[..., Any] | None = None,
    model: Models = None,
    progress: bool | None = None,
    **settings: Unpack[EvalKeywords],
) -> Evaluation:
    """As :func:`evaluate`, where an event loop is running."""
    from harness.api.results import Evaluation
    from harness.api.work import bars, chosen_suite, run_folder
    from harness.evals import EvalSettings, run_evaluation_async

    fields: dict[str, Any] = {**settings, "suite": str(suite or ""), "models": _models(model)}
    fields["out"] = folder = run_folder(settings.get("resume") or settings.get("out"))
    own = None
    if agent is None or isinstance(agent, str):
        fields["agent"] = agent
    checked = from_keywords(EvalSettings, fields)
    if callable(agent):
        from harness.agents import function_agent

        own = function_agent(agent)
    checked = checked.model_copy(update={"suite": chosen_suite(suite, tasks, folder)})
    with bars(progress) as on_progress:
        reports = await run_evaluation_async(checked, on_progress, agent=own)
    return Evaluation.model_validate({**reports[-1].model_dump(), "folder": folder})


def evolve(
    out: Path | str,
    *,
    agent: str | Callable[..., Any] | None = None,
    model: Models = None,
    progress: bool | None = None,
    **settings: Unpack[EvolveKeywords],
) -> Evolved:
    """Distil one skill from trajectories and gate it, as `harness evolve` does.

    Args:
        out: folder for the skill and everything behind it.
        agent: spec, or a function `(prompt, workdir, skill) -> answer`, of which a copy is kept in
            `out`; it should read the skill at the path `skill`.
        model: spec for every role, or several with roles; default the embedded model.
        progress: whether to draw bars; default: in a notebook.
        settings: further fields of :class:`EvolveSettings` (`suite` or `trajectories`, `create`
            or `skill`, `patches`, `analyst`, `merge`, `gate`, ...).

    Raises:
        HarnessError: as the command line does. A gate that refuses is a result, not an error.
    """
    return loops.run(aevolve(out, agent=agent, model=model, progress=progress, **settings))


async def aevolve(
    out: Path | str,
    *,
    agent: str | Callable[..., Any] | None = None,
    model: Models = None,
    progress: bool | None = None,
    **settings: Unpack[EvolveKeywords],
) -> Evolved:
    """As :func:`evolve`, where an event loop is running."""
    from harness.api.results import Evolved
    from harness.api.work import agent_file, event_bars
    from harness.evolve import EvolveSettings, run_evolution_async

    spec = None if callable(agent) else agent
    fields = {**settings, "out": out, "agent": spec, "models": _models(model)}
    checked = from_keywords(EvolveSettings, fields)
    if callable(agent):
        checked = checked.model_copy(update={"agent": agent_file(agent, checked.out)})
    with event_bars(progress) as on_event:
        result = await run_evolution_async(checked, on_event)
    return Evolved.model_validate(result.model_dump())


def _models(model: Models) -> tuple[str, ...]:
    return (model,) if isinstance(model, str) else tuple(model or ())
