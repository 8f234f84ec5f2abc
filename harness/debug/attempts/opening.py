"""A finished item as a graph to debug: its own graph with recorded answers, or played back."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.agents.react import ReactContext
from harness.agents.types import Sample
from harness.core import BadInput, Task, assets, digest_tree
from harness.debug.attempts.answers import Answers, Beyond, RecordedModel, recorded_tool
from harness.debug.attempts.effects import Effects, ToolCall
from harness.debug.attempts.finding import Found
from harness.debug.postmortem import START, trajectory_graph
from harness.debug.usage import Meter
from harness.models import Message, Reply
from harness.tools.types import Bench, ToolArgumentError
from harness.trajectories import content_text

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore
    from harness.evals import LoadedSuite
    from harness.models import ChatModel

COMPUTED = frozenset(("context",))
"""Tools that a graph calls for itself; their results are in no trajectory and are made again."""


@dataclass(frozen=True)
class Settings:
    """What a run folder does not hold.

    Attributes:
        suite: path or name; by default the name that the run recorded.
        skill: skill directory; by default one of the recorded digest, where we can find it.
        model: spec of the model that answers beyond the recording; by default the run's.
        base_url: its endpoint.
        sandbox: where live tools run: a back end, `auto` or `none`.
    """

    suite: str | None = None
    skill: Path | None = None
    model: str | None = None
    base_url: str | None = None
    sandbox: str = "auto"


@dataclass(frozen=True)
class Item:
    """A finished item, ready for a debugger.

    Attributes:
        graph: the attempt's own graph, or one that plays its trajectory back.
        start: its input.
        context: its runtime context.
        answers: what was recorded, None where the trajectory is played back.
        beyond: lets it go on live.
        notes: what the user should know about it, a sentence each.
    """

    graph: Any
    start: dict[str, Any]
    context: Any
    answers: Answers | None
    beyond: Callable[[], None] | None
    notes: tuple[str, ...]

    @property
    def meter(self) -> Meter | None:
        """What the recorded calls used."""
        return None if self.answers is None else self.answers.meter

    def served(self) -> str:
        """What was served from the record so far, in one line."""
        if self.answers is None:
            return "played back from its trajectory"
        counts = self.answers.counts
        return (
            f"{counts.replies} model calls ({counts.exact} byte for byte as recorded) and "
            f"{counts.results} tool calls served, {counts.live} made"
        )


@dataclass(frozen=True)
class RecordedContext(ReactContext):
    """The attempt's context with the system prompt that it had, whatever became of the files."""

    system: str = ""

    def system_prompt(self) -> str:
        """As it was recorded."""
        return self.system


class _Attempt(NamedTuple):
    """A task of the run's suite, and the folder in which it is attempted again."""

    suite: LoadedSuite
    task: Task
    workdir: Path


def open_item(found: Found, store: CheckpointStore, folder: Path, settings: Settings) -> Item:
    """The item, from its records alone: nothing is called before the user asks for it.

    Our graphs run again with the recorded answers, so every state is there; foreign agents and
    attempts whose calls or suite are not at hand are played back message by message.

    Args:
        found: the item.
        store: of the debugging session.
        folder: an empty folder for the attempt's files.
        settings: what the run folder does not hold.

    Raises:
        BadInput: for a suite or skill that was named and cannot be used.
    """
    reason = _obstacle(found)
    attempt = None if reason else _attempt(found, folder, settings)
    if isinstance(attempt, _Attempt):
        return _recorded(found, store, attempt, settings)
    note = f"played back message by message: {reason or attempt}"
    return Item(trajectory_graph(found.trajectory), START, None, None, None, (note,))


def _obstacle(found: Found) -> str | None:
    kind, _, name = str(found.lock.get("agent", "")).partition(":")
    if kind != "graph" or ":" in name:
        return f"the agent {found.lock.get('agent')!r} is not one of our graphs"
    replies = sum(step.llm_call_count == 1 for step in found.trajectory.steps)
    if len(found.calls) < replies:
        return f"{replies - len(found.calls)} of its {replies} model calls are not stored"
    return None


def _attempt(found: Found, folder: Path, settings: Settings) -> _Attempt | str:
    from harness.evals import load_suite

    name = settings.suite or str(found.lock.get("suite"))
    try:
        suite = load_suite(name, found.lock.get("split"))
    except BadInput as error:
        if settings.suite is not None:
            raise
        return f"{error}; name the suite with --suite"
    task = next((task for task in suite.tasks if task.id == found.record["task_id"]), None)
    if task is None:
        return f"the suite {name!r} has no task {found.record['task_id']!r}"
    return _Attempt(suite, task, folder)


