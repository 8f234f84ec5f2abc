"""Judging many answers: in this process, or spread over the workers of a fleet.

Workers get tasks and answers in batches and give scores; files that tasks name lie where they do
here, or come along once to every node. Whoever asks writes the records, so that these do not
depend on where the scores come from.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core import BadInput, HarnessError, Score, Task, Value
from harness.core import errors as kinds
from harness.tasks.types import Family

if TYPE_CHECKING:
    from harness.evals.suite import LoadedSuite
    from harness.fleet import Executor

FamilyOf = Callable[[Task], Family]
Asked = tuple[Task, str | None]
"""A task and an answer to it."""
Judge = Callable[[Sequence[Asked]], Iterator[tuple[int, Score]]]
"""Scores with the numbers of what was asked, as they are ready; raises what the first one raises
that cannot be judged."""

ENTRY = "harness.evals.rescore:judging"
MOST = 32
"""Answers of a batch, at most: a worker that dies loses what it has of one."""
ROUNDS = 8
"""Batches that each worker gets at least, so that none waits long for the others at the end."""


class JudgingSpec(Value):
    """What a worker needs to judge.

    Attributes:
        sandbox: a back end's name, `auto` or `none`; chosen by every worker on its machine.
        trust: whether code that comes with the suite runs outside the sandbox.
    """

    sandbox: str
    trust: bool

    def family_of(self) -> FamilyOf:
        """What judges a task.

        Raises:
            BadInput: if there is no such sandbox here.
        """
        from harness.sandbox import select
        from harness.tasks import family

        place = None if self.trust else select(self.sandbox)
        return lambda task: family(task, sandbox=place)


def score_again(task: Task, base: Path, family: FamilyOf, answer: str | None) -> Score:
    """The judgement of today on an answer whose work folder is gone."""
    with tempfile.TemporaryDirectory(prefix="regrade-") as folder:
        workdir = Path(folder)
        one = family(task)
        one.prepare(task, base, workdir)
        return one.score(task, base, workdir, answer)


def judge_here(base: Path, family: FamilyOf) -> Judge:
    """Judges in this process, one answer after the other.

    Args:
        base: folder that the tasks' files start at.
        family: judges a task.
    """

    def judge(asked: Sequence[Asked]) -> Iterator[tuple[int, Score]]:
        for number, (task, answer) in enumerate(asked):
            yield number, score_again(task, base, family, answer)

    return judge


def judge_elsewhere(suite: LoadedSuite, spec: JudgingSpec, executor: Executor) -> Judge:
    """Judges in the workers of an executor.

    Args:
        suite: its files are what the workers need.
        spec: how they judge.
        executor: starts them.
    """
    from harness.fleet import Tree
    from harness.fleet.bulk import Bulk

    trees = {"base": Tree(suite.base, suite.sent)}
    bulk = Bulk(executor, ENTRY, spec.model_dump(mode="json"), trees)

    def judge(asked: Sequence[Asked]) -> Iterator[tuple[int, Score]]:
        size = max(1, min(MOST, len(asked) // (ROUNDS * executor.workers)))
        starts = range(0, len(asked), size)
        batches = [_told(asked[at : at + size]) for at in starts]
        done, failures = set[int](), dict[int, HarnessError]()
        with closing(bulk.answers(batches)) as answers:
            for number, answer in answers:
                found = json.loads(answer)
                for place, row in enumerate(found["scores"], start=starts[number]):
                    yield place, Score.model_validate(row)
                if found["error"] is not None:
                    failures[number] = _raised(*found["error"])
                done.add(number)
                # Which of several comes first must not depend on which worker was quicker.
                if failures and done.issuperset(range(first := min(failures))):
                    raise failures[first]

    return judge


def _told(asked: Iterable[Asked]) -> str:
    """A batch; as JSON, which takes whatever an answer may hold."""
    return json.dumps([[task.model_dump(mode="json"), answer] for task, answer in asked])


def _raised(kind: str, message: str) -> HarnessError:
    error = getattr(kinds, kind, BadInput)
    return error(message)


def judging(argument: Any, trees: Mapping[str, Path]) -> Callable[[str], bytes]:
    """In a worker: tasks and answers to scores, up to the first that cannot be judged."""
    family = JudgingSpec.model_validate(argument).family_of()

    def judged(batch: str) -> bytes:
        scores, failure = list[dict[str, Any]](), None
        try:
            for row, answer in json.loads(batch):
                task = Task.model_validate(row)
                score = score_again(task, trees["base"], family, answer)
                scores.append(score.model_dump(mode="json"))
        except HarnessError as error:
            failure = [type(error).__name__, str(error)]
        return json.dumps({"scores": scores, "error": failure}).encode()

    return judged
