"""Recorded calls as JSONL, to ship, to read and to replay; digests are verified on the way in."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zstandard

from harness.core import BadInput, canonical_json, write_atomic
from harness.models.calls import CallStore, StoredCall
from harness.models.wire import request_digest

_SQLITE = b"SQLite format 3\x00"


def export_calls(store: CallStore, path: Path) -> int:
    """Write the answered calls as JSONL, sorted by digest: the same calls, the same bytes.

    A name that ends in `.zst` is compressed (requests of one conversation share most of their
    text). Returns the number of calls.
    """
    calls = sorted(store.answered(), key=lambda call: call.call_id)
    lines = [canonical_json(call.model_dump(mode="json")) + "\n" for call in calls]
    data = "".join(lines).encode()
    if path.suffix == ".zst":
        settings = zstandard.ZstdCompressionParameters(
            compression_level=19, window_log=27, enable_ldm=True
        )
        data = zstandard.ZstdCompressor(compression_params=settings).compress(data)
    write_atomic(path, data)
    return len(calls)


def read_calls(path: Path) -> Iterator[StoredCall]:
    """Yield the calls of an exported file.

    Raises:
        BadInput: if a line is not a recorded call, or its digest is not that of its request.
    """
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            call = StoredCall.model_validate_json(line)
        except ValueError as error:
            raise BadInput(
                f"{path}:{number}: expected a recorded call, got {line[:60]!r}"
            ) from error
        found = request_digest(call.kind, call.body)
        if found != call.call_id:
            raise BadInput(
                f"{path}:{number}: the request has digest {found[:16]}, the line says "
                f"{call.call_id[:16]!r}: the recording was changed; record it again"
            )
        yield call


def import_calls(store: CallStore, path: Path) -> int:
    """Add the calls of an exported file to a store; returns their number.

    Raises:
        BadInput: as :func:`read_calls`; nothing is stored then.
    """
    calls = list(read_calls(path))
    store.put(calls)
    return len(calls)


def open_recording(path: Path) -> list[StoredCall]:
    """The calls of a `calls.sqlite` or of an exported file.

    Raises:
        BadInput: if there is no such file or it is neither.
    """
    if not path.is_file():
        raise BadInput(f"expected recorded calls, found no file at {str(path)!r}")
    with path.open("rb") as handle:
        is_store = handle.read(len(_SQLITE)) == _SQLITE
    if not is_store:
        return list(read_calls(path))
    with CallStore(path) as store:
        return store.answered()


def nearest(body: dict[str, Any], calls: list[StoredCall]) -> list[str]:
    """How the recorded request nearest to `body` differs from it, one line for each field."""
    best: tuple[int, list[str]] | None = None
    for call in calls:
        shared = _shared_messages(body, call.body)
        different = _differences(body, call.body)
        score = len(different) * 1000 - shared
        if best is None or score < best[0]:
            best = (score, different)
    return best[1] if best else ["the recording holds no calls"]


def _shared_messages(one: dict[str, Any], other: dict[str, Any]) -> int:
    pairs = zip(one["messages"], other["messages"], strict=False)
    return sum(first == second for first, second in pairs)


def _differences(asked: dict[str, Any], recorded: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for name in sorted(asked.keys() | recorded.keys()):
        one: Any = asked.get(name)
        other: Any = recorded.get(name)
        if one == other:
            continue
        if name != "messages":
            lines.append(f"{name}: asked {_short(one)}, recorded {_short(other)}")
            continue
        if len(one) != len(other):
            lines.append(f"messages: asked {len(one)}, recorded {len(other)}")
        for index, (mine, theirs) in enumerate(zip(one, other, strict=False)):
            if mine != theirs:
                lines.append(f"messages[{index}]: {_first_difference(mine, theirs)}")
                break
    return lines


def _first_difference(asked: Any, recorded: Any) -> str:
    one, other = canonical_json(asked), canonical_json(recorded)
    pairs = enumerate(zip(one, other, strict=False))
    start = next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
    start = max(0, start - 20)
    return f"asked …{one[start : start + 60]!r}, recorded …{other[start : start + 60]!r}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _lines(path: Path) -> Iterator[str]:
    if not path.is_file():
        raise BadInput(f"expected recorded calls, found no file at {str(path)!r}")
    try:
        with path.open("rb") as raw:
            source: Any = raw
            if path.suffix == ".zst":
                source = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(raw)
            with io.TextIOWrapper(source, "utf-8") as text:
                yield from text
    except (UnicodeDecodeError, zstandard.ZstdError) as error:
        raise BadInput(f"{str(path)!r} is not a recording: {error}") from error