def _recorded(found: Found, store: CheckpointStore, attempt: _Attempt, settings: Settings) -> Item:
    """The attempt's own graph; the prompts are those on record unless a skill was named."""
    skill = settings.skill or _skill(found)
    answers = Answers(found.trajectory, found.calls, Effects(store))
    context = _context(found, attempt, skill, answers)
    _mark_output(found, context)
    if settings.skill is None:
        values = {one.name: getattr(context, one.name) for one in fields(context)}
        context = RecordedContext(**values, system=_said(found, "system"))
    start = {"messages": [{"role": "user", "content": _said(found, "user")}]}
    graph = assets.load_graph(str(found.lock["agent"]).partition(":")[2])
    notes: list[str] = []
    if attempt.suite.digest != found.lock.get("tasks"):
        notes.append("the suite has changed since the run")
    if found.lock.get("skill") and skill is None:
        notes.append(f"the skill {found.lock.get('skill_name')!r} is not at hand: --skill names it")
    beyond = _beyond(found, answers, attempt, settings)
    return Item(graph, start, context, answers, beyond, tuple(notes))


def _context(found: Found, attempt: _Attempt, skill: Path | None, answers: Answers) -> ReactContext:
    """What the attempt's graph was given, its model and tools answering from the record."""
    from harness.agents.graph import react_context
    from harness.evals import attempt_context

    lock = found.lock
    agent = attempt_context(
        attempt.suite.suite,
        attempt.task,
        RecordedModel(str(lock.get("model")), bool(lock.get("simulated")), answers),
        seed=int(lock.get("seed", 0)) + int(found.record.get("epoch", 0)),
        skill=skill,
        skill_mode=lock.get("skill_mode"),
    )
    sample = Sample(str(found.record["id"]), attempt.task.id, _prepare(attempt), attempt.workdir)
    context = react_context(sample, agent)
    tools = (one if one.name in COMPUTED else recorded_tool(one, answers) for one in context.tools)
    return replace(context, tools=tuple(tools))


def _prepare(attempt: _Attempt) -> str:
    """A fresh work folder with the task's files; the prompt that the family makes."""
    from harness.tasks import family

    shutil.rmtree(attempt.workdir, ignore_errors=True)
    attempt.workdir.mkdir(parents=True)
    return family(attempt.task).prepare(attempt.task, attempt.suite.base, attempt.workdir)


def _mark_output(found: Found, context: ReactContext) -> None:
    """Put an empty output file where the attempt had left one: recorded tools write none.

    The graph looks for it when the model is done, and says once that it is missing.
    """
    texts = (content_text(step.message) for step in found.trajectory.steps if step.source == "user")
    reminded = any(text.startswith("[System check] missing") for text in texts)
    if context.output_file and not reminded:
        (context.bench.workdir / context.output_file).touch()


def _said(found: Found, source: str) -> str:
    """The first message of `system` or `user`."""
    steps = found.trajectory.steps
    return next((content_text(step.message) for step in steps if step.source == source), "")


def _skill(found: Found) -> Path | None:
    """The run's skill, where a folder of its name has the recorded digest."""
    name, wanted = found.lock.get("skill_name"), found.lock.get("skill")
    if not name or not wanted:
        return None
    above = [folder / "skill" / name for folder in found.run.resolve().parents]
    places = [Path("skills") / name, Path(name), assets.root() / "skills" / name, *above]
    return next((path for path in places if path.is_dir() and digest_tree(path) == wanted), None)


class _Closing:
    """A model whose connections end with each call: every run has an event loop of its own."""

    def __init__(self, model: ChatModel) -> None:
        self.spec, self.simulated = model.spec, model.simulated
        self._model = model

    async def complete(self, messages: list[Message], **settings: Any) -> Reply:
        """As :meth:`harness.models.types.Model.complete`."""
        try:
            return await self._model.complete(messages, **settings)
        finally:
            await self._model.aclose()


def _beyond(
    found: Found, answers: Answers, attempt: _Attempt, settings: Settings
) -> Callable[[], None]:
    """Opens the live model and the sandbox once the user asks for them."""

    def go_on() -> None:
        if answers.beyond is not None:
            return
        from harness.models import open_model
        from harness.sandbox import select

        spec = settings.model or str(found.lock.get("model"))
        model = _Closing(open_model(spec, base_url=settings.base_url))
        sandbox = select(settings.sandbox)

        async def place(bench: Bench, done: Sequence[ToolCall] | None) -> Bench:
            live = replace(bench, sandbox=sandbox)
            if done is not None:
                await asyncio.to_thread(_prepare, attempt)
            for tool, arguments in done or ():
                with suppress(ToolArgumentError):  # it failed in the attempt, too
                    await tool.run(arguments, live)
            return live

        answers.beyond = Beyond(model, place)

    return go_on
