"""Gold examples: tasks of other splits with replies that the harness has run and judged itself.

Where they come from: a split of the suite (the gold answers of its tasks), runs or other
trajectories (what the agent replied in the end, or its last program), or `examples.jsonl` written
by hand. Whatever they claim to be, only what passes here is used.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from harness.core import (
    BadInput,
    Task,
    Trajectory,
    Value,
    canonical_json,
    grouped,
    write_atomic,
)
from harness.evals import Attempts, EvalPlan, LoadedSuite, score_again
from harness.models import open_model
from harness.sandbox import Sandbox
from harness.tasks import family, output_file
from harness.trajectories import content_text, open_trajectories, parse_code, programs_run

REPLIES = "examples.jsonl"
AT_ONCE = 2
"""Examples that are judged at a time."""


class Example(Value):
    """A task and a reply to it.

    Attributes:
        task: id.
        prompt: what the agent is asked, with the preview of its files where it sees one.
        reply: what an agent should reply: an answer, or a program in a block.
        weight: tokens of the model that will read it for each token of the project.
    """

    task: str
    prompt: str
    reply: str
    weight: float = 1.0


class Refusal(Value):
    """A pair that is no example, and why."""

    task: str
    reason: str


class Pool(Value):
    """Examples that may be drawn.

    Attributes:
        source: where the pairs came from.
        examples: verified, one a task.
        refused: pairs that are not used.
    """

    source: str
    examples: tuple[Example, ...]
    refused: tuple[Refusal, ...] = ()

    def __str__(self) -> str:
        text = f"{len(self.examples)} verified examples from {self.source}"
        reasons = Counter(row.reason for row in self.refused)
        return "; ".join([text, *(f"{count} refused: {why}" for why, count in reasons.items())])


class Pair(NamedTuple):
    """A task's id and a reply to it."""

    task: str
    reply: str


def read_pairs(source: str, splits: Mapping[str, Iterable[Task]]) -> list[Pair]:
    """The pairs of a source, the shortest reply to a task first.

    Args:
        source: name of a split, a run or other trajectories, `examples.jsonl` or its folder.
        splits: the tasks of the suite by split.

    Raises:
        BadInput: if it is none of these.
    """
    path = Path(source)
    file = path / REPLIES
    if source in splits:
        pairs = [
            Pair(task.id, task.answer)
            for task in splits[source]
            if isinstance(task.answer, str) and not output_file(task)
        ]
    elif path.exists():
        pairs = list(pairs_of(open_trajectories(file if file.is_file() else path)))
    else:
        raise BadInput(
            f"--examples: expected a split ({', '.join(splits)}), a run folder or trajectories, or "
            f"a folder with {REPLIES}; found none at {source!r}"
        )
    return sorted(pairs, key=lambda pair: len(pair.reply))


def pairs_of(trajectories: Iterable[Trajectory]) -> Iterator[Pair]:
    """Pair each request that did not fail with its last program as a block, else its answer."""
    for run in trajectories:
        if run.outcome in ("pass", ""):
            texts = [content_text(step.message) for step in run.steps if step.source == "agent"]
            written = [call for text in texts for call in parse_code(text, 1) or ()]
            codes = programs_run(run) or [str(call.arguments["code"]) for call in written]
            reply = f"```python\n{codes[-1].strip()}\n```" if codes else run.answer
            yield Pair(run.task_id, reply.strip())


async def verified(
    source: str,
    pairs: Iterable[Pair],
    plans: Mapping[str, EvalPlan],
    forbidden: Iterable[str],
    sandbox: Sandbox | None,
    *,
    trusted: bool = False,
) -> Pool:
    """Attempt each task with the reply in place of a model's, and keep what passes.

    Args:
        source: of the pairs.
        pairs: candidates; of several for one task the first that passes is taken.
        plans: task id -> the run that the task would be attempted in, without a skill.
        forbidden: ids of the tasks of the test.
        sandbox: where programs run.
        trusted: whether checks that are code run as the user's own programs.
    """
    by_task = grouped((pair.task, pair) for pair in pairs)
    held_out, slots = set(forbidden), asyncio.Semaphore(AT_ONCE)

    async def judged(task: str, replies: list[Pair]) -> Example | Refusal:
        if task in held_out:
            return Refusal(task=task, reason="its task is one of the test")
        if task not in plans:
            return Refusal(task=task, reason="the suite's other splits have no such task")
        refusal = Refusal(task=task, reason="its reply is empty")
        for pair in replies:
            if not pair.reply.strip():
                continue
            async with slots:
                example = await attempted(plans[task], pair, sandbox, trusted)
            if isinstance(example, Example):
                return example
            refusal = example
        return refusal

    rows = await asyncio.gather(*(judged(*item) for item in sorted(by_task.items())))
    return Pool(
        source=source,
        examples=tuple(row for row in rows if isinstance(row, Example)),
        refused=tuple(row for row in rows if isinstance(row, Refusal)),
    )


async def attempted(
    plan: EvalPlan, pair: Pair, sandbox: Sandbox | None, trusted: bool
) -> Example | Refusal:
    """One pair, judged: by an attempt of our own graphs, else by its answer."""
    judge = partial(family, sandbox=sandbox, trusted=trusted)
    suite: LoadedSuite = plan.suite
    task = next(task for task in suite.tasks if task.id == pair.task)
    try:
        if not plan.agent.spec.startswith("graph:"):
            score = await asyncio.to_thread(score_again, task, suite.base, judge, pair.reply)
            prompt, outcome, reason = task.prompt, score.outcome, score.reason
        else:
            with tempfile.TemporaryDirectory(prefix="example-") as folder:
                script = Path(folder) / "reply.json"
                write_atomic(script, canonical_json([{"text": pair.reply}]))
                async with aclosing(open_model(f"scripted/{script}")) as model:
                    attempts = Attempts(plan, Path(folder), model, sandbox, judge, None, None)
                    item, attempt = await attempts.run(task, 0)
            steps = attempt.trajectory.steps if attempt else ()
            prompt = next((content_text(s.message) for s in steps if s.source == "user"), "")
            outcome, reason = item.outcome, item.reason
    except BadInput as error:
        outcome, reason, prompt = "invalid", str(error), ""
    if outcome == "pass":
        return Example(task=task.id, prompt=prompt, reply=pair.reply.strip())
    return Refusal(task=task.id, reason=reason or f"its outcome is {outcome}")
