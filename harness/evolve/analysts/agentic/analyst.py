"""The agentic error analyst: it finds a cause and hands in a fix; the harness proves the fix."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.agents.limits import AttemptEnded
from harness.agents.react import ReactContext
from harness.agents.types import ToolProtocol
from harness.core import BadInput, Task, Trajectory, Usage, assets, first_fault, render
from harness.evolve.analysts.agentic.proof import prove
from harness.evolve.analysts.agentic.trial import TASK_FILE, clean_trial, single_case
from harness.evolve.analysts.agentic.workspace import (
    FIX_LIMITS,
    MAX_SCRIPT_BYTES,
    SCRIPT,
    reachable,
    read_regular,
    run_fix,
)
from harness.evolve.analysts.single import accepted, lost, without_gold
from harness.evolve.analysts.transcript import extract
from harness.evolve.evidence import transcript
from harness.evolve.repair import parse_object
from harness.evolve.types import MAX_ITEMS, AnalystRecord, Loss, Proof
from harness.models import Message, Model, Sampling
from harness.sandbox import Limits, Sandbox
from harness.tasks import family
from harness.tools import Arguments, Bench, Tool, get_tools

EXTRACT = 12_000
"""Characters of the transcript that stand in the prompt; the rest is in a file."""
TRANSCRIPT_FILE = "transcript.txt"
REPAIRS = 2
_STEPS_PER_TURN = 4
_LAST_TURN = "You have no turns left. Reply with the JSON report now and call no tool."


class Dropped(Exception):
    """The trajectory gives no record; the message says why."""


@dataclass
class _Bench:
    """What one analyst works with."""

    task: Task
    base: Path
    folder: Path
    sandbox: Sandbox
    limits: Limits
    usage: Usage = field(default_factory=Usage)

    def script(self) -> bytes:
        """The fix as it stands.

        Raises:
            ValueError: if it is missing, or no ordinary file.
        """
        return read_regular(self.folder / SCRIPT, MAX_SCRIPT_BYTES)

    def score(self) -> str:
        """What the score tool says of the fix on the clean input."""
        try:
            script = self.script()
        except ValueError as error:
            return f"FAIL: {error}"
        trial = clean_trial(self.task, self.base)
        outcome = run_fix(script, trial, self.sandbox, self.limits)
        return f"FAIL: {outcome.detail}" if outcome.detail else "PASS"

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

    def heard(self, event: dict[str, Any]) -> None:
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
    bench = _Bench(single_case(task), base, workdir, sandbox, limits)
    try:
        prompt, text = await asyncio.to_thread(_set_up, bench, task, trajectory, skill)
        record, losses = await _report(bench, prompt, text, trajectory, model, protocol, max_turns)
        if record is None:
            return None, losses, bench.usage
        script = await asyncio.to_thread(bench.script)
        proof = await asyncio.to_thread(prove, script, task, base, sandbox, limits=limits)
    except (Dropped, BadInput, ValueError, OSError) as error:
        return None, [lost(trajectory, str(error))], bench.usage
    if not proof.holds:
        return None, [*losses, lost(trajectory, _unproven(proof))], bench.usage
    return record.model_copy(update={"proof": proof}), losses, bench.usage


def _set_up(bench: _Bench, task: Task, trajectory: Trajectory, skill: str) -> tuple[str, str]:
    """Fill the work folder; return the first message and the whole transcript.

    Raises:
        Dropped: if gold can be read from the sandbox.
        BadInput: if the task cannot be set up.
    """
    bench.folder.mkdir(parents=True, exist_ok=True)
    asked = family(bench.task, bench.sandbox).prepare(bench.task, bench.base, bench.folder)
    trial = clean_trial(bench.task, bench.base)
    if TASK_FILE in trial.files:
        (bench.folder / TASK_FILE).write_bytes(trial.files[TASK_FILE])
    text = transcript(trajectory)
    (bench.folder / TRANSCRIPT_FILE).write_text(text, encoding="utf-8")
    if open_to := reachable(_secrets(task, bench.base), bench.folder, bench.sandbox):
        raise Dropped(f"gold can be read in the sandbox {bench.sandbox.name!r}: {open_to[0]!r}")
    prompt = render(
        "analyst_agentic",
        task=asked,
        files=sorted(trial.files),
        extract=extract(trajectory, EXTRACT),
        shortened=len(text) > EXTRACT,
        output_file=trial.output_file,
        skill=skill,
        max_items=MAX_ITEMS,
    )
    return prompt, text


def _secrets(task: Task, base: Path) -> list[Path]:
    """Files that must be out of reach: the gold, and what lies beside the task's own files."""
    answers = task.answer if isinstance(task.answer, list) else [task.answer]
    golds = [base / one for one in answers if isinstance(one, str) and len(one) < 1000]
    beside = sorted(path for path in base.glob("*.jsonl"))[:20]
    return [path for path in (*golds, *beside) if _is_file(path)]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False  # an answer text that is no path


async def _report(
    bench: _Bench,
    prompt: str,
    text: str,
    trajectory: Trajectory,
    model: Model,
    protocol: ToolProtocol,
    max_turns: int,
) -> tuple[AnalystRecord | None, list[Loss]]:
    """Run the loop until the report can be used, with at most two repairs.

    Raises:
        Dropped: if there is no usable report.
    """
    messages: list[Message] = [{"role": "user", "content": prompt}]
    calls, reason = bench.usage.calls, ""
    for _ in range(1 + REPAIRS):
        turns = max(1, max_turns - (bench.usage.calls - calls))
        messages, answer = await _loop(bench, messages, model, protocol, turns)
        try:
            data, _ = parse_object(answer)
            record = accepted(data, trajectory, "error", text)
            bench.script()
            kept, losses = without_gold(record, trajectory)
            return kept, list(losses)
        except ValidationError as error:
            reason = first_fault(error)
        except ValueError as error:
            reason = str(error)
        complaint = f"That could not be used: {reason}. Put it right, then reply with the report."
        messages = [*messages, {"role": "user", "content": complaint}]
    raise Dropped(f"no usable report after {REPAIRS} repairs: {reason}")


async def _loop(
    bench: _Bench, messages: list[Message], model: Model, protocol: ToolProtocol, turns: int
) -> tuple[list[Message], str]:
    """The ReAct loop from where the conversation stands: (conversation, final answer).

    Raises:
        Dropped: if the model gives no final answer even when its turns are used up.
    """
    said = messages
    for limit in (turns, 1):
        context = ReactContext(
            model=model,
            sampling=Sampling(),
            bench=Bench(bench.folder, bench.sandbox, bench.limits),
            tools=bench.tools(),
            protocol=protocol,
            max_turns=limit,
            on_event=bench.heard,
        )
        state: Mapping[str, Any] = {"messages": said}
        config = {"recursion_limit": _STEPS_PER_TURN * limit + 50}
        try:
            graph = assets.load_graph("react")
            start = {"messages": said}
            async for now in graph.astream(start, config, context=context, stream_mode="values"):
                state = now
            return list(state["messages"]), str(state.get("answer") or "")
        except AttemptEnded as error:
            reason = str(error)
            said = [*state["messages"], {"role": "user", "content": _LAST_TURN}]
    raise Dropped(f"no report: {reason}")


def _unproven(proof: Proof) -> str:
    """Which run of a proof failed."""
    failed = next((run for run in proof.runs if not run.passed), None)
    if failed is not None:
        return f"unproven: the fix failed on the input {failed.input!r}: {failed.detail}"
    made = sum(run.kind != "clean" for run in proof.runs)
    return f"unproven: only {made} perturbed input(s) can be made of this task, two are needed"
