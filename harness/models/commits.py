"""A thread that commits what arrives together: one sync for many.

A request is recorded before it is sent and its response before it is returned. The first must
survive a kill of this process, for which it is enough that the system has it; the second must be on
the disk. So transactions with an outcome in them are synced, others are not, and while further
answers are on their way an outcome waits some milliseconds for company: one sync serves them all.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from harness.core import BadInput

MOST_JOBS = 256
"""Jobs of one transaction."""
COMPANY_S = 0.004
"""Seconds for which an outcome waits for others before they are synced together."""

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]


@contextmanager
def explained(name: str) -> Generator[None]:
    """Turn a fault of the disk or the file into an error that says what to do."""
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:  # it quotes damaged names
        raise BadInput(
            f"cannot use the call store {name!r}: {error}; check that it is a calls.sqlite and "
            "that the disk has space, then resume"
        ) from error


class _Entry(NamedTuple):
    job: Job[Any]
    opens: int
    future: Future[Any]


class Committer:
    """A thread that runs jobs from any thread one after the other, and commits them in batches.

    Args:
        db: a connection, which belongs to the thread from now on.
        name: of the database, for messages.
    """

    def __init__(self, db: sqlite3.Connection, name: str) -> None:
        self._db, self._name = db, name
        self._jobs: queue.SimpleQueue[_Entry | None] = queue.SimpleQueue()
        self._open = 0
        self._thread = threading.Thread(target=self._serve, name="calls", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """True while it takes jobs."""
        return self._thread.is_alive()

    def submit(self, job: Job[T], *, opens: int = 0) -> Future[T]:
        """Run a job on the thread; the future has its result once it is committed.

        Args:
            job: is given the connection.
            opens: 1 for a request that is about to be sent; -1 for its outcome, which is on the
                disk when the future is done.

        Raises:
            BadInput: if the thread has ended.
        """
        if not self.alive:
            raise BadInput(f"the call store {self._name!r} is closed")
        future: Future[T] = Future()
        self._jobs.put(_Entry(job, opens, future))
        return future

    def close(self) -> None:
        """Wait for what is under way and close the database."""
        if self.alive:
            self._jobs.put(None)
            self._thread.join()

    def _serve(self) -> None:
        while (entry := self._jobs.get()) is not None:
            batch: list[_Entry] = []
            deadline = 0.0
            while entry is not None:
                batch.append(entry)
                self._open += entry.opens
                if entry.opens < 0 and not deadline:
                    deadline = time.monotonic() + COMPANY_S
                if len(batch) == MOST_JOBS:
                    break
                # Company comes only where requests are under way.
                patience = max(0.0, deadline - time.monotonic()) if self._open > 0 else 0.0
                try:
                    entry = self._jobs.get(timeout=patience)
                except queue.Empty:
                    break
            else:
                self._jobs.put(None)  # the end, once these are committed
            self._run(batch)
        self._db.close()

    def _run(self, batch: list[_Entry]) -> None:
        """Answer a batch after its commit, so that nothing is reported that is not stored."""
        synced = any(entry.opens < 0 for entry in batch)
        self._db.execute(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
        results: list[tuple[Future[Any], Any, BaseException | None]] = []
        failure: BaseException | None = None
        for job, _, future in batch:
            pending = self._db.in_transaction
            try:
                with explained(self._name):
                    results.append((future, job(self._db), None))
            except Exception as error:  # noqa: BLE001  # handed to the caller who waits for it
                results.append((future, None, error))
                if pending and not self._db.in_transaction:  # a full disk rolls all of it back
                    failure = error
        try:
            with explained(self._name):
                self._db.commit()
        except BadInput as error:
            failure = error
            self._db.rollback()
        for future, result, error in results:
            if not future.set_running_or_notify_cancel():
                continue  # nobody waits any more; from here on it cannot be cancelled
            problem = error or failure
            if problem is None:
                future.set_result(result)
            else:
                future.set_exception(problem)
