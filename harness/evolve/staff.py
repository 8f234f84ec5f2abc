"""Who works in an evolution: models, the agentic analyst, and the sandbox for scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.core import BadInput
from harness.evals import agent_model_spec, load_suite
from harness.evolve.evolution import Read
from harness.evolve.rollouts import split_of
from harness.evolve.seed import seed_skill
from harness.evolve.settings import EvolveSettings
from harness.models import (
    Budget,
    CallStore,
    ChatModel,
    Model,
    Role,
    Sampling,
    open_model,
    parse_roles,
)
from harness.skills import Execute

LOCAL_REPLY = 768
"""Tokens of one reply of an embedded analyst or merger: three lessons and their quotes."""


def open_models(
    settings: EvolveSettings, purse: Budget
) -> tuple[ChatModel | None, ChatModel | None]:
    """Models of analysts and merger; None where the evolution needs none."""
    analysts, merges = asked(settings)
    if not (analysts or merges):
        return None, None
    settings.out.mkdir(parents=True, exist_ok=True)
    roles = parse_roles(list(settings.models))
    calls = CallStore(settings.out / "calls.sqlite")

    def opened(role: Role) -> ChatModel:
        # A small embedded model that starts to repeat itself would go on to the end of its context.
        bound = LOCAL_REPLY if roles[role].kind == "local" else None
        return open_model(
            roles[role],
            sampling=Sampling(max_tokens=bound),
            base_url=settings.base_url,
            calls=calls,
            budget=purse,
            concurrency=settings.concurrency,
            role=role,
            hedge=True,
        )

    return opened("analyst") if analysts else None, opened("merger") if merges else None


def asked(settings: EvolveSettings) -> tuple[bool, bool]:
    """Whether analysts ask a model, and whether the merge does."""
    without = settings.analyst == "exemplar"
    return settings.patches is None and not without, settings.merge == "model" and not without


def author(settings: EvolveSettings) -> str:
    """The models that have a hand in the skill: of the runs, the analysts and the merger."""
    roles = parse_roles(list(settings.models))
    asks, merges = asked(settings)
    names = [agent_model_spec(settings.models)] if settings.suite else []
    names += [str(roles["analyst"])] if asks else []
    names += [str(roles["merger"])] if merges else []
    return " + ".join(dict.fromkeys(names)) or "recorded"


def reader(settings: EvolveSettings, model: Model | None) -> Read | None:
    """The agentic analyst where it was asked for; None for the default."""
    if settings.analyst != "agentic" or settings.patches is not None or model is None:
        return None
    from harness.evolve.analysts.readers import agentic_reader
    from harness.sandbox import select

    reference = settings.tasks or settings.suite
    if reference is None:
        raise BadInput("--analyst agentic proves fixes on tasks: give --tasks SUITE or --suite")
    if settings.sandbox == "none":
        raise BadInput("--analyst agentic runs model-written code beside gold: it needs a sandbox")
    whole = load_suite(reference) if settings.tasks else split_of(settings, reference, "train")
    return agentic_reader(
        model,
        seed_skill(settings).text,
        tasks={task.id: task for task in whole.tasks},
        base=whole.base,
        sandbox=select(settings.sandbox),
        folder=settings.out / "analysts",
        max_turns=settings.analyst_turns,
    )


def sandboxed(settings: EvolveSettings) -> Execute | None:
    """Runs scripts of the skill in the sandbox, which is chosen when the first one is run."""
    from harness.sandbox import Limits, Result, select

    if settings.sandbox == "none":
        return None

    def execute(
        command: Sequence[str], *, workdir: Path, files: Mapping[str, bytes] | None = None
    ) -> Result:
        sandbox = select(settings.sandbox)
        return sandbox.exec(command, workdir=workdir, files=files, limits=Limits(wall_s=20))

    return execute
