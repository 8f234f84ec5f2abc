"""Many small batches through one function, in the workers of an executor.

For work whose function is heavy to set up and cheap to describe: embedding the chunks of an index,
judging a pile of answers. Each worker sets the function up once. A batch whose worker dies goes to
another one, as an attempt does.

Judges get tasks and answers and return scores; files that tasks name are read where they are, or
sent once to every node. The process that asks writes the records.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.fleet.executors import WorkerExecutor
from harness.fleet.trees import Tree
from harness.fleet.workers import Ask

if TYPE_CHECKING:
    from harness.core import Score
    from harness.evals import Judge, JudgingSpec, LoadedSuite, Question

AHEAD = 4
"""Batches that are given out for each worker: none is idle while the oldest of them is awaited, and
memory does not grow with their number."""
MOST = 32
"""Answers of a batch, at most: a worker that dies loses what it has of one."""
ROUNDS = 8
"""Batches that each worker gets at least, so that none waits long for the others at the end."""


def answers(
    executor: WorkerExecutor,
    entry: str,
    spec: Any,
    batches: Iterable[Any],
    trees: Mapping[str, Tree] | None = None,
) -> Generator[Any]:
    """The answer to each batch, in their order. Not to be called where an event loop runs.

    Args:
        executor: starts the workers.
        entry: see :mod:`harness.fleet.workers`; its function is called with every batch.
        spec: for the entry.
        batches: values that can be pickled.
        trees: files for the entry, by name; each node gets them once.

    Raises:
        WorkersLost: if worker after worker died over a batch.
        Unreachable: if the workers cannot begin, or cannot be kept running.
        HarnessError: from the function, for the first batch that it cannot answer.
    """

    async def in_order() -> AsyncGenerator[list[Any]]:
        upcoming = iter(batches)
        async with executor.open(entry, spec, trees or {}) as ask:

            def given_out(count: int) -> list[asyncio.Future[Any]]:
                return [asyncio.ensure_future(ask(batch)) for batch in islice(upcoming, count)]

            pending = deque(given_out(AHEAD * executor.workers))
            try:
                while pending:
                    await pending[0]
                    pending += given_out(1)
                    yield [pending.popleft().result()]
            finally:
                for work in pending:
                    work.cancel()
                await asyncio.gather(*pending, return_exceptions=True)

    with asyncio.Runner() as runner:
        stream = in_order()

        async def following() -> list[Any]:
            return await anext(stream, list[Any]())

        try:
            while answer := runner.run(following()):
                yield from answer
        finally:
            runner.run(stream.aclose())


def remote_judge(executor: WorkerExecutor, suite: LoadedSuite, spec: JudgingSpec) -> Judge:
    """Judges in the workers of an executor.

    Args:
        executor: starts them.
        suite: its files are what the workers need.
        spec: how they judge.
    """
    trees = {"base": Tree(suite.base, suite.sent)}

    def judge(questions: Sequence[Question]) -> Iterator[tuple[int, Score]]:
        size = max(1, min(MOST, len(questions) // (ROUNDS * executor.workers)))
        batches = [questions[start : start + size] for start in range(0, len(questions), size)]
        entry = "harness.fleet.bulk:judging"
        with closing(answers(executor, entry, spec, batches, trees)) as judged:
            yield from enumerate(score for scores in judged for score in scores)

    return judge


async def judging(spec: JudgingSpec, trees: Mapping[str, Path]) -> Ask:
    """In a worker: judges batches of tasks and answers."""
    from harness.evals import score_again  # here: workers that embed need none of it

    family = spec.family_of()

    async def judge(questions: Sequence[Question]) -> list[Score]:
        return [
            score_again(task, trees["base"], family, answer, work)
            for task, answer, work in questions
        ]

    return judge
