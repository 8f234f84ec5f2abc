"""One evolution from its options to the folder that it leaves."""

from __future__ import annotations

import time
from collections.abc import Callable

from harness.core import BadInput, Usage, assets
from harness.evolve.report import check_out, result_of, write_all
from harness.evolve.stages import Evaluate, Event, Evolution, seed_skill
from harness.evolve.types import EvolveOptions, EvolveResult
from harness.models.types import Model


def _silent(event: Event) -> None:
    """Progress that nobody watches."""


async def evolve(
    options: EvolveOptions,
    *,
    model: Model | None = None,
    merger: Model | None = None,
    evaluate: Evaluate | None = None,
    used: Usage | None = None,
    progress: Callable[[Event], None] = _silent,
) -> EvolveResult:
    """Distil trajectories into one skill directory under `options.out`, and gate it.

    Args:
        options: what to evolve from, and how.
        model: analysts' model; none is needed for recorded patches or the exemplar analyst.
        merger: model of the merge; default `model`.
        evaluate: runs the gate's tasks with a skill directory, or with none for a created skill.
        used: what making the trajectories has cost, for the total; None if nothing was spent.
        progress: called with every event.

    Raises:
        BadInput: for options, trajectories or patches that cannot be used; nothing is written.
        Unreachable, LimitReached: from a model; answered calls stay in its request cache.
    """
    from harness.trajectories import open_trajectories

    started = time.monotonic()
    check_out(options.out)
    seed = seed_skill(options)
    if options.trajectories is None:
        raise BadInput("no trajectories: give --trajectories PATH, or --suite to make some")
    trajectories = list(open_trajectories(options.trajectories))
    evolution = Evolution(
        options=options,
        trajectories=trajectories,
        seed=seed,
        model=model,
        merger=merger or model,
        evaluate=evaluate,
        progress=progress,
        usage=used or Usage(),
    )
    if used is None:  # else the caller has said it before it made the trajectories
        evolution.announce()
    await assets.load_graph("trace2skill").ainvoke({}, context=evolution)
    result = result_of(evolution, time.monotonic() - started)
    write_all(evolution, result)
    return result
