"""Which format a path holds, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from harness.core import BadInput, Trajectory
from harness.core.jsonl import read_json, read_rows
from harness.core.segments import read_segment
from harness.core.values import first_fault
from harness.trajectories.claude_code import is_claude_code, read_claude_code
from harness.trajectories.codex import is_codex, read_codex
from harness.trajectories.inspect_log import is_inspect, read_inspect
from harness.trajectories.lenient import Notes, read_lines
from harness.trajectories.official_folder import is_log, log_files, read_logs, read_scores
from harness.trajectories.openai_messages import from_openai
from harness.trajectories.recorded import is_recorded, read_recorded
from harness.trajectories.sharegpt import from_sharegpt
from harness.trajectories.traces import (
    is_langfuse,
    is_langsmith,
    is_otel,
    read_langfuse,
    read_langsmith,
    read_otel,
)

FORMATS = {
    "store": "folder with trajectories.seg: a store of ours, or a run folder",
    "atif": "ATIF document (.json), JSONL of documents, or a folder of them",
    "trace2skill": "official Trace2Skill logs (.md, .jsonl), or a folder of them",
    "recorded": "JSONL of recorded spreadsheet conversations with labels T+ and T-",
    "openai": "JSONL with 'messages' in every row",
    "sharegpt": "JSONL with 'conversations' in every row",
    "claude-code": "sessions of Claude Code (.jsonl), or a folder of them",
    "codex": "sessions of Codex (rollout-*.jsonl), or a folder of them",
    "inspect": "logs of inspect (.eval, .json), or a folder of them",
    "otel": "spans of the OpenTelemetry GenAI conventions, OTLP in JSON (.json, .jsonl)",
    "langfuse": "traces or observations exported from Langfuse (.json, .jsonl)",
    "langsmith": "runs exported from LangSmith (.json, .jsonl)",
}
EVALUATION = "eval_official_results.json"


def open_trajectories(path: Path, source_format: str = "auto") -> Iterator[Trajectory]:
    """Read trajectories one at a time, whatever form they lie in.

    Args:
        path: a store or run folder, an ATIF file or folder, official logs, or a JSONL file.
        source_format: one of :data:`FORMATS`, or `auto` to look.

    Raises:
        BadInput: if the path is missing, its format is unknown, or a record is malformed (file
            and line are named).
    """
    known = detect_format(path) if source_format == "auto" else source_format
    if known not in _READERS:
        raise BadInput(f"unknown format {known!r}; known are:\n{_known()}")
    if not path.exists():
        raise BadInput(f"expected trajectories, found nothing at {str(path)!r}")
    return _guarded(_READERS[known](path), path)


def _guarded(trajectories: Iterator[Trajectory], path: Path) -> Iterator[Trajectory]:
    """The same, with what JSON and text can still hide turned into an error of the input."""
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
        found = _detect_folder(path) if path.is_dir() else _detect_file(path)
    except (RecursionError, ValueError) as error:  # JSON nested too deeply, or no UTF-8
        raise BadInput(f"{str(path)!r}: cannot be read: {error}") from error
    if found is None:
        raise BadInput(f"cannot tell what {str(path)!r} holds; known formats are:\n{_known()}")
    return found


def _known() -> str:
    return "\n".join(f"  {name}: {what}" for name, what in FORMATS.items())


def _detect_folder(path: Path) -> str | None:
    if (path / "trajectories.seg").is_file() or (path / "run.json").is_file():
        return "store"
    if log_files(path):
        return "trace2skill"
    if next(_atif_files(path), None):
        return "atif"
    if next(path.rglob("*.eval"), None):
        return "inspect"
    found = (_detect_session(file) for file in sorted(path.rglob("*.jsonl")))
    session = next((name for name in found if name), None)
    traces = (_trace(read_json(file)) for file in sorted(path.rglob("*.json")))
    return session or next((name for name in traces if name), None)


def _trace(document: Any) -> str | None:
    """The tool whose traces a document, or a row, holds."""
    row: Any = document
    if isinstance(document, list):
        row = cast("list[Any]", document)[0] if document else None
    if not isinstance(row, dict):
        return None
    held = cast("dict[str, Any]", row)
    kinds = (("otel", is_otel), ("langfuse", is_langfuse), ("langsmith", is_langsmith))
    return next((name for name, known in kinds if known(held)), None)


def _detect_session(path: Path) -> str | None:
    """The program whose session a JSONL file holds: the first rows tell."""
    for row in islice(read_lines(path, Notes()), 20):
        if is_codex(row):
            return "codex"
        if is_claude_code(row):
            return "claude-code"
        if (trace := _trace(row)) is not None:
            return trace
    return None


def _detect_file(path: Path) -> str | None:
    if path.name == "trajectories.seg":
        return "store"
    if path.suffix in (".md", ".jsonl") and is_log(path):
        return "trace2skill"
    if path.suffix == ".eval":
        return "inspect"
    if path.suffix == ".json":
        document = read_json(path)
        if _is_atif(document):
            return "atif"
        return "inspect" if is_inspect(document) else _trace(document)
    if path.suffix != ".jsonl":
        return None
    session = _detect_session(path)
    if session is not None:
        return session
    row = next(islice(read_rows(path), 1), (0, dict[str, Any]()))[1]
    if _is_atif(row):
        return "atif"
    if is_recorded(row):
        return "recorded"
    return next(
        (
            name
            for key, name in (("messages", "openai"), ("conversations", "sharegpt"))
            if key in row
        ),
        None,
    )


def _is_atif(document: Any) -> bool:
    if isinstance(document, list) and document:
        return _is_atif(document[0])
    return isinstance(document, dict) and str(
        document.get("schema_version", "")  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]  # raw JSON
    ).startswith("ATIF-v")


def _atif_files(path: Path) -> Iterator[Path]:
    for file in sorted([*path.rglob("*.json"), *path.rglob("*.jsonl")]):
        if file.is_file() and b'"ATIF-v' in _head(file):
            yield file


def _head(path: Path) -> bytes:
    with path.open("rb") as handle:
        return handle.read(4096)


def _read_atif(path: Path) -> Iterator[Trajectory]:
    for file in list(_atif_files(path)) if path.is_dir() else [path]:
        if file.suffix == ".jsonl":
            for number, row in read_rows(file):
                yield _document(row, f"{file}:{number}")
            continue
        document = read_json(file)
        many = cast("list[Any]", document) if isinstance(document, list) else [document]
        for number, item in enumerate(many):
            yield _document(item, f"{file}[{number}]" if len(many) > 1 else str(file))


def _document(row: Any, where: str) -> Trajectory:
    try:
        return Trajectory.model_validate(row)
    except ValidationError as error:
        raise BadInput(f"{where}: not ATIF v1.8: {first_fault(error)}") from error


def _read_store(path: Path) -> Iterator[Trajectory]:
    segment = path / "trajectories.seg" if path.is_dir() else path
    for number, record in enumerate(read_segment(segment), start=1):
        yield _document(record, f"{segment}, record {number}")


def _read_trace2skill(path: Path) -> Iterator[Trajectory]:
    folder = path if path.is_dir() else path.parent
    for candidate in (folder / EVALUATION, folder / "outputs" / EVALUATION):
        if candidate.is_file():
            return read_logs(path, read_scores(candidate))
    return read_logs(path)


def _rows(
    convert: Callable[[dict[str, Any], str, str], Trajectory],
) -> Callable[[Path], Iterator[Trajectory]]:
    def read(path: Path) -> Iterator[Trajectory]:
        for number, row in read_rows(path):
            where = f"{path}:{number}"
            try:
                yield convert(row, where, f"{path.stem}-{number}")
            except ValidationError as error:
                raise BadInput(f"{where}: {first_fault(error, 'row')}") from error

    return read


_READERS: dict[str, Callable[[Path], Iterator[Trajectory]]] = {
    "store": _read_store,
    "atif": _read_atif,
    "trace2skill": _read_trace2skill,
    "recorded": read_recorded,
    "openai": _rows(from_openai),
    "sharegpt": _rows(from_sharegpt),
    "claude-code": read_claude_code,
    "codex": read_codex,
    "inspect": read_inspect,
    "otel": read_otel,
    "langfuse": read_langfuse,
    "langsmith": read_langsmith,
}
