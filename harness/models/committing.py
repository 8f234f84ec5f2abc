"""One thread that runs jobs on a database and commits those that arrive together."""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from harness.core import BadInput

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]
Entry = tuple[Job[Any], Future[Any]]


class Committer:
    """Jobs from any thread, run one after the other, answered once they are on the disk.

    Args:
        db: a connection, which belongs to the thread from now on.
        name: of the database, for messages.
    """

    def __init__(self, db: sqlite3.Connection, name: str) -> None:
        self._db, self._name = db, name
        self._jobs: queue.SimpleQueue[Entry | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="calls", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether it takes jobs."""
        return self._thread.is_alive()

    def submit(self, job: Job[T]) -> Future[T]:
        """Run a job on the thread; the future has its result once it is on the disk.

        Raises:
            BadInput: if the thread has ended.
        """
        if not self.alive:
            raise BadInput(f"the call store {self._name!r} is closed")
        future: Future[T] = Future()
        self._jobs.put((job, future))
        return future

    def close(self) -> None:
        """Wait for what is under way and close the database."""
        if self.alive:
            self._jobs.put(None)
            self._thread.join()

    def _serve(self) -> None:
        while (first := self._jobs.get()) is not None:
            batch = [first]
            while not self._jobs.empty() and len(batch) < 256:
                entry = self._jobs.get()
                if entry is None:
                    self._jobs.put(None)
                    break
                batch.append(entry)
            self._run(batch)
        self._db.close()

    def _run(self, batch: list[Entry]) -> None:
        """Answer a batch after its commit, so that nothing is reported that is not on the disk."""
        outcomes: list[tuple[Future[Any], Any, BaseException | None]] = []
        failure: BaseException | None = None
        for job, future in batch:
            pending = self._db.in_transaction
            try:
                with explained(self._name):
                    outcomes.append((future, job(self._db), None))
            except Exception as error:  # noqa: BLE001  # handed to the caller who waits for it
                outcomes.append((future, None, error))
                if pending and not self._db.in_transaction:  # a full disk rolls all of it back
                    failure = error
        try:
            with explained(self._name):
                self._db.commit()
        except BadInput as error:
            failure = error
            self._db.rollback()
        for future, result, error in outcomes:
            if not future.set_running_or_notify_cancel():
                continue  # nobody waits any more; from here on it cannot be cancelled
            problem = error or failure
            if problem is None:
                future.set_result(result)
            else:
                future.set_exception(problem)


@contextmanager
def explained(name: str) -> Generator[None]:
    """Turn a fault of the disk or the file into an error that says what to do."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise BadInput(
            f"cannot use the call store {name!r}: {error}; check that it is a calls.sqlite and "
            "that the disk has space, then resume"
        ) from error
