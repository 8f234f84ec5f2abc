"""Reading a trajectory: with one model call, or with an agent that proves its fix. With
`--merge model` a second call writes the patch.

What an analyst concludes can be checked against the run before it may edit a skill: a lesson is
advice and cannot be looked up, but the root cause that it rests on states what happened, and the
transcript says whether it did. The plugin `rules` of `harness.verifiers` says so without a model.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple, Self

from harness.core import (
    BadInput,
    Patch,
    Trajectory,
    digest,
    mapping,
    plugins,
    read_foreign,
    remove_tree,
    render,
)
from harness.evals import LoadedSuite
from harness.evolve.analysts.json_reply import ask_json
from harness.evolve.analysts.records import accepted, lost, to_patch, without_gold
from harness.evolve.analysts.transcript import extract, transcript
from harness.evolve.settings import EvolveOptions
from harness.evolve.types import MAX_ITEMS, AnalystRecord, AnalystType, Loss, Reading
from harness.models import Model
from harness.sandbox import select
from harness.trajectories import fence_untrusted

MOST_SHOWN = 2000
"""Characters of an expected answer that an analyst sees."""
Read = Callable[[Trajectory, AnalystType], Coroutine[Any, Any, Reading]]


class Background(NamedTuple):
    """Knowledge of an analyst that no transcript shows.

    Attributes:
        blind: withhold what was right of a failed task.
        documents: of the user, such as policies.
    """

    blind: bool = True
    documents: str = ""

    @classmethod
    def of(cls, options: EvolveOptions) -> Self:
        """Read the documents that the options name.

        Raises:
            BadInput: for a file that is no text.
        """
        files = {path: read_foreign(path) for path in options.context}
        if binary := next((path for path, data in files.items() if b"\0" in data), None):
            raise BadInput(f"--context {str(binary)!r} is no text: save it as text or Markdown")
        texts = [f"{path.name}\n{data.decode('utf-8', 'replace')}" for path, data in files.items()]
        return cls(options.blind, fence_untrusted("\n\n".join(texts)) if texts else "")

    def right(self, trajectory: Trajectory) -> str:
        """Return the answer that was expected and the objection of the check, as far as known."""
        metadata = trajectory.harness
        rows = {
            "Expected": mapping(metadata.get("task")).get("expected"),
            "The check said": metadata.get("reason"),
        }
        lines = [f"{name}: {str(row)[:MOST_SHOWN]}" for name, row in rows.items() if row]
        return "" if self.blind or not lines else fence_untrusted("\n".join(lines))


NO_BACKGROUND = Background()


async def analyse(
    trajectory: Trajectory,
    kind: AnalystType,
    model: Model,
    skill: str,
    background: Background = NO_BACKGROUND,
) -> Reading:
    """Let one analyst read one trajectory; a reply that gives no record is a loss.

    Raises:
        Unreachable, LimitReached: answered calls are in the request cache.
    """
    text = transcript(trajectory)
    prompt = render(
        f"analyst_{kind}",
        task=trajectory.prompt,
        transcript=fence_untrusted(extract(trajectory)),
        skill=skill,
        max_items=MAX_ITEMS,
        right=background.right(trajectory),
        documents=background.documents,
    )
    record, reason, usage = await ask_json(
        model, prompt, lambda data: accepted(data, trajectory, kind, text)
    )
    if record is None:
        return Reading(losses=(lost(trajectory.trajectory_id, reason),), usage=usage)
    record, losses = without_gold(record)
    return Reading(record=record, losses=losses, usage=usage)


def single_reader(model: Model, skill: str, background: Background = NO_BACKGROUND) -> Read:
    """One call reads one trajectory (the single-call analysts of the paper)."""
    return lambda trajectory, kind: analyse(trajectory, kind, model, skill, background)


def agentic_reader(
    model: Model,
    skill: str,
    *,
    suite: LoadedSuite | None,
    sandbox: str,
    folder: Path,
    max_turns: int,
) -> Read:
    """An analyst with tools reads a failure and proves its fix; one call reads a success.

    Args:
        model: answers every call.
        skill: text of the frozen skill.
        suite: whose tasks fixes are proven on; a failure of any other task is a loss.
        sandbox: name of the back end that the analysts' tools and fixes run in.
        folder: one work folder per trajectory is made here, afresh each time.
        max_turns: model calls of one analyst at most.

    Raises:
        BadInput: without a suite, or without a sandbox.
    """
    from harness.evolve.analysts.agentic import analyse_failure

    if suite is None:
        raise BadInput("--analyst agentic proves fixes on tasks: give --tasks SUITE or --suite")
    if sandbox == "none":
        raise BadInput("--analyst agentic runs model-written code beside gold: it needs a sandbox")
    tasks, base, backend = {task.id: task for task in suite.tasks}, suite.base, select(sandbox)

    async def read(trajectory: Trajectory, kind: AnalystType) -> Reading:
        if kind == "success":
            return await analyse(trajectory, kind, model, skill)
        name = trajectory.trajectory_id
        task = tasks.get(trajectory.task_id)
        if task is None:
            reason = f"no task {trajectory.task_id!r} to prove a fix on: give --tasks SUITE"
            return Reading(losses=(lost(name, reason),))
        # A folder name that tells trajectories apart and that a person can read.
        plain = re.sub(r"[^A-Za-z0-9.-]+", "_", name)[:60].strip(".") or "run"
        workdir = folder / f"{plain}-{digest(name)[:8]}"
        await asyncio.to_thread(remove_tree, workdir)
        record, losses, usage = await analyse_failure(
            trajectory, task, base, model=model, sandbox=backend, workdir=workdir, skill=skill,
            max_turns=max_turns,
        )  # fmt: skip
        return Reading(record=record, losses=tuple(losses), usage=usage)

    return read


def checked(read: Read) -> Read:
    """A reader whose records are dropped, with the reason, where the run contradicts them.

    Raises:
        BadInput: if no verifier is installed.
    """
    plugins.load("verifiers", "rules")

    async def reading(trajectory: Trajectory, kind: AnalystType) -> Reading:
        result = await read(trajectory, kind)
        if result.record is None:
            return result
        reason = await asyncio.to_thread(contradicted, result.record, transcript(trajectory))
        if not reason:
            return result
        loss = lost(trajectory.trajectory_id, reason)
        return Reading(losses=(*result.losses, loss), usage=result.usage)

    return reading


def contradicted(record: AnalystRecord, text: str) -> str:
    """Give the reason why a record's conclusion does not hold; "" where nothing speaks against it.

    Only contradictions count: an analyst may say more than the run shows in so many words.
    """
    if not record.summary.strip() or not text.strip():
        return ""
    objection = plugins.load("verifiers", "rules")(record.summary, text)
    return f"the run contradicts the conclusion: {objection}" if objection else ""


async def write_patch(record: AnalystRecord, index: int, model: Model, skill: str) -> Reading:
    """The record's patch, written by the model; where that fails, the record's own lessons.

    Raises:
        Unreachable, LimitReached: answered calls are in the request cache.
    """
    prompt = render("patch_map", record=record.model_dump_json(exclude={"edits"}), skill=skill)
    source = {"sources": (record.trajectory_id,), "support": 1}

    def sourced(data: dict[str, Any]) -> Patch:
        patch = Patch.model_validate({**data, "batch_index": index})
        if not patch.edits:
            raise ValueError("no edits")
        edits = tuple(edit.model_copy(update=source) for edit in patch.edits)
        return patch.model_copy(update={"edits": edits})

    patch, reason, usage = await ask_json(model, prompt, sourced)
    loss = Loss(trajectory_id=record.trajectory_id, stage="map", reason=reason)
    return Reading(
        record=record,
        patch=patch or to_patch(record, index),
        losses=() if patch else (loss,),
        usage=usage,
    )
