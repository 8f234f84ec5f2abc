"""The formats of trajectories: which one a path holds, and how it is read.

A package adds one as an entry point of the group `harness.formats` whose value is a
:class:`Format`; its name is what `--format` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from harness.core import BadInput, Trajectory, first_fault, listing, mapping, read_json, read_rows
from harness.core.plugins import load, plugins
from harness.core.rundir import looks_of
from harness.core.segments import read_latest
from harness.trajectories.formats.chat_rows import from_openai, from_reply, from_sharegpt
from harness.trajectories.formats.claude_code import is_claude_code, read_claude_code
from harness.trajectories.formats.codex import is_codex, read_codex
from harness.trajectories.formats.inspect import is_inspect, read_inspect
from harness.trajectories.formats.recorded import is_recorded, read_recorded
from harness.trajectories.formats.trace2skill import is_log, log_files, read_trace2skill
from harness.trajectories.formats.trace_exports import (
    is_langfuse,
    is_langsmith,
    is_otel,
    read_langfuse,
    read_langsmith,
    read_otel,
)
from harness.trajectories.lenient import Notes, read_lines

_SEGMENT = "trajectories.seg"
# The store in the folder of a recording.
_RECORDED = f"trajectories/{_SEGMENT}"
# Rows of a JSONL file that are looked at to tell its format.
_LOOKED_AT = 20


@dataclass(frozen=True)
class Format:
    """A format that trajectories are read from.

    Attributes:
        description: of a path in this format, in one line.
        read: the trajectories of a path, one at a time.
        is_row: whether an object is of this format: a JSON document, or a row of JSONL.
        suffixes: of the files whose objects are looked at.
        in_folders: whether a folder is of this format if a file in it is.
    """

    description: str
    read: Callable[[Path], Iterator[Trajectory]]
    is_row: Callable[[dict[str, Any]], bool] | None = None
    suffixes: tuple[str, ...] = (".jsonl",)
    in_folders: bool = True


def open_trajectories(path: Path, source_format: str = "auto") -> Iterator[Trajectory]:
    """Read trajectories one at a time, whatever form they lie in.

    Args:
        path: a store or run folder, the side of a gate (all its looks), an ATIF file or folder,
            official logs, or a JSONL file.
        source_format: one of :func:`formats`, or `auto` to look.

    Raises:
        BadInput: if the path is missing, its format is unknown, or a record is malformed (file
            and line are named).
    """
    name = detect_format(path) if source_format == "auto" else source_format
    if name not in formats():
        raise BadInput(f"unknown format {name!r}; known are:\n{_listed()}")
    if not path.exists():
        raise BadInput(f"expected trajectories, found nothing at {str(path)!r}")
    return _guarded(formats()[name].read(path), path)


def _guarded(trajectories: Iterator[Trajectory], path: Path) -> Iterator[Trajectory]:
    """Turn faults that JSON and text can still hide into errors of the input."""
    try:
        yield from trajectories
    except ValidationError as error:
        raise BadInput(f"{str(path)!r}: {first_fault(error)}") from error
    except RecursionError as error:
        raise BadInput(f"{str(path)!r}: nested too deeply to be read") from error
    except UnicodeError as error:
        raise BadInput(f"{str(path)!r}: not UTF-8 text: {error}") from error


def detect_format(path: Path) -> str:
    """Name of the format of `path`.

    Raises:
        BadInput: if nothing is there or no format fits; the known ones are listed.
    """
    if not path.exists():
        raise BadInput(f"expected trajectories, found nothing at {str(path)!r}")
    try:
        name = _detect(path)
    except (RecursionError, ValueError) as error:  # JSON nested too deeply, or no UTF-8
        raise BadInput(f"{str(path)!r}: cannot be read: {error}") from error
    if name is None:
        inner = [*path.glob("*"), *path.glob("runs/*")]
        if runs := ", ".join(sorted(str(folder) for folder in inner if _is_store(folder))):
            raise BadInput(f"{str(path)!r} holds runs: name one of {runs}")
        raise BadInput(f"cannot tell what {str(path)!r} holds; known formats are:\n{_listed()}")
    return name


def find_trajectory(path: Path, trajectory_id: str) -> Trajectory:
    """The trajectory of that id in anything that can be read.

    Raises:
        BadInput: if there is none, or `path` cannot be read.
    """
    from harness.trajectories.store import TrajectoryStore

    if (path / "trajectories.seg").is_file() and not (path / "run.json").exists():
        return TrajectoryStore(path).get(trajectory_id)
    for trajectory in open_trajectories(path):
        if trajectory.trajectory_id == trajectory_id:
            return trajectory
    raise BadInput(f"no trajectory {trajectory_id!r} in {str(path)!r}: `list` shows what is there")


def _listed() -> str:
    return "\n".join(f"  {name}: {row.description}" for name, row in formats().items())


def _detect(path: Path) -> str | None:
    if path.name == _SEGMENT or _is_store(path):
        return "store"
    if log_files(path) or (path.suffix in (".md", ".jsonl") and path.is_file() and is_log(path)):
        return "trace2skill"
    if not path.is_dir():
        return "inspect" if path.suffix == ".eval" else _of_file(path, False)
    if next(_atif_files(path), None):
        return "atif"
    if next(path.rglob("*.eval"), None):
        return "inspect"
    files = [*sorted(path.rglob("*.jsonl")), *sorted(path.rglob("*.json"))]
    return next(filter(None, (_of_file(file, True) for file in files)), None)


def _is_store(path: Path) -> bool:
    names = (_SEGMENT, _RECORDED, "run.json")
    return any((path / name).is_file() for name in names) or bool(looks_of(path))


def _of_file(path: Path, in_folder: bool) -> str | None:
    """The first format that an object of the file is of; of a list, its first entry tells."""
    if path.suffix == ".jsonl":
        rows: Iterator[Any] = islice(read_lines(path, Notes()), _LOOKED_AT)
        if not in_folder:
            # Sessions may be torn; of other files the first row tells, and a fault in it is named.
            rows = chain(rows, (row for _, row in islice(read_rows(path), 1)))
    else:
        document = read_json(path) if path.suffix == ".json" else None
        rows = iter(listing(document)[:1] if isinstance(document, list) else [document])  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
    for row in map(mapping, rows):
        for name, entry in formats().items():
            fits = path.suffix in entry.suffixes and (entry.in_folders or not in_folder)
            if fits and entry.is_row and entry.is_row(row):
                return name
    return None


def _atif_files(path: Path) -> Iterator[Path]:
    for file in sorted([*path.rglob("*.json"), *path.rglob("*.jsonl")]):
        if file.is_file():
            with file.open("rb") as handle:
                if b'"ATIF-v' in handle.read(4096):
                    yield file


def _read_atif(path: Path) -> Iterator[Trajectory]:
    for file in list(_atif_files(path)) if path.is_dir() else [path]:
        if file.suffix == ".jsonl":
            for number, row in read_rows(file):
                yield _document(row, f"{file}:{number}")
            continue
        document = read_json(file)
        items = cast("list[Any]", document) if isinstance(document, list) else [document]
        for number, item in enumerate(items):
            yield _document(item, f"{file}[{number}]" if len(items) > 1 else str(file))


def _read_store(path: Path) -> Iterator[Trajectory]:
    recorded = (path / _RECORDED).parent
    folders = looks_of(path) or [recorded if (path / _RECORDED).is_file() else path]
    for segment in [folder / _SEGMENT for folder in folders] if path.is_dir() else [path]:
        for number, record in enumerate(read_latest(segment, "trajectory_id"), start=1):
            yield _document(record, f"{segment}, record {number}")


def _document(row: Any, where: str) -> Trajectory:
    try:
        return Trajectory.model_validate(row)
    except ValidationError as error:
        raise BadInput(f"{where}: not ATIF v1.8: {first_fault(error)}") from error


def _read_rows(
    convert: Callable[[dict[str, Any], str, str], Trajectory], path: Path
) -> Iterator[Trajectory]:
    rows = read_rows(path)
    if path.suffix == ".json":
        document = read_json(path)
        rows = enumerate(map(mapping, listing(document) or [document]), start=1)
    for number, row in rows:
        where = f"{path}:{number}"
        try:
            yield convert(row, where, f"{path.stem}-{number}")
        except ValidationError as error:
            raise BadInput(f"{where}: {first_fault(error, 'row')}") from error


FORMATS = {
    "store": Format("a store of ours, a run folder, or the side of a gate", _read_store),
    "atif": Format(
        "ATIF document (.json), JSONL of documents, or a folder of them",
        _read_atif,
        lambda row: str(row.get("schema_version", "")).startswith("ATIF-v"),
        (".json", ".jsonl"),
    ),
    "trace2skill": Format(
        "official Trace2Skill logs (.md, .jsonl), or a folder of them", read_trace2skill
    ),
    "recorded": Format(
        "JSONL of recorded spreadsheet conversations with labels T+ and T-",
        read_recorded,
        is_recorded,
        in_folders=False,
    ),
    "openai": Format(
        "JSONL, or a list in JSON, with 'messages' in every row",
        partial(_read_rows, from_openai),
        lambda row: "messages" in row,
        (".jsonl", ".json"),
        in_folders=False,
    ),
    "sharegpt": Format(
        "JSONL, or a list in JSON, with 'conversations' in every row",
        partial(_read_rows, from_sharegpt),
        lambda row: "conversations" in row,
        (".jsonl", ".json"),
        in_folders=False,
    ),
    "replies": Format(
        "JSONL with 'task' (an id) and 'reply' in every row: not judged yet",
        partial(_read_rows, from_reply),
        lambda row: "task" in row and "reply" in row,
        in_folders=False,
    ),
    "claude-code": Format(
        "sessions of Claude Code (.jsonl), or a folder of them",
        read_claude_code,
        is_claude_code,
    ),
    "codex": Format(
        "sessions of Codex (rollout-*.jsonl), or a folder of them", read_codex, is_codex
    ),
    "inspect": Format(
        "logs of inspect (.eval, .json), or a folder of them",
        read_inspect,
        is_inspect,
        (".json",),
        in_folders=False,
    ),
    "otel": Format(
        "spans of the OpenTelemetry GenAI conventions, OTLP in JSON (.json, .jsonl)",
        read_otel,
        is_otel,
        (".json", ".jsonl"),
    ),
    "langfuse": Format(
        "traces or observations exported from Langfuse (.json, .jsonl)",
        read_langfuse,
        is_langfuse,
        (".json", ".jsonl"),
    ),
    "langsmith": Format(
        "runs exported from LangSmith (.json, .jsonl)",
        read_langsmith,
        is_langsmith,
        (".json", ".jsonl"),
    ),
}


@cache
def formats() -> dict[str, Format]:
    """Name -> format: ours, then those of other packages."""
    return {**FORMATS, **{name: load("formats", name) for name in plugins("formats")}}
