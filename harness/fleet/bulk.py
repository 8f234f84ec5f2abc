"""Many small batches through the same function: in processes here, or with Ray Data on a cluster.

For work whose function is heavy to set up and cheap to describe: embedding the chunks of an index,
judging a pile of answers. Each worker sets the function up once; answers come as they are ready. A
batch whose worker dies goes to another one; one over which :data:`DEATHS` workers have died ends
the work, since it may be what kills them.

Judges get tasks and answers and return scores; files that tasks name are read where they are, or
sent once to every node. The process that asks writes the records.
"""

from __future__ import annotations

import asyncio
import json
import logging
import tempfile
import warnings
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import ormsgpack

from harness.core import BadInput, HarnessError, Unreachable
from harness.core import errors as kinds
from harness.fleet.actors import RayExecutor
from harness.fleet.channel import Channel, Methods
from harness.fleet.driver import DEATHS, WorkersLost, open_fleet
from harness.fleet.types import Executor, Tree, Work, pack, unpack

if TYPE_CHECKING:
    from harness.core import Score
    from harness.evals import Judge, JudgingSpec, LoadedSuite, Question

BATCHES = "harness.fleet.bulk:serve_batches"
LOST = f"{DEATHS} workers died while they worked on the same batch (out of memory, perhaps)"
Answer = tuple[int, bytes]
"""Number of a batch, and what the function gave for it."""


@dataclass(frozen=True)
class Bulk:
    """A function in many processes.

    Attributes:
        executor: starts the workers; one of Ray leaves them to Ray Data.
        entry: `module:function`; called once in every worker with `argument` and the folders of
            `trees`, it gives the function that takes a batch and gives bytes.
        argument: a JSON value.
        trees: files that the function needs, by name; each node gets them once.
    """

    executor: Executor
    entry: str
    argument: Any
    trees: Mapping[str, Tree] = field(default_factory=dict[str, Tree])

    def answers(self, batches: Sequence[Any]) -> Generator[Answer]:
        """Number of a batch and its answer, in the order in which they are ready.

        Not to be called where an event loop runs.

        Args:
            batches: JSON values.

        Raises:
            WorkersLost: if worker after worker died over a batch.
            Unreachable: if the workers cannot begin, or cannot be kept running.
        """
        if not batches:
            return
        if isinstance(self.executor, RayExecutor):
            yield from self._by_ray(self.executor, batches)
            return
        with asyncio.Runner() as runner:
            answers = self._by_fleet(batches)

            async def following() -> Answer | None:
                return await anext(answers, None)

            try:
                while (answer := runner.run(following())) is not None:
                    yield answer
            finally:
                runner.run(answers.aclose())

    async def _by_fleet(self, batches: Sequence[Any]) -> AsyncGenerator[Answer]:
        spec = {"entry": self.entry, "argument": self.argument}
        work = Work(BATCHES, spec, dict(self.trees))
        turns = asyncio.Semaphore(self.executor.workers)  # one each: a death costs one batch
        async with open_fleet(self.executor, work, {}) as fleet:

            async def ask(number: int, batch: Any) -> Answer:
                async with turns:
                    try:
                        return number, await fleet.call("batch", batch)
                    except WorkersLost as error:
                        raise WorkersLost(LOST) from error

            tasks = [asyncio.create_task(ask(*batch)) for batch in enumerate(batches)]
            try:
                for ready in asyncio.as_completed(tasks):
                    yield await ready
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    def _by_ray(self, executor: RayExecutor, batches: Sequence[Any]) -> Generator[Answer]:
        import ray
        import ray.data  # pyright: ignore[reportUnusedImport]  # makes it `ray.data`
        from ray.exceptions import RayActorError

        library: Any = ray
        context = library.data.DataContext.get_current()
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # what it raises says it all
        context.enable_progress_bars = False
        context.execution_options.preserve_order = False
        rows = [
            {"number": number, "batch": ormsgpack.packb(batch)}
            for number, batch in enumerate(batches)
        ]
        files = library.put(pack(self.trees)) if self.trees else None
        dataset = library.data.from_items(rows, override_num_blocks=len(rows))
        with warnings.catch_warnings():
            # Without a bound Ray Data would try a batch that kills its worker for ever, and the
            # only way to name one is an option that is deprecated without another in its place.
            warnings.filterwarnings("ignore", "`ray_remote_args` is deprecated")
            answers = dataset.map_batches(
                _Actor,
                fn_constructor_args=(self.entry, ormsgpack.packb(self.argument), files),
                batch_size=1,
                compute=library.data.ActorPoolStrategy(size=min(executor.workers, len(rows))),
                max_task_retries=DEATHS - 1,
                **executor.options,
            )
        try:
            for row in answers.iter_rows():
                if row["unable"]:
                    raise Unreachable(f"a worker cannot begin: {row['unable']}")
                yield int(row["number"]), bytes(row["answer"])
        except RayActorError as error:
            raise WorkersLost(f"{LOST}: {error}") from error


@asynccontextmanager
async def serve_batches(
    channel: Channel, spec: dict[str, Any], trees: dict[str, Path]
) -> AsyncGenerator[Methods]:
    """Serve as a worker of a fleet for a :class:`Bulk`."""
    function = resolve_name(spec["entry"])(spec["argument"], trees)
    with ThreadPoolExecutor(1) as thread:

        async def batch(value: Any) -> bytes:
            return await asyncio.get_running_loop().run_in_executor(thread, function, value)

        yield {"batch": batch}


class _Actor:
    """Actor of Ray Data for a :class:`Bulk`."""

    def __init__(self, entry: str, argument: bytes, files: Any) -> None:
        import ray

        library: Any = ray
        self._folder = tempfile.TemporaryDirectory(prefix="harness-worker-")
        trees = {} if files is None else unpack(library.get(files), Path(self._folder.name))
        self._function: Callable[[Any], bytes] | None = None
        self._unable = ""
        try:
            self._function = resolve_name(entry)(ormsgpack.unpackb(argument), trees)
        except HarnessError as error:  # raised here, Ray would begin it again and again
            self._unable = str(error)

    def __del__(self) -> None:
        self._folder.cleanup()

    def __call__(self, rows: dict[str, Any]) -> dict[str, Any]:
        (batch,) = rows["batch"]
        answer = self._function(ormsgpack.unpackb(bytes(batch))) if self._function else b""
        return {"number": rows["number"], "answer": [answer], "unable": [self._unable]}


JUDGING = "harness.fleet.bulk:judging"
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
    from harness.core import Score

    trees = {"base": Tree(suite.base, suite.sent)}
    bulk = Bulk(executor, JUDGING, spec.model_dump(mode="json"), trees)

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
    from harness.core import Task
    from harness.evals import JudgingSpec, score_again  # here: workers that embed need none of it

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
