"""Logs of inspect (`.eval` archives and `.json`) as ATIF trajectories, one for each sample."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from harness.core import (
    STREAMED_BYTES,
    AgentInfo,
    BadInput,
    Trajectory,
    count,
    listing,
    mapping,
    open_foreign,
    string,
)
from harness.core.trajectory import Metrics
from harness.trajectories.building import Builder, final_metrics, metrics_of
from harness.trajectories.lenient import Notes, load
from harness.trajectories.messages import message_turns

# Bytes of one sample once unpacked.
MAX_ENTRY = 256 * 2**20
_ZSTD, _LOCAL_HEADER = 93, 30
_GRADES = {"C": "pass", "I": "fail", "N": "fail"}
_REFERENCE = "attachment://"


def is_inspect(document: Any) -> bool:
    """Return True if a JSON document is such a log."""
    log = mapping(document)
    return isinstance(log.get("eval"), dict) and "status" in log and "version" in log


def header_of(path: Path) -> dict[str, Any]:
    """Read what stands before the samples of an `.eval` log: `eval`, `results`, `status`, ...

    Raises:
        BadInput: if it is no such log.
    """
    with _archive(path) as archive:
        header = _header(archive)
    if not is_inspect({"status": "started", **header}):
        raise BadInput(f"{str(path)!r}: expected the header of an inspect log")
    return header


def read_inspect(path: Path) -> Iterator[Trajectory]:
    """Convert a log, or every `.eval` in a folder and below it; one sample is held at a time.

    Raises:
        BadInput: if a file is no such log, or a sample has no message.
    """
    for file in sorted(path.rglob("*.eval")) if path.is_dir() else [path]:
        for name, sample, about in _archived(file) if file.suffix == ".eval" else _listed(file):
            yield _trajectory(mapping(sample), mapping(about), f"{file}: {name}")


def _archived(path: Path) -> Iterator[tuple[str, Any, Any]]:
    with _archive(path) as archive:
        about = _header(archive).get("eval")
        for name in archive.namelist():
            if name.startswith("samples/") and name.endswith(".json"):
                yield name, _entry(archive, name), about


def _listed(path: Path) -> Iterator[tuple[str, Any, Any]]:
    try:
        with open_foreign(path, STREAMED_BYTES) as handle:
            raw = handle.read(MAX_ENTRY + 1)
    except OSError as error:
        raise BadInput(f"cannot read {str(path)!r}: {error}") from error
    document = load(raw) if len(raw) <= MAX_ENTRY else None
    if not is_inspect(document):
        raise BadInput(f"{str(path)!r}: expected an inspect log under {MAX_ENTRY:,} bytes")
    for number, sample in enumerate(listing(mapping(document).get("samples"))):
        yield f"samples[{number}]", sample, mapping(document)["eval"]


@contextmanager
def _archive(path: Path) -> Generator[zipfile.ZipFile]:
    try:
        with open_foreign(path, STREAMED_BYTES) as file, zipfile.ZipFile(file) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError) as error:
        raise BadInput(f"{str(path)!r}: expected an inspect log (zip): {error}") from error
    except (NotImplementedError, RuntimeError, OverflowError) as error:
        raise BadInput(f"{str(path)!r}: cannot unpack: {error}") from error


def _header(archive: zipfile.ZipFile) -> dict[str, Any]:
    # A log that is still being written has no header yet.
    complete = "header.json" in archive.namelist()
    return mapping(_entry(archive, "header.json" if complete else "_journal/start.json"))


def _entry(archive: zipfile.ZipFile, name: str) -> Any:
    """The JSON of an entry; None if it is none. Scores that inspect writes as NaN are null.

    Raises:
        BadInput: if the entry is absent or too large, or zstd cannot unpack it.
    """
    where = f"{archive.filename}: {name}"
    try:
        info = archive.getinfo(name)
    except KeyError as error:
        raise BadInput(f"{archive.filename}: expected {name!r} in the archive") from error
    if info.compress_type == _ZSTD:  # which the standard library of Python 3.11 cannot read
        import zstandard

        with Path(str(archive.filename)).open("rb") as handle:
            handle.seek(info.header_offset)
            # Lengths of name and extra field stand at the end of the local header.
            lengths = struct.unpack("<HH", handle.read(_LOCAL_HEADER)[-4:])
            handle.seek(sum(lengths), 1)
            try:
                with zstandard.ZstdDecompressor().stream_reader(handle) as reader:
                    raw = reader.read(MAX_ENTRY + 1)
            except zstandard.ZstdError as error:
                raise BadInput(f"{where}: {error}") from error
    else:
        with archive.open(info) as handle:
            raw = handle.read(MAX_ENTRY + 1)
    if len(raw) > MAX_ENTRY:
        raise BadInput(f"{where}: more than {MAX_ENTRY:,} bytes unpacked: export it as JSON lines")
    return load(raw, lacking=True)


def _metrics(usage: dict[str, Any]) -> Metrics:
    read, written = (count(usage.get(f"input_tokens_cache_{name}")) for name in ("read", "write"))
    return metrics_of(usage, read, written)


def _trajectory(sample: dict[str, Any], about: dict[str, Any], where: str) -> Trajectory:
    notes = Notes()
    reader = _Messages(sample, notes)
    for message in listing(sample.get("messages")):
        reader.take(mapping(message))
    steps = reader.builder.steps()
    if not steps:
        raise BadInput(f"{where}: expected a sample with messages, found none")
    task_id, epoch = str(sample.get("id", "sample")), count(sample.get("epoch")) or 1
    usage = mapping(sample.get("model_usage")).values()
    return Trajectory(
        # A log that we exported names the trajectory that the sample was.
        trajectory_id=string(mapping(sample.get("metadata")).get("trajectory_id"))
        or f"{task_id}_epoch_{epoch}",
        session_id=string(sample.get("uuid")) or None,
        agent=AgentInfo(
            name="inspect",
            version=string(mapping(about.get("packages")).get("inspect_ai")) or "unknown",
            model_name=string(about.get("model")) or None,
        ),
        steps=steps,
        final_metrics=final_metrics(_metrics(mapping(row)) for row in usage),
        extra={"harness": {**_facts(sample, about, task_id, epoch), **notes.facts()}},
    )


def _facts(
    sample: dict[str, Any], about: dict[str, Any], task_id: str, epoch: int
) -> dict[str, JsonValue]:
    metadata: dict[str, JsonValue] = {"source": "inspect", "task_id": task_id, "epoch": epoch}
    metadata["inspect"] = {
        "task": string(about.get("task")),
        "input": sample.get("input"),
        "target": sample.get("target"),
        "scores": mapping(sample.get("scores")),
        "metadata": mapping(sample.get("metadata")),
        "total_time": sample.get("total_time"),
    }
    # A log that we exported has our own facts in it, which say more than its scores.
    metadata |= mapping(mapping(sample.get("metadata")).get("harness"))
    if sample.get("error"):
        reason = string(mapping(sample["error"]).get("message"))
        return {**metadata, "outcome": "invalid", "reason": reason}
    scores = mapping(sample.get("scores"))
    if scores:  # the first scorer is the task's own
        score = mapping(next(iter(scores.values())))
        outcome, value = _graded(score.get("value"))
        metadata |= {"outcome": outcome} if outcome else {}
        if value is not None and metadata.get("score") is None:
            metadata["score"] = value
        texts = {"answer": score.get("answer"), "reason": score.get("explanation")}
        metadata |= {name: text for name, text in texts.items() if isinstance(text, str)}
    return metadata


def _graded(value: Any) -> tuple[str, float | None]:
    """Outcome and score; a value between 0 and 1 is partial credit and no pass."""
    if isinstance(value, str) and value in _GRADES:
        return _GRADES[value], float(_GRADES[value] == "pass")
    if isinstance(value, bool | int | float):
        return ("pass" if value >= 1 else "fail"), float(value)
    return "", 0.5 if value == "P" else None


class _Messages:
    def __init__(self, sample: dict[str, Any], notes: Notes) -> None:
        self.builder = Builder(notes)
        self._notes = notes
        self._attachments = mapping(sample.get("attachments"))
        self._usage: dict[str, dict[str, Any]] = {}
        for event in map(mapping, listing(sample.get("events"))):
            if event.get("event") == "model":
                output = mapping(event.get("output"))
                choice = mapping(next(iter(listing(output.get("choices"))), None))
                name = string(mapping(choice.get("message")).get("id"))
                self._usage[name] = mapping(output.get("usage"))

    def take(self, message: dict[str, Any]) -> None:
        message = self._resolved(message)
        role = string(message.get("role"))
        if role not in ("system", "user", "assistant", "tool"):
            self._notes.add(f"unknown role: {role or 'none'}")
            return
        for turn in message_turns(message):
            if turn.role == "tool":
                failure = mapping(message.get("error"))
                text = turn.text or string(failure.get("message"))
                self.builder.result(turn.call_id, text, {"error": failure} if failure else {})
                continue
            draft = self.builder.take(turn)
            if turn.role == "assistant":
                draft.model = string(message.get("model")) or None
                if usage := self._usage.get(string(message.get("id"))):
                    draft.metrics = _metrics(usage)

    def _resolved(self, value: Any) -> Any:
        """A value with its long texts, which lie in the sample's attachments."""
        if isinstance(value, str) and value.startswith(_REFERENCE):
            return string(self._attachments.get(value.removeprefix(_REFERENCE))) or value
        if isinstance(value, list):
            return [self._resolved(item) for item in listing(value)]  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
        if isinstance(value, dict):
            return {name: self._resolved(item) for name, item in mapping(value).items()}
        return value
