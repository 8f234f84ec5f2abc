"""Artifacts of the stages of an evolution: values by digest, in one file; and its trajectories.

Graph state carries the digests alone, so a checkpoint stays small however long the trajectories
are, and no stage holds more than it works on.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import zstandard
from pydantic import BaseModel

from harness.core import BadInput, Trajectory, Unreachable, Value, decompressed, digest
from harness.evals.report import cause

ValueT = TypeVar("ValueT", bound=BaseModel)
NAME = "work.sqlite"
# Trajectories that are written in one transaction.
BATCH = 256
# Tasks that must share a label before it counts as the benchmark's.
SHARED_LABEL = 5
# Field of a task with the answer that is right: rules may name it.
EXPECTED = "expected"


class Run(Value):
    """Summary of a trajectory, for stages that do not read it.

    Attributes:
        id: the trajectory's.
        task_id: its task; support is counted in these.
        outcome: pass, fail, invalid, or "" where nothing was scored.
        simulated: whether a simulated model made it.
        digest: of the whole trajectory, in the artifact store.
    """

    id: str
    task_id: str
    outcome: str
    simulated: bool
    digest: str


class Runs(Value):
    """All trajectories of an evolution, by id.

    Attributes:
        runs: one entry per trajectory.
        terms: words of the benchmark that no rule may hold, lower-cased and sorted: names of the
            fields that describe a task (those with an underscore), and labels with a hyphen or
            space that at least five tasks share (a task type).
    """

    runs: tuple[Run, ...] = ()
    terms: tuple[str, ...] = ()


# Share of the attempts that must be judged before anything is learned from them.
JUDGED = 0.5


class ArtifactStore:
    """Values by digest in `work.sqlite`; putting a value twice keeps one copy.

    A value is on disk when :meth:`put` or :meth:`keep` returns: a checkpoint that names it can be
    resumed from.

    Args:
        path: the file, made if absent; None keeps everything in memory.

    Raises:
        BadInput: if the file is no artifact store, or the disk is full.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._name = str(path or "memory")
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # The graph library runs plain functions on threads of its own.
            self._db = sqlite3.connect(path or ":memory:", check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS shelf (digest TEXT PRIMARY KEY, value BLOB NOT NULL)"
                " WITHOUT ROWID"
            )
        except sqlite3.Error as error:
            raise BadInput(f"cannot open {self._name!r}: {error}") from error
        self._cache: dict[type[BaseModel], tuple[str, BaseModel]] = {}
        self._lock = threading.Lock()
        self._waiting: dict[str, bytes] = {}
        self._commit = asyncio.Lock()

    def put(self, value: BaseModel) -> str:
        """Store a value; its digest.

        Raises:
            BadInput: if it cannot be written.
        """
        key, data = _packed(value)
        self._write({key: data})
        return key

    async def keep(self, value: BaseModel) -> str:
        """Store a value like :meth:`put`, in one transaction with the loop's other tasks."""
        key, data = _packed(value)
        self._waiting[key] = data
        async with self._commit:
            if key in self._waiting:
                rows, self._waiting = self._waiting, {}
                try:
                    await asyncio.to_thread(self._write, rows)
                except BaseException:
                    self._waiting = rows | self._waiting  # the others must fail, too
                    raise
        return key

    def take_in(self, trajectories: Iterable[Trajectory]) -> Runs:
        """Store trajectories, holding few of them at a time; they are ordered by id.

        A concurrent run stores them as they end, differently every time.
        """
        runs: list[Run] = []
        names: set[str] = set()
        labels: Counter[str] = Counter()
        rows: dict[str, bytes] = {}
        for trajectory in trajectories:
            task = trajectory.harness.get("task")
            for name, value in task.items() if isinstance(task, dict) else ():
                if "_" in name:
                    names.add(name.casefold())
                if (
                    name != EXPECTED
                    and isinstance(value, str)
                    and len(value) < 40
                    and re.search(r"\w[- ]\w", value)
                ):
                    labels[value.casefold()] += 1
            key, data = _packed(trajectory)
            rows[key] = data
            runs.append(
                Run(
                    id=trajectory.trajectory_id,
                    task_id=trajectory.task_id,
                    outcome=trajectory.outcome,
                    simulated=bool(trajectory.harness.get("simulated")),
                    digest=key,
                )
            )
            if len(rows) == BATCH:
                self._write(rows)
                rows.clear()
        self._write(rows)
        shared = {label for label, count in labels.items() if count >= SHARED_LABEL}
        terms = tuple(sorted(names | shared))
        return Runs(runs=tuple(sorted(runs, key=lambda run: run.id)), terms=terms)

    def _write(self, rows: Mapping[str, bytes]) -> None:
        try:
            with self._lock, self._db:
                self._db.executemany("INSERT OR IGNORE INTO shelf VALUES (?, ?)", rows.items())
        except sqlite3.Error as error:
            raise BadInput(f"cannot write {self._name!r}: {error}; free space, resume") from error

    def get(self, key: str, kind: type[ValueT]) -> ValueT:
        """The value of that digest.

        Raises:
            BadInput: if there is none.
        """
        with self._lock:
            row = self._db.execute("SELECT value FROM shelf WHERE digest = ?", (key,)).fetchone()
        if row is None:
            raise BadInput(f"{self._name!r} does not hold {key[:12]}: it belongs to another run")
        return kind.model_validate_json(decompressed(row[0]))

    def hold(self, key: str, kind: type[ValueT]) -> ValueT:
        """Read a value like :meth:`get`, and hold it until another of its kind is asked for."""
        cached = self._cache.get(kind)
        if cached is None or cached[0] != key:
            cached = self._cache[kind] = (key, self.get(key, kind))
        assert isinstance(cached[1], kind)
        return cached[1]

    def load(self, runs: Iterable[Run]) -> Iterator[Trajectory]:
        """The trajectories of `runs`, one at a time."""
        return (self.get(run.digest, Trajectory) for run in runs)

    def refuse_unjudged(self, runs: Runs, sampled: bool) -> None:
        """Refuse to learn where most attempts were invalid: lessons would be about the fault.

        Args:
            runs: that were taken in.
            sampled: whether this evolution makes its runs, and not others that are given.

        Raises:
            Unreachable: where most were so because the model did not answer.
            BadInput: for another reason.
        """
        scored = [run for run in runs.runs if run.outcome]
        invalid = [run for run in scored if run.outcome == "invalid"]
        if len(scored) - len(invalid) >= JUDGED * len(scored):
            return
        reasons = [str(run.harness.get("reason") or "") for run in self.load(invalid)]
        often = Counter(map(cause, reasons)).most_common(1)[0][0]
        reason = next(text for text in reasons if cause(text) == often).partition("\n")[0]
        reason = reason or "no reason was given"
        again = "run the command again: it tries them again (a changed suite needs another --out)"
        remedy = again if sampled else "give runs that were judged"
        raise (Unreachable if "unreachable" in reason.lower() else BadInput)(
            f"{len(invalid)} of {len(scored)} attempts to learn from were invalid, most often: "
            f"{reason}\nno skill was written; mend the cause, then {remedy}"
        )

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _packed(value: BaseModel) -> tuple[str, bytes]:
    """The digest of a value, and its bytes."""
    data = value.model_dump_json().encode()
    return digest(data), zstandard.compress(data, level=3)


