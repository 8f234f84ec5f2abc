"""Import into a store, export from anything that can be read."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import JsonValue

from harness.core import BadInput, Trajectory, Value, digest, mapping, write_atomic
from harness.core.redaction import Redactor
from harness.core.rundir import RunReader, looks_of
from harness.trajectories.formats.chat_rows import to_openai, to_sharegpt
from harness.trajectories.formats.inspect_export import write_inspect
from harness.trajectories.formats.table import detect_format, open_trajectories
from harness.trajectories.formats.trace2skill import (
    SIDECAR_SUFFIX,
    LogFormat,
    log_format_of,
    render,
    to_log,
)
from harness.trajectories.formats.trace2skill_files import sidecar
from harness.trajectories.formats.training_rows import to_groups, to_preferences, to_rollouts
from harness.trajectories.store import TrajectoryStore, dump

TRAINING: dict[str, Callable[[Iterable[Trajectory]], Iterator[dict[str, JsonValue]]]] = {
    "rollouts": to_rollouts,
    "groups": to_groups,
    "preferences": to_preferences,
}
EXPORTS = ("atif", "trace2skill", "openai", "sharegpt", "inspect", *TRAINING)
# Characters of an id in the name of a file, which may have 255 bytes.
LONGEST_NAME = 100
_LABELS = {"pass": "_SUCCEED", "fail": "_FAILED"}
_ROWS: dict[str, Callable[[Trajectory], dict[str, JsonValue]]] = {
    "openai": to_openai,
    "sharegpt": to_sharegpt,
}


class ImportReport(Value):
    """The result of an import.

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
    """The result of an export.

    Attributes:
        format: of the files.
        exported: trajectories written, or, where rows are made of several, read.
        rows: of a JSONL file; None for other files.
        files: files written.
        sidecars: official logs that need a side-car, because Markdown alone is ambiguous.
        redacted: trajectories that differ from their source because secrets were replaced.
        out: the folder.
    """

    format: str
    exported: int
    rows: int | None = None
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
    name = detect_format(path) if source_format == "auto" else source_format
    for _ in open_trajectories(path, name):
        pass  # a bad record is found before the first is written
    counts = dict.fromkeys(("imported", "redacted", "secrets", "present", "renamed"), 0)
    passed_over: Counter[str] = Counter()
    with TrajectoryStore(out) as store:
        for trajectory in open_trajectories(path, name):
            reasons = mapping(trajectory.harness.get("passed_over"))
            passed_over.update({key: n for key, n in reasons.items() if isinstance(n, int)})
            clean, secrets = redact_trajectory(trajectory) if redact else (trajectory, 0)
            document = dump(clean)
            base = clean.trajectory_id or f"{path.stem}-{counts['imported'] + 1}"
            free, number = base, 1
            document["trajectory_id"] = base
            while free in store and dump(store.get(free)) != document:
                number += 1
                free = document["trajectory_id"] = f"{base}#{number}"
            if free in store:
                counts["present"] += 1
                continue
            same = free == clean.trajectory_id
            store.append(clean if same else Trajectory.model_validate(document))
            counts["imported"] += 1
            counts["renamed"] += bool(clean.trajectory_id) and not same
            counts["redacted"] += bool(secrets)
            counts["secrets"] += secrets
    return ImportReport(source_format=name, passed_over=dict(passed_over), store=str(out), **counts)


def redact_trajectory(trajectory: Trajectory) -> tuple[Trajectory, int]:
    """Replace secrets in every text of a trajectory.

    Returns:
        The trajectory and the number of secrets replaced. With 0 it is the very object that came
        in, so that an exact export stays exact; otherwise `extra.harness.redactions` counts them.
    """
    redactor = Redactor()
    document = redactor.clean(dump(trajectory))
    count = redactor.counts.total()
    if not count:
        return trajectory, 0
    clean = Trajectory.model_validate(document)
    metadata: dict[str, JsonValue] = {**clean.harness, "redactions": count}
    return clean.model_copy(update={"extra": {**(clean.extra or {}), "harness": metadata}}), count


