"""A finished item as a graph to debug: found in its run, its own graph with recorded answers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.agents import ReactContext, Sample, react_context
from harness.core import BadInput, Task, Trajectory, assets, digest_tree, inside, remove_tree
from harness.core.rundir import RunReader
from harness.debug.attempts.answers import (
    Answers,
    Beyond,
    Person,
    RecordedModel,
    ToolCall,
    recorded_tool,
)
from harness.debug.subjects import Subject, play_back
from harness.models import ADDRESSES, CallStore, Message, Model, Reply, StoredCall, open_model
from harness.tools import Bench, ToolArgumentError
from harness.trajectories import content_text

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore
    from harness.evals import LoadedSuite
    from harness.models import ChatModel

COMPUTED = frozenset(("context",))
"""Tools that a graph calls for itself; their results are in no trajectory and are made again."""


LISTED = 10
"""Ids that an error names."""


@dataclass(frozen=True)
class Finished:
    """A finished item.

    Attributes:
        run: its run folder; inside the folder of an evolution for one of its attempts.
        lock: what the run depends on (`run.json`).
        record: the item's record, as JSON; of an invalid attempt that was repeated, the last.
        trajectory: what the attempt left.
        calls: answered model calls of the trajectory, in its order; those that are not stored
            (a foreign agent's) are missing.
    """

    run: Path
    lock: dict[str, Any]
    record: dict[str, Any]
    trajectory: Trajectory
    calls: tuple[StoredCall, ...]


def find_item(run: Path, item: str) -> Finished:
    """The item of that id in a run folder, or in one of the runs below it.

    Raises:
        BadInput: if there is no run or no such item, or several runs below have it.
    """
    holding: list[tuple[RunReader, dict[str, Any]]] = []
    ids: list[str] = []
    for reader in map(RunReader, run_folders(run)):
        rows = {str(row.get("id")): row for row in reader.items()}
        if item in rows:
            holding.append((reader, rows[item]))
        ids += list(rows)[: LISTED - len(ids)]
    if len(holding) > 1:
        names = ", ".join(str(reader.path) for reader, _ in holding[:LISTED])
        raise BadInput(f"{len(holding)} runs have an item {item!r}; name one with --run: {names}")
    if not holding:
        raise BadInput(f"no finished item {item!r} in {str(run)!r}; it has {', '.join(ids)}, …")
    [(reader, record)] = holding
    row = next((row for row in reader.trajectories() if row.get("trajectory_id") == item), None)
    if row is None:
        raise BadInput(f"item {item!r} of {str(reader.path)!r} left no trajectory")
    trajectory = Trajectory.model_validate(row)
    path = reader.path / "calls.sqlite"

    async def read_calls() -> tuple[StoredCall, ...]:
        ids = [step.call_id for step in trajectory.steps if step.call_id is not None]
        with CallStore(path) as store:
            stored = [await store.find(name) for name in ids]
        return tuple(call for call in stored if call is not None)

    calls = asyncio.run(read_calls()) if path.is_file() else ()
    return Finished(reader.path, reader.lock, record, trajectory, calls)


def run_folders(run: Path) -> list[Path]:
    """The run folder itself, or every run below it (an evolution's attempts), sorted.

    Raises:
        BadInput: if there is none.
    """
    folders = [run] if (run / "run.json").is_file() else []
    folders += sorted(path.parent for path in run.glob("*/**/run.json"))
    if not folders:
        raise BadInput(f"no run at {str(run)!r} (expected a folder with run.json, or one above)")
    return folders


@dataclass(frozen=True)
class Settings:
    """Settings that a run folder does not hold.

    Attributes:
        suite: path or name; by default the name that the run recorded.
        skill: skill directory; by default one of the recorded digest, where we can find it.
        model: spec of the model that answers beyond the recording; by default the run's.
        base_url: its endpoint.
        sandbox: where live tools run: a back end, `auto` or `none`.
        trust: whether code that the run folder names may run.
    """

    trust: bool = False
    suite: str | None = None
    skill: Path | None = None
    model: str | None = None
    base_url: str | None = None
    sandbox: str = "auto"


@dataclass(frozen=True)
class RecordedContext(ReactContext):
    """The attempt's context with the system prompt that it had, whatever became of the files."""

    system: str = ""

    def system_prompt(self) -> str:
        """Return the recorded system prompt."""
        return self.system


UNUSED = ", as it was without --skill"


class _Closing:
    """A model whose connections end with each call: every run has an event loop of its own."""

    def __init__(self, model: ChatModel) -> None:
        self.spec, self.simulated = model.spec, model.simulated
        self.constrains = model.constrains
        self._model = model

    async def complete(self, messages: list[Message], **settings: Any) -> Reply:
        """See :meth:`harness.models.types.Model.complete`."""
        try:
            return await self._model.complete(messages, **settings)
        finally:
            await self._model.aclose()


def open_item(
    finished: Finished, store: CheckpointStore, folder: Path, settings: Settings
) -> Subject:
    """The item, from its records alone: nothing is called before the user asks for it.

    Our graphs run again with the recorded answers, so every state is there; foreign agents and
    attempts whose calls or suite are not at hand are played back message by message.

    Args:
        finished: the item.
        store: of the debugging session.
        folder: an empty folder for the attempt's files.
        settings: what the run folder does not hold.

    Raises:
        BadInput: for a suite or skill that was named and cannot be used.
    """
    thread = str(finished.record["id"])
    skill = settings.skill or _skill(finished)
    attempted = _attempted(finished, settings)
    if finished.lock.get("skill") and skill is None and not isinstance(attempted, str):
        attempted = (
            f"the skill {finished.lock.get('skill_name')!r} is not at hand; --skill names it"
        )
    if isinstance(attempted, str):
        note = f"played back message by message{UNUSED * bool(settings.skill)}: {attempted}"
        return play_back(finished.trajectory, thread=thread, hold=False, notes=(note,))
    suite, task = attempted
    lock, steps = finished.lock, finished.trajectory.steps

    def prepare() -> str:
        """A fresh work folder with the task's files; the prompt that the family makes."""
        from harness.tasks import family

        remove_tree(folder)
        folder.mkdir(parents=True)
        return family(task).prepare(task, suite.base, folder)

    def first(source: str) -> str:
        """The first message of `system` or `user`."""
        return next((content_text(step.message) for step in steps if step.source == source), "")

    answers = Answers(steps, finished.calls, store)
    answers.trial = trial_of(finished, settings)
    context = _context(finished, (suite, task), skill, answers, prepare(), folder)
    # Recorded tools write no output file. The graph looks for it when the model is done, and says
    # once that it is missing: where the attempt was not reminded, it had left one.
    messages = (content_text(step.message) for step in steps if step.source == "user")
    reminded = any(message.startswith("[System check] missing") for message in messages)
    if context.output_file and not reminded:
        (context.bench.workdir / context.output_file).touch()
    if settings.skill is None:  # the prompts are those on record unless a skill was named
        values = {field.name: getattr(context, field.name) for field in fields(context)}
        context = RecordedContext(**values, system=first("system"))
    notes: list[str] = []
    if suite.digest != lock.get("tasks"):
        notes.append("the suite has changed since the run")
    return Subject(
        assets.load_graph(str(lock["agent"]).partition(":")[2]),
        {"messages": [{"role": "user", "content": first("user")}]},
        thread,
        hold=False,
        context=context,
        answers=answers,
        beyond=_beyond(finished, answers, settings, prepare),
        notes=tuple(notes),
    )


def _attempted(finished: Finished, settings: Settings) -> tuple[LoadedSuite, Task] | str:
    """The suite and the task of an attempt of ours, or why it can only be played back."""
    from harness.evals import load_suite

    kind, _, graph = str(finished.lock.get("agent", "")).partition(":")
    if kind != "graph" or ":" in graph:
        return f"the agent {finished.lock.get('agent')!r} is not one of our graphs"
    replies = sum(step.llm_call_count == 1 for step in finished.trajectory.steps)
    if len(finished.calls) < replies:
        return f"{replies - len(finished.calls)} of its {replies} model calls are not stored"
    name = settings.suite or suite_of(finished)
    try:
        suite = load_suite(name, finished.lock.get("split"))
    except BadInput as error:
        if settings.suite is not None:
            raise
        return f"{error}; name the suite with --suite"
    task = next((task for task in suite.tasks if task.id == finished.record["task_id"]), None)
    if task is None:
        return f"the suite {name!r} has no task {finished.record['task_id']!r}"
    return suite, task


def suite_of(finished: Finished) -> str:
    """Return the reference of a run's suite, or its name where that was not recorded."""
    from harness.evals import read_parts

    parts = read_parts(finished.run)
    return (parts[-1].suite if parts else "") or str(finished.lock.get("suite"))


def _context(
    finished: Finished,
    attempted: tuple[LoadedSuite, Task],
    skill: Path | None,
    answers: Answers,
    prompt: str,
    workdir: Path,
) -> ReactContext:
    """Build the context of the attempt's graph; its model and tools answer from the record."""
    from harness.evals import attempt_context
    from harness.tasks import answer_schema

    lock, (suite, task) = finished.lock, attempted
    agent = attempt_context(
        suite.suite,
        task,
        RecordedModel(str(lock.get("model")), bool(lock.get("simulated")), answers),
        seed=int(lock.get("seed", 0)) + int(finished.record.get("epoch", 0)),
        skill=skill,
        skill_mode=lock.get("skill_mode"),
    )
    sample = Sample(str(finished.record["id"]), task.id, prompt, workdir, answer_schema(task))
    context = react_context(sample, agent, graph=str(lock["agent"]).partition(":")[2])
    tools = (
        tool if tool.name in COMPUTED else recorded_tool(tool, answers) for tool in context.tools
    )
    return replace(context, tools=tuple(tools))


def trial_of(finished: Finished, settings: Settings) -> str:
    """Name of a skill that was named and is another than the run's; "" without one."""
    skill = settings.skill
    if skill is None or digest_tree(skill) == finished.lock.get("skill"):
        return ""
    return skill.resolve().name


def _skill(finished: Finished) -> Path | None:
    """The run's skill, where a folder of its name has the recorded digest."""
    from harness.evals import SKILLS

    # The lock may be a stranger's: its names lead nowhere else.
    name = Path(str(finished.lock.get("skill_name"))).name
    recorded = Path(str(finished.lock.get("skill"))).name
    candidates = [
        inside(finished.run, finished.run / SKILLS / recorded / name), Path(SKILLS) / name,
        Path(name), assets.root() / SKILLS / name,
        *(folder / "skill" / name for folder in finished.run.resolve().parents),
    ]  # fmt: skip
    folders = (path for path in candidates if path is not None and path.is_dir())
    return next((path for path in folders if digest_tree(path) == recorded), None)


def _beyond(
    finished: Finished, answers: Answers, settings: Settings, prepare: Callable[[], str]
) -> Callable[[], None]:
    """Opens the live model and the sandbox once the user asks for them."""

    def open_live() -> None:
        if answers.beyond is not None:
            return
        from harness.sandbox import select

        model = model_of_run(finished, settings, answers)
        sandbox = select(settings.sandbox)

        async def place(bench: Bench, calls: Sequence[ToolCall] | None) -> Bench:
            live = replace(bench, sandbox=sandbox)
            if calls is not None:
                await asyncio.to_thread(prepare)
            for tool, arguments in calls or ():
                with suppress(ToolArgumentError):  # it failed in the attempt, too
                    await tool.run(arguments, live)
            return live

        answers.beyond = Beyond(model, place)

    return open_live


def model_of_run(finished: Finished, settings: Settings, answers: Answers) -> Model:
    """The model that goes on with an attempt: that of the run, unless the user names another.

    Raises:
        BadInput: where the run asked an endpoint that the user has not named.
    """
    if fault := unnamed_endpoint(finished, settings):
        raise BadInput(fault)
    spec = settings.model or str(finished.lock.get("model"))
    return live_model(spec, settings.base_url, answers)


def unnamed_endpoint(finished: Finished, settings: Settings) -> str:
    """Say how to name the endpoint of a run that the user has not named; "" where there is none.

    A run folder may come from a stranger, and another endpoint is not what was meant.
    """
    from harness.evals import read_parts

    spec = settings.model or str(finished.lock.get("model"))
    variable, _ = ADDRESSES.get(spec.partition("/")[0], ("", ""))
    url = next((parts.base_url for parts in reversed(read_parts(finished.run))), None)
    if url and not (settings.base_url or settings.model or os.environ.get(variable)):
        return f"the run asked {url}: --base-url {url} asks it again"
    return ""


def live_model(spec: str, base_url: str | None, answers: Answers) -> Model:
    """The model of a spec, for runs that have an event loop each; `person` asks the user."""
    if spec == Person.spec:
        return Person(answers)
    return _Closing(open_model(spec, base_url=base_url))
