"""Judging many answers in the workers of a fleet.

Workers get tasks and answers in batches and return scores; files that tasks name are read where
they are, or sent once to every node. The process that asks writes the records.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from harness.core import BadInput, HarnessError, Score, Task
from harness.core import errors as kinds
from harness.evals import Judge, JudgingSpec, LoadedSuite, Question, score_again
from harness.fleet.bulk import Bulk
from harness.fleet.types import Executor, Tree

ENTRY = "harness.fleet.judging:judging"
MOST = 32
"""Answers of a batch, at most: a worker that dies loses what it has of one."""
ROUNDS = 8
"""Batches that each worker gets at least, so that none waits long for the others at the end."""


def remote_judge(executor: Executor, suite: LoadedSuite, spec: JudgingSpec) -> Judge:
    """Judges in the workers of an executor.

    Args:
        executor: starts them.
        suite: its files are what the workers need.
        spec: how they judge.
    """
    trees = {"base": Tree(suite.base, suite.sent)}
    bulk = Bulk(executor, ENTRY, spec.model_dump(mode="json"), trees)

    def judge(questions: Sequence[Question]) -> Iterator[tuple[int, Score]]:
        size = max(1, min(MOST, len(questions) // (ROUNDS * executor.workers)))
        starts = range(0, len(questions), size)
        batches = [
            json.dumps([[task.model_dump(mode="json"), answer] for task, answer in batch])
            for batch in (questions[start : start + size] for start in starts)
        ]  # as JSON, which takes whatever an answer may hold
        finished, failures = set[int](), dict[int, HarnessError]()
        with closing(bulk.answers(batches)) as answers:
            for number, answer in answers:
                reply = json.loads(answer)
                for position, row in enumerate(reply["scores"], start=starts[number]):
                    yield position, Score.model_validate(row)
                if reply["error"] is not None:
                    kind, message = reply["error"]
                    failures[number] = getattr(kinds, kind, BadInput)(message)
                finished.add(number)
                # Which of several comes first must not depend on which worker was quicker.
                if failures and finished.issuperset(range(first := min(failures))):
                    raise failures[first]

    return judge


def judging(argument: Any, trees: Mapping[str, Path]) -> Callable[[str], bytes]:
    """In a worker: judges batches of tasks and answers, up to the first that cannot be judged."""
    family = JudgingSpec.model_validate(argument).family_of()

    def score(batch: str) -> bytes:
        scores, failure = list[dict[str, Any]](), None
        try:
            for row, answer in json.loads(batch):
                task = Task.model_validate(row)
                judged = score_again(task, trees["base"], family, answer)
                scores.append(judged.model_dump(mode="json"))
        except HarnessError as error:
            failure = [type(error).__name__, str(error)]
        return json.dumps({"scores": scores, "error": failure}).encode()

    return score
