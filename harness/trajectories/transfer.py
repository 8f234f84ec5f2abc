"""Import into a store, export from anything that can be read."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath

from pydantic import JsonValue

from harness.core import BadInput, Trajectory, Value, write_atomic
from harness.core.rundir import RunReader
from harness.trajectories.formats import detect_format, open_trajectories
from harness.trajectories.inspect_export import write_inspect
from harness.trajectories.official import LogFormat, log_format_of, render, to_log
from harness.trajectories.official_folder import SIDECAR_SUFFIX
from harness.trajectories.official_log import sidecar
from harness.trajectories.openai_messages import to_openai
from harness.trajectories.secrets import redact_trajectory
from harness.trajectories.sharegpt import to_sharegpt
from harness.trajectories.store import TrajectoryStore, dump

EXPORTS = ("atif", "trace2skill", "openai", "sharegpt", "inspect")
_LABELS = {"pass": "_SUCCEED", "fail": "_FAILED"}


class ImportReport(Value):
    """What an import did.

    Attributes:
        source_format: as detected or given.
        imported: trajectories written.
        redacted: trajectories in which a secret was replaced; they cannot be exported exactly.
        secrets: secrets replaced in all.
        present: trajectories that the store held already, word for word: not written again.
        renamed: trajectories whose id was taken and got a suffix `#2`, `#3`, ...
        passed_over: what readers of foreign logs could not use (unknown or torn lines), by reason.
        store: the folder written.
    """

    source_format: str
    imported: int
    redacted: int
    secrets: int
    present: int
    renamed: int
    passed_over: dict[str, int]
    store: str


class ExportReport(Value):
    """What an export wrote.

    Attributes:
        format: of the files.
        exported: trajectories written.
        files: files written.
        sidecars: official logs that need a side-car, because Markdown alone is ambiguous.
        redacted: trajectories that differ from their source because secrets were replaced.
        out: the folder.
    """

    format: str
    exported: int
    files: int
    sidecars: int
    redacted: int
    out: str


def import_trajectories(
    path: Path, out: Path, source_format: str = "auto", redact: bool = True
) -> ImportReport:
    """Read trajectories of any known format into a store.

    Args:
        path: what to read.
        out: folder of the store; records are appended to one that exists.
        source_format: as :func:`~harness.trajectories.open_trajectories`.
        redact: replace API keys and the like. Text in which nothing is found stays untouched, so
            that the official logs still come out byte for byte.

    Raises:
        BadInput: as :func:`~harness.trajectories.open_trajectories`; then nothing is written.
    """
    known = detect_format(path) if source_format == "auto" else source_format
    for _ in open_trajectories(path, known):
        pass  # a bad record is found before the first is written
    imported = redacted = secrets = present = renamed = 0
    passed_over: Counter[str] = Counter()
    with TrajectoryStore(out) as store:
        for trajectory in open_trajectories(path, known):
            passed_over.update(_passed_over(trajectory))
            clean, count = redact_trajectory(trajectory) if redact else (trajectory, 0)
            wanted = clean.trajectory_id or f"{path.stem}-{imported + 1}"
            if _holds(store, clean, wanted):
                present += 1
                continue
            unique = _free_id(store, wanted)
            if unique != clean.trajectory_id:
                renamed += bool(clean.trajectory_id)
                clean = _named(clean, unique)
            store.append(clean)
            imported += 1
            redacted += bool(count)
            secrets += count
    return ImportReport(
        source_format=known,
        imported=imported,
        redacted=redacted,
        secrets=secrets,
        present=present,
        renamed=renamed,
        passed_over=dict(passed_over),
        store=str(out),
    )


def _passed_over(trajectory: Trajectory) -> dict[str, int]:
    found = trajectory.harness.get("passed_over")
    pairs = found.items() if isinstance(found, dict) else ()
    return {reason: count for reason, count in pairs if isinstance(count, int)}


def _named(trajectory: Trajectory, trajectory_id: str) -> Trajectory:
    return Trajectory.model_validate({**dump(trajectory), "trajectory_id": trajectory_id})


def _holds(store: TrajectoryStore, trajectory: Trajectory, wanted: str) -> bool:
    """Whether the store has this trajectory, under its id or one that was made from it."""
    name, number = wanted, 1
    while name in store:
        if dump(store.get(name)) == dump(_named(trajectory, name)):
            return True
        number += 1
        name = f"{wanted}#{number}"
    return False


def _free_id(store: TrajectoryStore, wanted: str) -> str:
    name, number = wanted, 1
    while name in store:
        number += 1
        name = f"{wanted}#{number}"
    return name


def export_trajectories(
    path: Path, out: Path, target: str, log_format: LogFormat | None = None
) -> ExportReport:
    """Write trajectories in another format.

    Args:
        path: what to read, as :func:`~harness.trajectories.open_trajectories`.
        out: folder to write into.
        target: one of :data:`EXPORTS`. `openai` and `sharegpt` make one JSONL file,
            `inspect` one `.eval`.
        log_format: form of official logs; default: the one they came from, else Markdown.

    Raises:
        BadInput: if the target is unknown, or the source cannot be read.
    """
    if target not in EXPORTS:
        raise BadInput(f"expected a format out of {', '.join(EXPORTS)}, got {target!r}")
    counted = _Redactions(open_trajectories(path))
    sidecars = 0
    if target == "trace2skill":
        exported, sidecars = _write_logs(counted, out, log_format)
        files = exported + sidecars
    elif target == "atif":
        exported = files = _write_atif(counted, out)
    elif target == "inspect":
        file, files = out / "trajectories.eval", 1
        exported = write_inspect(counted, file, _suite(path) or "trajectories")
    else:
        convert = to_openai if target == "openai" else to_sharegpt
        exported, files = _write_rows(counted, out / f"{target}.jsonl", convert), 1
    return ExportReport(
        format=target,
        exported=exported,
        files=files,
        sidecars=sidecars,
        redacted=counted.found,
        out=str(out),
    )


def _suite(path: Path) -> str | None:
    """The suite of an eval run's folder."""
    if not (path / "run.json").is_file():
        return None
    return str(RunReader(path).lock.get("suite") or "") or None


