"""A user's own graph whose clients are led to a model of ours: live, or an attempt's record."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.agents import graph_config, is_foreign, skill_block, split_reference, state_of
from harness.core import BadInput
from harness.debug.attempts.answers import Answers, Beyond, RecordedModel
from harness.debug.attempts.items import (
    UNUSED,
    Finished,
    Settings,
    live_model,
    model_of_run,
    suite_of,
    trial_of,
)
from harness.debug.engine.graphs import load_graph
from harness.debug.subjects import Subject, play_back
from harness.models import open_gateway
from harness.skills import load_skill
from harness.tools import Bench
from harness.trajectories import content_text

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore


@contextmanager
def asking(
    answers: Answers, spec: str, simulated: bool, seed: int | None
) -> Generator[dict[str, str | None]]:
    """Lead the clients that this process builds to `answers` while a block runs.

    They read their variables (`OPENAI_BASE_URL`, …) when they are built: load the graph inside.
    One that was given an address in code goes there nevertheless.

    Args:
        answers: the record, and the model beyond it.
        spec: of the model.
        simulated: whether it is.
        seed: of requests that bring none.

    Yields:
        The variables as the user has them.
    """
    from anyio.from_thread import start_blocking_portal

    model = RecordedModel(spec, simulated, answers)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_gateway(model)) as gateway,
    ):
        _, variables = gateway.open_account(seed=seed)
        with _variables(variables) as before:
            yield before


@contextmanager
def _variables(values: Mapping[str, str | None]) -> Generator[dict[str, str | None]]:
    """Set variables of the environment while a block runs; yields what they were."""
    before = {name: os.environ.get(name) for name in values}
    try:
        for name, value in values.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        yield before
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def ask_model(spec: str, base_url: str | None, store: CheckpointStore, stack: ExitStack) -> Answers:
    """Lead a graph that is loaded next to a live model; the usage of its nodes is counted.

    Args:
        spec: of the model.
        base_url: of its endpoint.
        store: of the debugging session.
        stack: ends the address that the graph asks.
    """
    answers = Answers((), (), store)
    model = live_model(spec, base_url, answers)
    answers.beyond = Beyond(model, _unchanged)
    stack.enter_context(asking(answers, spec, model.simulated, None))
    return answers


async def _unchanged(bench: Bench, _: object) -> Bench:
    """A graph of a user's own has its own tools."""
    return bench


def is_own_graph(finished: Finished) -> bool:
    """Return whether the attempt was one of a graph in a user's file."""
    spec = str(finished.lock.get("agent"))
    return spec.startswith("graph:") and is_foreign(spec)


def open_own_graph(
    finished: Finished,
    store: CheckpointStore,
    folder: Path,
    settings: Settings,
    stack: ExitStack,
) -> Subject:
    """The attempt again, node by node: the user's code runs, its model answers from the record.

    Args:
        finished: the attempt.
        store: of the debugging session.
        folder: an empty folder for the attempt's files.
        settings: what the run folder does not hold.
        stack: ends the address that the graph asks.

    Where the graph's file is not trusted, not at hand, or another than in the run, the attempt is
    played back message by message.

    Raises:
        BadInput: for a suite that was named and cannot be used.
    """
    from harness.evals import agent_digest, agent_file, attempt_seed, load_suite, read_parts
    from harness.tasks import family

    spec = str(finished.lock["agent"])
    notes = ["your graph's code runs; its model answers from the record, its tools do not"]
    suite = None
    try:
        suite = load_suite(settings.suite or suite_of(finished), finished.lock.get("split"))
    except BadInput:
        if settings.suite is not None:
            raise
        notes.append("the suite is not at hand: a task's files are missing, --suite names it")
    root = Path.cwd() if suite is None else suite.agent_folder(spec)
    file, parts = agent_file(spec, root), read_parts(finished.run)
    thread, reason = str(finished.record["id"]), ""
    if file is None:
        reason = f"the file of {spec!r} is not at hand"
    elif not parts or parts[-1].shared.get("agent") != agent_digest(spec, root):
        reason = f"{str(file)!r} has changed since the run (harness debug FILE.py:NAME steps it)"
    elif not settings.trust:
        reason = f"--trust runs {str(file)!r}, code that the run folder names"
    if file is None or reason:
        note = f"played back message by message{UNUSED * bool(settings.skill)}: {reason}"
        return play_back(finished.trajectory, thread=thread, hold=False, notes=(note,))
    folder.mkdir(parents=True, exist_ok=True)
    if suite is not None:
        task = next((t for t in suite.tasks if t.id == finished.record["task_id"]), None)
        if task is not None:
            family(task).prepare(task, suite.base, folder)
    lock = finished.lock
    answers = Answers(finished.trajectory.steps, finished.calls, store)
    answers.trial = trial_of(finished, settings)
    spec_of_model = str(lock.get("model"))

    def open_live() -> None:
        with _variables(before):  # its clients are led to the record
            model = model_of_run(finished, settings, answers)
        answers.beyond = answers.beyond or Beyond(model, _unchanged)

    seed = attempt_seed(
        int(lock.get("seed", 0)) + int(finished.record.get("epoch", 0)),
        str(finished.record["task_id"]),
    )
    before = stack.enter_context(asking(answers, spec_of_model, bool(lock.get("simulated")), seed))
    messages: list[dict[str, Any]] = []
    if settings.skill is not None:
        block = skill_block(load_skill(settings.skill), "preloaded", readable=False)
        messages.append({"role": "system", "content": block})
    recorded = lock.get("skill") and settings.skill is None
    for step in finished.trajectory.steps:
        text = content_text(step.message)
        # Of system messages it was given the skill's alone; others are its own, and come again.
        if step.source != "system" or (recorded and "<skill name=" in text):
            messages.append({"role": step.source, "content": text})
        if step.source == "user":
            break
    name, options = split_reference(spec)
    reload = partial(load_graph, f"{file}:{name.rpartition(':')[2]}")
    return Subject(
        reload(),
        state_of(messages, options.get("input_key", "messages"), options.get("skill_key", "")),
        thread,
        config=graph_config(folder),
        reload=reload,
        root=file.resolve().parent,
        answers=answers,
        over_http=True,
        beyond=open_live,
        notes=tuple(notes),
    )
