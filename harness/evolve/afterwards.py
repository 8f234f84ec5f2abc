"""What is measured behind the gate where it was asked for: baselines, and other users."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness.core import BadInput
from harness.evals import ItemRecord, LoadedSuite, agent_model_spec, load_suite
from harness.evolve.baselines.transfer import run_transfer
from harness.evolve.evolution import Event
from harness.evolve.outcome import Finished
from harness.evolve.rollouts import attempts, split_of
from harness.evolve.run import Compare, Transfer
from harness.evolve.settings import EvolveSettings
from harness.evolve.staff import author
from harness.evolve.transfer_plan import TransferPlan, held_out
from harness.models import Budget, CallStore, Model, open_model, parse_spec


def comparison(
    settings: EvolveSettings,
    suite: LoadedSuite | None,
    purse: Budget,
    model: Model | None,
    progress: Callable[[Event], None],
) -> Compare | None:
    """Baselines on all tasks of the gate; None where none was asked for."""
    if not settings.baselines:
        return None
    if suite is None:
        raise BadInput("--baselines are run on the gate's tasks: give --suite, or --gate SUITE")
    from harness.evolve.baselines import BaselineRow, Ground, run_baselines

    tasks = suite

    async def run(name: str, skill: Path | None, asked: LoadedSuite) -> list[ItemRecord]:
        folder = settings.out / "runs" / "baselines" / name
        return await attempts(settings, asked, folder, skill, purse, progress)

    async def compare(done: Finished) -> list[BaselineRow]:
        # A gate that stopped early chose its moment: the comparison takes every task.
        chosen = tasks.model_copy(update={"tasks": tasks.tasks[: settings.limit]})
        evolved = await run("evolved", done.evolution.skill_dir, chosen)
        return await run_baselines(
            settings.baselines,
            Ground(done=done, model=model, seed=settings.seed),
            suite=chosen,
            evaluate=run,
            evolved=evolved,
        )

    return compare


def transfer_plan(settings: EvolveSettings, gated: LoadedSuite | None) -> TransferPlan | None:
    """What the users of the skill will run; None where none was asked for."""
    if not (settings.users or settings.transfer):
        return None
    suites = [load_suite(one) for one in dict.fromkeys(settings.transfer)]
    if not suites and gated is None:
        raise BadInput("--user runs the gate's tasks or other suites: give --transfer SUITE")
    train = split_of(settings, settings.suite, "train").tasks if settings.suite else ()
    taught = {task.id: task.prompt for task in train}
    users = settings.users or (agent_model_spec(settings.models),)
    return TransferPlan(
        author=author(settings),
        users=tuple(str(parse_spec(one)) for one in dict.fromkeys(users)),
        suites=tuple(held_out(one, taught, settings.limit) for one in suites or [gated] if one),
        epochs=settings.epochs,
        discordance=settings.expected_discordance,
        margin=settings.margin,
    )


def transfer(
    settings: EvolveSettings,
    gated: LoadedSuite | None,
    purse: Budget,
    progress: Callable[[Event], None],
) -> Transfer | None:
    """Runs the skill with its users; the plan is told now, before anything is spent."""
    plan = transfer_plan(settings, gated)
    if plan is None:
        return None
    with CallStore() as nothing:
        for user in plan.users:  # one that cannot be opened must not be found at the end
            limit = Budget(usd=settings.budget_usd)
            open_model(user, base_url=settings.base_url, calls=nothing, budget=limit)

    def tell(message: str) -> None:
        progress(Event(stage="transfer", message=message))

    for line in plan.lines():
        tell(line)

    async def run(
        user: str, folder: Path, skill: Path | None, suite: LoadedSuite
    ) -> list[ItemRecord]:
        by_user = settings.model_copy(update={"models": (user,)})
        return await attempts(by_user, suite, folder, skill, purse, progress)

    return lambda done: run_transfer(plan, done, run, tell)
