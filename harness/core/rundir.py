"""The run directory: append-only, one writer, resumable by any engine.

`run.json` is the lock of what the run depends on (digests of tasks, skill, prompts, model,
config, code version); `items.seg` and `trajectories.seg` hold records; `calls.sqlite` and
`checkpoints.sqlite` are opened by the rooms that own them.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from harness.core.documents import read_json
from harness.core.errors import BadInput
from harness.core.files import digest, write_atomic
from harness.core.segments import SegmentWriter, only_writer, read_latest, read_segment
from harness.core.values import mapping

SCHEMA_VERSION = 1
FINISHED = "finished.json"
Report = TypeVar("Report")
# Settings that decide how fast a result is reached or what it may cost, and not what it is.
UNASKED = {
    "out", "resume", "base_url", "concurrency", "budget_usd", "budget_tokens", "budget_calls",
    "executor", "workers", "worker_resources",
}  # fmt: skip


def new_run_id(kind: str) -> str:
    """A sortable id such as `eval-20261121-045501-9f3a`."""
    return f"{kind}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"


def request_of(settings: BaseModel, **inputs: object) -> dict[str, Any]:
    """Return what is asked for: settings, and digests of the content of what they name."""
    digests = {name: digest(value) for name, value in inputs.items()}
    return settings.model_dump(mode="json", exclude=UNASKED) | digests


def differing(stored: Mapping[str, Any], current: Mapping[str, Any]) -> list[str]:
    """Return the names of what is not the same in both."""
    names = sorted(stored.keys() | current.keys())
    return [name for name in names if stored.get(name) != current.get(name)]


def finished_report(
    out: Path,
    request: Mapping[str, Any],
    *,
    resume: bool | None = None,
    begun: bool | None = None,
    records: str | None = None,
) -> Any:
    """Return the report of what is in `out`, if that is finished and asked for again; else None.

    Args:
        out: folder of a command.
        request: what is asked for now; JSON.
        resume: whether to go on in `out`, which mends records and tries invalid attempts again;
            None for a command that cannot.
        begun: whether there is something in `out`; default: whether there is a `run.json`.
        records: digest of what `out` holds; as it was at the end, and without an invalid attempt,
            there is nothing to resume either.

    Raises:
        BadInput: if `out` holds something else, or what is not finished and not to be resumed; or
            nothing that could be.
    """
    begun = (out / "run.json").is_file() if begun is None else begun
    mark = mapping(read_json(out / FINISHED)) if begun and (out / FINISHED).is_file() else {}
    changed = differing(mapping(mark.get("request")), request)
    resume = changed == ["by"] or resume  # other groups of the attempts that are there
    complete = not mark.get("invalid") and mark.get("records") == records is not None
    if mark and not changed and (complete or not resume):
        logging.getLogger(__name__).warning(
            "%s had finished: this is its report, and nothing was done (anew: another --out)", out
        )
        return mark.get("report")
    if begun and not resume:
        held = "other files: name" if resume is None else f"a run: use --resume {out}, or"
        changes = f" (it finished with other {', '.join(changed)})" if mark else ""
        raise BadInput(f"{str(out)!r} holds {held} another --out{changes}")
    if resume and not begun:
        raise BadInput(f"no run at {str(out)!r}: there is nothing to resume")
    return None


def mark_finished(
    out: Path,
    request: Mapping[str, Any],
    report: Report,
    *,
    invalid: int = 0,
    records: str | None = None,
) -> Report:
    """Keep the report of a run that ended, for whoever asks for the same again; it is returned.

    Args:
        out: run folder.
        request: what was asked for; JSON.
        report: a model, or several.
        invalid: number of its invalid attempts. Of a run without one the first report stands
            while `records` are the same.
        records: digest of what `out` holds, for :func:`finished_report`.
    """
    mark = mapping(read_json(out / FINISHED)) if (out / FINISHED).is_file() else {}
    stands = mark and not mark.get("invalid") and mark.get("records") == records
    if not stands or mark.get("request") != request:  # code of ours may have changed meanwhile
        plain = mark["report"] if stands else to_jsonable_python(report, by_alias=True)
        value = {"request": request, "invalid": invalid, "records": records, "report": plain}
        write_atomic(out / FINISHED, json.dumps(value, ensure_ascii=False, indent=1) + "\n")
    return report


def _lock_of(run: Path) -> dict[str, Any]:
    lock = read_json(run / "run.json")
    if not isinstance(lock, dict):
        raise BadInput(f"{str(run / 'run.json')!r}: expected a JSON object, got {lock!r:.60}")
    return cast("dict[str, Any]", lock)


class RunReader:
    """Reads a run directory, finished or not; never writes."""

    def __init__(self, path: Path) -> None:
        if not (path / "run.json").is_file():
            raise BadInput(f"no run at {str(path)!r} (expected a folder with run.json)")
        self.path = path
        self.lock = _lock_of(path)
        version = self.lock.get("schema_version")
        if version != SCHEMA_VERSION:
            raise BadInput(
                f"{path}: run of schema {version!r}, this version reads {SCHEMA_VERSION}"
            )

    def items(self) -> Iterator[dict[str, Any]]:
        """Item records in the order they finished: of several of one id, the last counts."""
        return read_segment(self.path / "items.seg")

    def trajectories(self) -> Iterator[dict[str, Any]]:
        """ATIF trajectories in the order they finished, the last one of every attempt."""
        return read_latest(self.path / "trajectories.seg", "trajectory_id")


def looks_of(path: Path) -> list[Path]:
    """The run folders of a gate's side, which runs its tasks in looks; none in any other folder."""
    return sorted(run.parent for run in path.glob("look-*/run.json"))


