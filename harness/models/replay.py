"""Recorded calls: written as JSONL to ship and to read, and answered from in place of a model.

Digests are verified on the way in.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import zstandard

from harness.core import BadInput, canonical_json, write_atomic
from harness.models.calls import CallStore, StoredCall
from harness.models.types import Body, Refused
from harness.models.wire import request_digest

_SQLITE = b"SQLite format 3\x00"
_LISTINGS = ("messages", "input")
_SHOWN = 60


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
        actual = request_digest(call.kind, call.body)
        if actual != call.call_id:
            raise BadInput(
                f"{path}:{number}: the request has digest {actual[:16]}, the line says "
                f"{call.call_id[:16]!r}: the recording was changed; record it again"
            )
        yield call


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


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open("rb") as raw:
            source: Any = raw
            if path.suffix == ".zst":
                source = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(raw)
            with io.TextIOWrapper(source, "utf-8") as text:
                yield from text
    except FileNotFoundError:
        raise BadInput(f"expected recorded calls, found no file at {str(path)!r}") from None
    except (UnicodeDecodeError, zstandard.ZstdError) as error:
        raise BadInput(f"{str(path)!r} is not a recording: {error}") from error


class Recording:
    """The calls of a recording as a back end: they are found by the digest of their request.

    A request names the model of the replay; it is looked up under every model that was recorded.

    Attributes:
        simulated: whether a simulated or scripted model answered any of them.
        constrained: whether any reply was held to a JSON schema because its server can.
    """

    def __init__(self, path: Path) -> None:
        self._calls = open_recording(path)
        self._answers = {call.call_id: call.response for call in self._calls}
        self._models = sorted({(call.kind, str(call.body.get("model"))) for call in self._calls})
        self.simulated = any(call.kind in ("simulated", "scripted") for call in self._calls)
        self.constrained = constrained(self._calls)
        self._path = path

    async def answer(self, body: Body) -> Body:
        """The recorded completion.

        Raises:
            Refused: for a request that was not recorded; says how the nearest one differs.
        """
        for kind, model in self._models:
            answer = self._answers.get(request_digest(kind, {**body, "model": model}))
            if answer is not None:
                return answer
        models = {model for _, model in self._models}
        request = {**body, "model": next(iter(models))} if len(models) == 1 else body
        key = request_digest(self._models[0][0] if self._models else "replay", request)
        lines = "\n  ".join(nearest(request, [call.body for call in self._calls]))
        raise Refused(
            404,
            f"not in the recording {self._path} ({len(self._calls)} calls): request {key}; "
            f"the nearest recorded request differs in\n  {lines}",
        )


def constrained(calls: Sequence[StoredCall]) -> bool:
    """Return True if replies of a server that can hold them to a JSON schema were held to one."""
    return any(call.kind in ("local", "vllm") and "response_format" in call.body for call in calls)


def nearest(body: Body, recorded: Sequence[Body]) -> list[str]:
    """List the differences between `body` and the nearest recorded request, a line for each field.

    Nearest is the one with the fewest fields that differ, then with the most messages shared.
    """
    ranked = [differences(body, request) for request in recorded]
    if not ranked:
        return ["the recording holds no calls"]
    return min(ranked, key=lambda ranked: (len(ranked[1]), -ranked[0]))[1]


def differences(request: Body, recorded: Body) -> tuple[int, list[str]]:
    """Compare two requests: messages shared from the start, a line for each field that differs."""
    shared, lines = 0, list[str]()
    for name in sorted(request.keys() | recorded.keys()):
        asked_value, recorded_value = request.get(name), recorded.get(name)
        if asked_value == recorded_value:
            continue
        if not (
            name in _LISTINGS and isinstance(asked_value, list) and isinstance(recorded_value, list)
        ):
            lines.append(f"{name}: {excerpts(asked_value, recorded_value)}")
            continue
        asked_value, recorded_value = (
            cast("list[Any]", asked_value),
            cast("list[Any]", recorded_value),
        )
        shared = _agreeing(asked_value, recorded_value)
        if shared < min(len(asked_value), len(recorded_value)):
            lines.append(
                f"{name}[{shared}]: {excerpts(asked_value[shared], recorded_value[shared])}"
            )
        else:
            counts = f"asked {len(asked_value)}, recorded {len(recorded_value)}"
            lines.append(f"{name}: {counts}; the first {shared} agree")
    return shared, lines


def excerpts(value: Any, recorded: Any) -> str:
    """Two JSON values from shortly before the first character in which they differ."""
    asked_json, recorded_json = canonical_json(value), canonical_json(recorded)
    start = max(0, _agreeing(asked_json, recorded_json) - 20)
    end = start + _SHOWN
    return f"asked …{asked_json[start:end]!r}, recorded …{recorded_json[start:end]!r}"


def _agreeing(first: Sequence[Any], second: Sequence[Any]) -> int:
    """Count the elements that agree from the start."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(first), len(second)))