class _Redactions:
    """Passes trajectories on and counts those that were redacted on import."""

    def __init__(self, trajectories: Iterable[Trajectory]) -> None:
        self._trajectories = trajectories
        self.found = 0

    def __iter__(self) -> Iterator[Trajectory]:
        for trajectory in self._trajectories:
            self.found += "redactions" in trajectory.harness
            yield trajectory


def _write_logs(
    trajectories: Iterable[Trajectory], out: Path, log_format: LogFormat | None
) -> tuple[int, int]:
    taken: set[str] = set()
    sidecars = 0
    for trajectory in trajectories:
        form = log_format or log_format_of(trajectory)
        file = out / _distinct(_log_name(trajectory, form), taken)
        write_atomic(file, render(trajectory, form))
        beside = sidecar(to_log(trajectory, form)) if form == "md" else None
        if beside is not None:
            text = json.dumps(beside, ensure_ascii=False, indent=1) + "\n"
            write_atomic(file.with_name(file.name + SIDECAR_SUFFIX), text)
            sidecars += 1
    return len(taken), sidecars


def _log_name(trajectory: Trajectory, form: LogFormat) -> str:
    path = trajectory.harness.get("path")
    if trajectory.harness.get("source") == "trace2skill" and isinstance(path, str):
        pure = PurePosixPath(path)
        if not pure.is_absolute() and ".." not in pure.parts and pure.suffix == f".{form}":
            return path
    label = _LABELS.get(str(trajectory.harness.get("outcome")), "") if form == "md" else ""
    agent = _plain(trajectory.agent.name)
    agent = agent if agent.endswith("_agent") else f"{agent}_agent"
    return f"{agent}_{_plain(trajectory.trajectory_id or 'trajectory')}{label}.{form}"


def _write_atif(trajectories: Iterable[Trajectory], out: Path) -> int:
    taken: set[str] = set()
    for trajectory in trajectories:
        name = _distinct(f"{_plain(trajectory.trajectory_id or 'trajectory')}.json", taken)
        text = json.dumps(dump(trajectory), ensure_ascii=False, indent=2) + "\n"
        write_atomic(out / name, text)
    return len(taken)


def _write_rows(
    trajectories: Iterable[Trajectory],
    file: Path,
    convert: Callable[[Trajectory], dict[str, JsonValue]],
) -> int:
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.part")
    count = 0
    try:
        with part.open("w", encoding="utf-8", newline="\n") as handle:
            for trajectory in trajectories:
                handle.write(json.dumps(convert(trajectory), ensure_ascii=False) + "\n")
                count += 1
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return count


def _plain(name: str) -> str:
    """A file name: letters, digits and a few signs."""
    return re.sub(r"[^A-Za-z0-9._@#-]+", "_", name).lstrip(".") or "trajectory"


def _distinct(name: str, taken: set[str]) -> str:
    stem, dot, suffix = name.rpartition(".")
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{stem}#{number}{dot}{suffix}"
    taken.add(found)
    return found