class RunWriter(RunReader):
    """The one writer of a run directory. Use as a context manager.

    A run that exists is resumed if what it depends on (`lock`) is unchanged.
    """

    def __init__(self, path: Path, lock: dict[str, Any]) -> None:
        self._guard = only_writer(path)
        try:
            for entry in list(os.scandir(path)):  # a run may come from a stranger
                if not entry.is_file(follow_symlinks=False) and not entry.is_dir(
                    follow_symlinks=False
                ):
                    raise BadInput(
                        f"{entry.path!r} is a link or no ordinary file: expected a run folder with "
                        "files of its own; copy what it leads to, or start a new run"
                    )
            expected = {"schema_version": SCHEMA_VERSION, **lock}
            if (path / "run.json").exists():
                stored = _lock_of(path)
                current = json.loads(json.dumps(expected))
                if changed := differing(stored, current):
                    raise BadInput(
                        f"{str(path)!r} was started with other {', '.join(changed)}: start a new "
                        "run instead"
                    )
            else:
                text = json.dumps(expected, indent=2, sort_keys=True)
                write_atomic(path / "run.json", text + "\n")
            super().__init__(path)
        except BaseException:
            self._guard.close()
            raise
        self._items = SegmentWriter(path / "items.seg")
        self._trajectories = SegmentWriter(path / "trajectories.seg")

    def append_trajectory(self, record: dict[str, Any]) -> None:
        """Store a trajectory; write it before the item record that refers to it."""
        self._trajectories.append(record, sync=False)

    def append_item(self, record: dict[str, Any]) -> None:
        """Store the record that says an item is finished."""
        self._items.append(record, sync=False)

    def sync(self) -> None:
        """Wait until what was appended is on the disk; another thread may go on appending.

        A kill loses nothing that was appended. A loss of power may lose what was not synced: those
        attempts are made again, on replies that are stored.

        Raises:
            BadInput: if the disk is full.
        """
        self._trajectories.sync()
        self._items.sync()

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.sync()
        finally:
            self._items.close()
            self._trajectories.close()
            self._guard.close()