def kept_trajectory(out: Path, trajectory_id: str) -> Trajectory:
    """The trajectory of that id that the evolution in the folder `out` learned from.

    The folder is only read.

    Raises:
        BadInput: if it kept none of that id.
    """
    path = (out / NAME).resolve()
    stamps = tuple(
        (file.stat().st_mtime_ns, file.stat().st_size) if file.is_file() else None
        for file in (path, path.with_name(f"{NAME}-wal"))
    )
    try:
        for key in _trajectory_index(path, stamps).get(trajectory_id, ()):
            with _read_only(path) as db:
                row = db.execute("SELECT value FROM shelf WHERE digest = ?", (key,)).fetchone()
            if row is not None:
                return Trajectory.model_validate_json(decompressed(row[0]))
    except sqlite3.Error as error:
        raise BadInput(f"expected what an evolution kept at {str(path)!r}: {error}") from error
    raise BadInput(f"{str(out)!r} keeps no trajectory {trajectory_id!r}: name --trajectories")


@lru_cache(maxsize=4)
def _trajectory_index(
    path: Path, stamps: tuple[tuple[int, int] | None, ...]
) -> dict[str, list[str]]:
    """Id -> digests of the trajectories of that id, in all lists of trajectories that are kept.

    Args:
        path: of the artifact store.
        stamps: time and size of the store and its write-ahead log: others are another index.
    """
    head = b'{"runs":[{'  # how a list of trajectories begins, as :class:`Runs` is written
    digests: dict[str, list[str]] = {}
    with _read_only(path) as db:
        for (value,) in db.execute("SELECT value FROM shelf"):
            if zstandard.ZstdDecompressor().stream_reader(value).read(len(head)) == head:
                for run in Runs.model_validate_json(decompressed(value)).runs:
                    digests.setdefault(run.id, []).append(run.digest)
    return digests


def _read_only(path: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True))