def export_trajectories(
    path: Path, out: Path, target: str, log_format: LogFormat | None = None
) -> ExportReport:
    """Write trajectories in another format.

    Args:
        path: what to read, as :func:`~harness.trajectories.open_trajectories`.
        out: folder to write into.
        target: one of :data:`EXPORTS`. `openai`, `sharegpt` and those for trainers make one JSONL
            file, `inspect` one `.eval`.
        log_format: form of official logs; default: the one they came from, else Markdown.

    Raises:
        BadInput: if the target is unknown, or the source cannot be read.
    """
    if target not in EXPORTS:
        raise BadInput(f"expected a format out of {', '.join(EXPORTS)}, got {target!r}")
    exported = redacted = sidecars = rows = 0

    def counted() -> Iterator[Trajectory]:
        nonlocal exported, redacted
        for trajectory in open_trajectories(path):
            exported += 1
            redacted += "redactions" in trajectory.harness
            yield trajectory

    if target == "trace2skill":
        sidecars = _write_logs(counted(), out, log_format)
    elif target == "atif":
        names: set[str] = set()
        for trajectory in counted():
            name = _distinct(f"{_plain(trajectory.trajectory_id)}.json", names)
            _write_json(out / name, dump(trajectory), indent=2)
    elif target == "inspect":
        task, seconds = "trajectories", dict[str, float]()
        for folder in looks_of(path) or [path]:
            if (folder / "run.json").is_file():  # an eval run
                run = RunReader(folder)
                task = str(run.lock.get("suite") or task)
                seconds |= {row["id"]: row["usage"]["seconds"] for row in run.items()}
        write_inspect(counted(), out / "trajectories.eval", task, seconds)
    else:
        converted = (
            TRAINING[target](counted()) if target in TRAINING else map(_ROWS[target], counted())
        )

        def lines() -> Iterator[str]:
            nonlocal rows
            for row in converted:
                rows += 1
                yield json.dumps(row, ensure_ascii=False) + "\n"

        write_atomic(out / f"{target}.jsonl", lines())
    files = exported + sidecars if target in ("trace2skill", "atif") else 1
    return ExportReport(
        format=target,
        exported=exported,
        rows=rows if target in TRAINING or target in _ROWS else None,
        files=files,
        sidecars=sidecars,
        redacted=redacted,
        out=str(out),
    )


def _write_logs(trajectories: Iterable[Trajectory], out: Path, log_format: LogFormat | None) -> int:
    """Write official logs; the number of side-cars beside them."""
    names: set[str] = set()
    sidecars = 0
    for trajectory in trajectories:
        form = log_format or log_format_of(trajectory)
        file = out / _distinct(_log_name(trajectory, form), names)
        write_atomic(file, render(trajectory, form))
        beside = sidecar(to_log(trajectory, form)) if form == "md" else None
        if beside is not None:
            _write_json(file.with_name(file.name + SIDECAR_SUFFIX), beside, indent=1)
            sidecars += 1
    return sidecars


def _log_name(trajectory: Trajectory, form: LogFormat) -> str:
    metadata = trajectory.harness
    path = metadata.get("path")
    if metadata.get("source") == "trace2skill" and isinstance(path, str):
        pure = PurePosixPath(path)
        if not pure.is_absolute() and ".." not in pure.parts and pure.suffix == f".{form}":
            return path
    label = _LABELS.get(str(metadata.get("outcome")), "") if form == "md" else ""
    agent = _plain(trajectory.agent.name).removesuffix("_agent")
    return f"{agent}_agent_{_plain(trajectory.trajectory_id)}{label}.{form}"


def _write_json(file: Path, document: Any, indent: int) -> None:
    write_atomic(file, json.dumps(document, ensure_ascii=False, indent=indent) + "\n")


def _plain(name: str) -> str:
    """A file name: letters, digits and a few signs."""
    plain = re.sub(r"[^A-Za-z0-9._@#-]+", "_", name).lstrip(".") or "trajectory"
    return plain if len(plain) <= LONGEST_NAME else f"{plain[:LONGEST_NAME]}-{digest(name)[:8]}"


def _distinct(name: str, names: set[str]) -> str:
    stem, dot, suffix = name.rpartition(".")
    number, free = 1, name
    while free in names:
        number += 1
        free = f"{stem}#{number}{dot}{suffix}"
    names.add(free)
    return free
