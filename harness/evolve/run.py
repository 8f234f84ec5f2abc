"""One evolution from its options to the folder that it leaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from harness.core import BadInput, Value, assets, digest
from harness.core.segments import only_writer
from harness.evolve.analysts.grounding import checked
from harness.evolve.analysts.readers import single_reader
from harness.evolve.artifacts import NAME, Shelf
from harness.evolve.baselines.transfer import TransferRow
from harness.evolve.evolution import Evaluate, Event, Evolution, Read, Rollouts, Trials
from harness.evolve.outcome import Finished, finished
from harness.evolve.report import check_out, result_of, write_all
from harness.evolve.seed import seed_skill
from harness.evolve.types import EvolveOptions, EvolveResult
from harness.models import Model
from harness.skills import Execute

Compare = Callable[[Finished], Coroutine[Any, Any, Sequence[Value]]]
Transfer = Callable[[Finished], Coroutine[Any, Any, Sequence[TransferRow]]]
CHECKPOINTS = "checkpoints.sqlite"
SUPERSTEPS = 10_000
"""More than any evolution takes; the limit of the graph library is meant for agents that loop."""


def _silent(event: Event) -> None:
    """Progress that nobody watches."""


async def evolve(
    options: EvolveOptions,
    *,
    model: Model | None = None,
    merger: Model | None = None,
    read: Read | None = None,
    rollouts: Rollouts | None = None,
    trial: Trials | None = None,
    evaluate: Evaluate | None = None,
    gate_tasks: tuple[str, ...] = (),
    execute: Execute | None = None,
    inputs: Mapping[str, Any] | None = None,
    compare: Compare | None = None,
    transfer: Transfer | None = None,
    progress: Callable[[Event], None] = _silent,
) -> EvolveResult:
    """Distil trajectories into one skill directory under `options.out`, and gate it.

    An evolution that was stopped goes on behind its last checkpoint when it is called again with
    the same options; one that had ended is made again, its model calls from the request cache.

    Args:
        options: what to evolve from, and how.
        model: analysts' model; none is needed for recorded patches or the exemplar analyst.
        merger: model of the merge; default `model`.
        read: the analyst, in place of the single-call one.
        rollouts: makes the trajectories, in place of `options.trajectories`.
        trial: runs the tasks that sets of lessons are selected on, where `options.select` asks.
        evaluate: runs tasks of the gate with a skill directory, or with none.
        gate_tasks: ids of the tasks that it can run.
        execute: runs a command in a sandbox, to try the scripts of a skill that has some.
        inputs: what decides the trajectories that `rollouts` makes, JSON; part of the identity of
            the evolution when it is resumed.
        compare: makes and runs baselines behind the gate; their rows go into the result.
        transfer: runs the skill with other models and suites, last of all.
        progress: called with every event.

    Raises:
        BadInput: for options, trajectories or patches that cannot be used; nothing is written.
        Unreachable, LimitReached: from a model; answered calls stay in its request cache.
    """
    started = time.monotonic()
    check_out(options.out)
    seed = seed_skill(options)
    if rollouts is None and options.trajectories is None:
        raise BadInput("no trajectories: give --trajectories PATH, or --suite to make some")
    asks = options.analyst != "exemplar" and options.patches is None
    merges = options.merge == "model" and (asks or options.patches is not None)
    single = single_reader(_needed(model, "an analyst"), seed.text) if asks and not read else None
    reading = (read or single) if asks else None
    if reading is not None and options.check_conclusions:
        reading = checked(reading)
    merging = _needed(merger or model, "--merge model") if merges else None
    with only_writer(options.out):
        shelf = Shelf(options.out / NAME)
        evolution = Evolution(
            options=options,
            seed=seed,
            shelf=shelf,
            rollouts=rollouts,
            read=reading,
            mapper=model if merges and asks else None,
            merger=merging,
            trial=trial,
            evaluate=evaluate,
            execute=execute,
            gate_tasks=gate_tasks,
            simulated=any(one is not None and one.simulated for one in (model, merger)),
            progress=progress,
        )
        if evolution.plan is not None:
            progress(Event(stage="gate", message=str(evolution.plan)))
        try:
            done = finished(
                evolution, await _run_graph(evolution, _identity(evolution, model, merger, inputs))
            )
            rows = await compare(done) if compare is not None else ()
            users = await transfer(done) if transfer is not None else ()
            result = result_of(done, time.monotonic() - started, rows, users)
            write_all(done, result)
        finally:
            shelf.close()
    return result


def _identity(
    evolution: Evolution,
    model: Model | None,
    merger: Model | None,
    inputs: Mapping[str, Any] | None,
) -> str:
    """What a stopped evolution must share with this one to be gone on with."""
    options = evolution.options
    return digest(
        {
            "options": options.fingerprint(),
            "inputs": dict(inputs or {}),
            "paths": [str(options.trajectories), str(options.patches)],
            "seed": evolution.seed.digest,
            "models": [one.spec if one else None for one in (model, merger)],
        }
    )


async def _run_graph(evolution: Evolution, thread: str) -> dict[str, Any]:
    """Run the graph, from its last checkpoint if it was stopped; the state that it ends with."""
    from harness.checkpoints import open_saver

    options = evolution.options
    config: Any = {
        "configurable": {"thread_id": thread},
        "max_concurrency": options.concurrency,
        "recursion_limit": SUPERSTEPS,
    }
    async with open_saver(options.out / CHECKPOINTS) as saver:
        graph: Any = assets.load_graph("trace2skill").builder.compile(checkpointer=saver)
        stopped = (await graph.aget_state(config)).next
        if stopped:
            evolution.progress(Event(stage="resume", message=f"at {', '.join(set(stopped))}"))
        else:
            await saver.adelete_thread(thread)
        start: dict[str, Any] | None = None if stopped else {}
        return await graph.ainvoke(start, config, context=evolution, durability="sync")


def _needed(model: Model | None, who: str) -> Model:
    if model is None:
        raise BadInput(
            f"{who} needs a model: give --model, or use --patches with --merge deterministic, or "
            "--analyst exemplar"
        )
    return model
