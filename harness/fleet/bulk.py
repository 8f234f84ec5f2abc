"""Many small batches through the same function on a Ray cluster, with Ray Data.

For work whose function is heavy to set up and cheap to describe: embedding the chunks of an index,
judging a pile of answers. Each actor sets the function up once; answers come as they are ready.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import ormsgpack

from harness.fleet.actors import RayExecutor


@dataclass(frozen=True)
class Bulk:
    """A function in many processes.

    Attributes:
        executor: a cluster that this process has joined.
        entry: `module:function`; called once in every actor with `argument`, it gives the function
            that takes a batch and gives bytes.
        argument: a JSON value.
    """

    executor: RayExecutor
    entry: str
    argument: Any

    def answers(self, batches: Sequence[Any]) -> Iterator[tuple[int, bytes]]:
        """Number of a batch and its answer, in the order in which they are ready.

        Args:
            batches: JSON values.
        """
        import ray.data

        library: Any = ray.data
        context = library.DataContext.get_current()
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        context.enable_progress_bars = False
        context.execution_options.preserve_order = False
        rows = [{"number": n, "batch": ormsgpack.packb(one)} for n, one in enumerate(batches)]
        resources = self.executor.resources
        workers = min(self.executor.workers, len(rows))
        found = library.from_items(rows, override_num_blocks=len(rows)).map_batches(
            _Actor,
            fn_constructor_args=(self.entry, ormsgpack.packb(self.argument)),
            batch_size=1,
            compute=library.ActorPoolStrategy(size=workers),
            num_cpus=resources.get("CPU", 1.0),
            num_gpus=resources.get("GPU", 0.0),
        )
        for row in found.iter_rows():
            yield int(row["number"]), bytes(row["answer"])


class _Actor:
    def __init__(self, entry: str, argument: bytes) -> None:
        module, _, name = entry.partition(":")
        make: Callable[[Any], Callable[[Any], bytes]] = getattr(import_module(module), name)
        self._function = make(ormsgpack.unpackb(argument))

    def __call__(self, rows: dict[str, Any]) -> dict[str, Any]:
        answers = [self._function(ormsgpack.unpackb(bytes(one))) for one in rows["batch"]]
        return {"number": rows["number"], "answer": answers}
