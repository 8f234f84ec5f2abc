"""Many small batches through the same function: in processes here, or with Ray Data on a cluster.

For work whose function is heavy to set up and cheap to describe: embedding the chunks of an index,
judging a pile of answers. Each worker sets the function up once; answers come as they are ready. A
batch whose worker dies goes to another one; one over which :data:`DEATHS` workers have died ends
the work, since it may be what kills them.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import warnings
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import ormsgpack

from harness.core import HarnessError, Unreachable
from harness.fleet.actors import RayExecutor
from harness.fleet.channel import Channel, Methods
from harness.fleet.driver import DEATHS, WorkersLost, open_fleet
from harness.fleet.trees import pack, unpack
from harness.fleet.types import Executor, Tree, Work

ENTRY = "harness.fleet.bulk:serve_batches"
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
        work = Work(ENTRY, spec, dict(self.trees))
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
    """What a worker of a fleet does for a :class:`Bulk`."""
    function = resolve_name(spec["entry"])(spec["argument"], trees)
    with ThreadPoolExecutor(1) as thread:

        async def batch(value: Any) -> bytes:
            return await asyncio.get_running_loop().run_in_executor(thread, function, value)

        yield {"batch": batch}


class _Actor:
    """What an actor of Ray Data does for a :class:`Bulk`."""

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
