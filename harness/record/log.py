"""The recording on disk: events appended as they come, each batch in a frame that is synced.

A kill loses at most what arrived during the last sync; a torn last frame is dropped on opening.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import cast

from harness.core import BadInput
from harness.core.segments import SegmentWriter, only_writer, read_segment
from harness.record.exchange import Event

FILE = "exchanges.seg"
_BATCH = 1000


class LogWriter:
    """The one writer of a recording. Close it.

    Events are written by one thread; those that wait while it syncs go into its next frame, so
    that a stream of many small events costs few syncs and never waits for the disk.

    Args:
        folder: of the recording; made if absent.

    Raises:
        BadInput: if another process records into the folder.
    """

    def __init__(self, folder: Path) -> None:
        self._guard = only_writer(folder)
        try:
            self._segment = SegmentWriter(folder / FILE)
        except BaseException:
            self._guard.close()
            raise
        self._waiting: queue.SimpleQueue[tuple[Event, Future[None]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="recording", daemon=True)
        self._thread.start()

    @property
    def dropped_bytes(self) -> int:
        """Bytes of a torn frame that a kill had left."""
        return self._segment.dropped_bytes

    def add(self, event: Event) -> Future[None]:
        """Append an event; the future is done when it is on the disk.

        The future raises BadInput if the disk is full.
        """
        future: Future[None] = Future()
        self._waiting.put((event, future))
        return future

    async def put(self, event: Event) -> None:
        """Append an event, and return when it and all before it are on the disk."""
        await asyncio.wrap_future(self.add(event))

    def close(self) -> None:
        """Write what waits, and let another process record."""
        self._waiting.put(None)
        self._thread.join()
        self._segment.close()
        self._guard.close()

    def _write(self) -> None:
        more = True
        while more and (first := self._waiting.get()) is not None:
            batch = [first]
            while len(batch) < _BATCH and not self._waiting.empty():
                entry = self._waiting.get()
                if entry is None:
                    more = False
                    break
                batch.append(entry)
            problem: Exception | None = None
            try:
                self._segment.append([event for event, _ in batch])
            except Exception as error:  # noqa: BLE001  # handed to those who wait for it
                problem = error
            for _, future in batch:
                if not future.set_running_or_notify_cancel():
                    continue
                if problem is None:
                    future.set_result(None)
                else:
                    future.set_exception(problem)


def read_log(folder: Path) -> Iterator[Event]:
    """The events of a recording, in order; a torn end is passed over.

    Raises:
        BadInput: if there is no recording, or it is damaged in the middle.
    """
    path = folder / FILE
    if not path.is_file():
        raise BadInput(
            f"expected a recording (a folder with {FILE}), found none at {str(folder)!r}"
        )
    for batch in read_segment(path):
        yield from cast("list[Event]", batch)
