"""Lines of logs that other programs write: bounded, and what cannot be used is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from harness.core import STREAMED_BYTES, BadInput, listing, mapping, open_foreign, parse_json

# Bytes of a line; a longer one is passed over in pieces and counted.
MAX_LINE = 16 * 2**20
# Levels of nesting; deeper values are not taken.
MAX_DEPTH = 64
_PIECE = 2**16


class Notes:
    """Count of what a reader passed over, by reason; ends up in `extra.harness.passed_over`."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(self, reason: str) -> None:
        """Count one; at most 50 distinct reasons are kept apart."""
        distinct = reason in self.counts or len(self.counts) < 50
        self.counts[reason[:80] if distinct else "other"] += 1

    def facts(self) -> dict[str, JsonValue]:
        """The counts as JSON, or an empty object."""
        return {"passed_over": dict(sorted(self.counts.items()))} if self.counts else {}


def read_lines(path: Path, notes: Notes, limit: int = MAX_LINE) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a log that its program may still be writing.

    Counted in `notes` and passed over: a last line without its end (`torn last line`), lines over
    `limit` bytes, and lines that are no JSON object.

    Raises:
        BadInput: if the file cannot be read.
    """
    try:
        with open_foreign(path, STREAMED_BYTES) as handle:
            while line := handle.readline(limit + 1):
                complete = line.endswith(b"\n")
                if not complete and len(line) > limit:
                    # The line is freed before the next piece is read.
                    while line and not line.endswith(b"\n"):
                        line = handle.readline(_PIECE)
                    notes.add(f"line over {limit:,} bytes")
                elif line.strip():
                    row = load(line)
                    if isinstance(row, dict):
                        yield cast("dict[str, Any]", row)
                    else:
                        notes.add("line that is no JSON object" if complete else "torn last line")
    except OSError as error:
        raise BadInput(f"cannot read {str(path)!r}: {error}") from error


def load(raw: bytes, *, lacking: bool = False) -> Any:
    """JSON from foreign bytes; None if it is none, has numbers that JSON lacks, or is too deep.

    With `lacking`, numbers that JSON lacks (NaN, infinities) are null, not a fault. Broken UTF-8
    and lone surrogates become the replacement character; a byte order mark is no fault.
    """
    text = raw.decode("utf-8-sig", "replace")

    def number_that_json_lacks(name: str) -> None:
        if not lacking:
            raise ValueError(f"{name} is no JSON")

    try:
        value = parse_json(text, number_that_json_lacks)
    except (ValueError, RecursionError):
        return None
    return None if _depth_over(value, MAX_DEPTH) else value


def _depth_over(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = mapping(value).values() if isinstance(value, dict) else listing(value)  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
    return levels == 0 or any(_depth_over(item, levels - 1) for item in inner)
