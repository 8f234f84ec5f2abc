"""The agentic error analyst: it finds a cause and hands in a fix; the harness proves the fix."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.agents import AttemptEnded, ReactContext, ToolProtocol
from harness.core import (
    BadInput,
    Task,
    Trajectory,
    UnfitFile,
    Usage,
    assets,
    read_work_file,
    render,
)
from harness.evolve.analysts.agentic.proof import prove
from harness.evolve.analysts.agentic.trial import (
    FIX_LIMITS,
    MAX_SCRIPT_BYTES,
    SCRIPT,
    TASK_FILE,
    clean_trial,
    reachable,
    run_fix,
    single_case,
)
from harness.evolve.analysts.json_reply import complaint, parse_object
from harness.evolve.analysts.records import accepted, lost, without_gold
from harness.evolve.analysts.transcript import extract, transcript
from harness.evolve.types import MAX_ITEMS, AnalystRecord, Loss
from harness.models import Message, Model, Sampling
from harness.sandbox import Limits, Sandbox
from harness.tasks import family
from harness.tools import Arguments, Bench, Tool, get_tools

# Characters of the transcript that stand in the prompt; the rest is in a file.
EXTRACT = 12_000
TRANSCRIPT_FILE = "transcript.txt"
REPAIRS = 2
_STEPS_PER_TURN = 4
_LAST_TURN = "You have no turns left. Reply with the JSON report now and call no tool."


class Dropped(Exception):
    """The trajectory gives no record; the message says why."""


@dataclass
class _Workplace:
    """Resources of one analyst."""

    task: Task
    base: Path
    folder: Path
    sandbox: Sandbox
    limits: Limits
    usage: Usage = field(default_factory=Usage)

    def script(self) -> bytes:
        """The fix as it stands.

        Raises:
            UnfitFile: if it is missing, or no ordinary file.
        """
        try:
            return read_work_file(self.folder, SCRIPT, MAX_SCRIPT_BYTES)
        except FileNotFoundError:
            raise UnfitFile(f"there is no file {SCRIPT}") from None

    def score(self) -> str:
        """Score the fix on the clean input, as the score tool tells it."""
        try:
            script = self.script()
        except ValueError as error:
            return f"FAIL: {error}"
        run = run_fix(script, clean_trial(self.task, self.base), self.sandbox, self.limits)
        return f"FAIL: {run.detail}" if run.detail else "PASS"

    def tools(self) -> tuple[Tool, ...]:
        """bash, python and score."""

        async def run(arguments: Arguments, bench: Bench) -> str:
            del arguments, bench  # it always judges the fix of this analyst
            return await asyncio.to_thread(self.score)

        score = Tool(
            name="score",
            description=f"Run {SCRIPT} on the task's input and say PASS, or FAIL and what differs.",
            parameters={"type": "object", "properties": {}},
            run=run,
        )
        return (*get_tools(["bash", "python"]), score)

    def count(self, event: dict[str, Any]) -> None:
        """Add up what the calls used."""
        if event["type"] == "reply":
            self.usage += event["reply"].usage


async def analyse_failure(
    trajectory: Trajectory,
    task: Task,
    base: Path,
    *,
    model: Model,
    sandbox: Sandbox,
    workdir: Path,
    skill: str,
    max_turns: int = 20,
    protocol: ToolProtocol = "native",
    limits: Limits = FIX_LIMITS,
) -> tuple[AnalystRecord | None, list[Loss], Usage]:
    """Let an analyst with tools read one failed run; its record carries the harness's proof.

    The analyst's folder holds the clean input and the transcript, no gold. What it hands in is
    `fix.py` and a JSON report. A record whose fix is not proven is a loss that says which run
    failed.

    Args:
        trajectory: the failed run.
        task: its task.
        base: folder that paths of the task start at.
        model: answers the analyst's calls.
        sandbox: where its tools and its fix run.
        workdir: empty or absent folder for its files.
        skill: text of the frozen skill, or "".
        max_turns: model calls at most; one more for the report when they are used up.
        protocol: native tool calls, or the text protocol.
        limits: of every execution.

    Raises:
        Unreachable, LimitReached: answered calls are in the request cache.
    """
    work = _Workplace(single_case(task), base, workdir, sandbox, limits)
    name, text = trajectory.trajectory_id, transcript(trajectory)
    losses: list[Loss] = []
    try:
        prompt = await asyncio.to_thread(_set_up, work, task, trajectory, text, skill)
        messages: list[Message] = [{"role": "user", "content": prompt}]
        record, reason = None, ""
        for _ in range(1 + REPAIRS):
            turns = max(1, max_turns - work.usage.calls)
            messages, answer = await _loop(work, messages, model, protocol, turns)
            try:
                record = accepted(parse_object(answer)[0], trajectory, "error", text)
                work.script()
                break
            except ValueError as error:
                record, reason = None, complaint(error)
            request = f"That could not be used: {reason}. Put it right, then reply with the report."
            messages = [*messages, {"role": "user", "content": request}]
        if record is None:
            raise Dropped(f"no usable report after {REPAIRS} repairs: {reason}")
        record, without = without_gold(record)
        losses += without
        if record is None:
            return None, losses, work.usage
        script = await asyncio.to_thread(work.script)
        proof = await asyncio.to_thread(prove, script, task, base, sandbox, limits=limits)
    except (Dropped, BadInput, ValueError, OSError) as error:
        return None, [lost(name, str(error))], work.usage
    if proof.holds:
        return record.model_copy(update={"proof": proof}), losses, work.usage
    perturbed = sum(run.kind != "clean" for run in proof.runs)
    reason = f"only {perturbed} perturbed input(s) can be made of this task, two are needed"
    if failed := next((run for run in proof.runs if not run.passed), None):
        reason = f"the fix failed on the input {failed.input!r}: {failed.detail}"
    return None, [*losses, lost(name, f"unproven: {reason}")], work.usage


def _set_up(work: _Workplace, task: Task, trajectory: Trajectory, text: str, skill: str) -> str:
    """Fill the work folder; return the first message.

    Raises:
        Dropped: if gold can be read from the sandbox.
        BadInput: if the task cannot be set up.
    """
    work.folder.mkdir(parents=True, exist_ok=True)
    question = family(work.task, work.sandbox).prepare(work.task, work.base, work.folder)
    trial = clean_trial(work.task, work.base)
    if TASK_FILE in trial.files:
        (work.folder / TASK_FILE).write_bytes(trial.files[TASK_FILE])
    (work.folder / TRANSCRIPT_FILE).write_text(text, encoding="utf-8")
    # Files that must be out of reach: the gold, and what lies beside the task's own files.
    answers = task.answer if isinstance(task.answer, list) else [task.answer]
    golds = [work.base / text for text in answers if isinstance(text, str) and len(text) < 1000]
    secrets: list[Path] = []
    for path in (*golds, *sorted(work.base.glob("*.jsonl"))[:20]):
        try:
            secrets += [path] if path.is_file() else []
        except (OSError, ValueError):
            continue  # an answer text that is no path
    if readable := reachable(secrets, work.folder, work.sandbox):
        raise Dropped(f"gold can be read in the sandbox {work.sandbox.name!r}: {readable[0]!r}")
    return render(
        "analyst_agentic",
        task=question,
        files=sorted(trial.files),
        extract=extract(trajectory, EXTRACT),
        shortened=len(text) > EXTRACT,
        output_file=trial.output_file,
        skill=skill,
        max_items=MAX_ITEMS,
    )


async def _loop(
    work: _Workplace, messages: list[Message], model: Model, protocol: ToolProtocol, turns: int
) -> tuple[list[Message], str]:
    """The ReAct loop from where the conversation stands: (conversation, final answer).

    Raises:
        Dropped: if the model gives no final answer even when its turns are used up.
    """
    conversation, reason = messages, ""
    for limit in (turns, 1):
        context = ReactContext(
            model=model,
            sampling=Sampling(),
            bench=Bench(work.folder, work.sandbox, work.limits),
            tools=work.tools(),
            protocol=protocol,
            max_turns=limit,
            on_event=work.count,
        )
        start: dict[str, Any] = {"messages": conversation}
        state: Mapping[str, Any] = start
        config = {"recursion_limit": _STEPS_PER_TURN * limit + 50}
        try:
            graph = assets.load_graph("react")
            async for now in graph.astream(start, config, context=context, stream_mode="values"):
                state = now
            return list(state["messages"]), str(state.get("answer") or "")
        except AttemptEnded as error:
            reason = str(error)
            conversation = [*state["messages"], {"role": "user", "content": _LAST_TURN}]
    raise Dropped(f"no report: {reason}")
