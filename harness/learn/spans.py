"""Where in a log a quote stands: found in the file itself, not in what was made of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from harness.core.segments import read_segment
from harness.learn.acts import plain
from harness.trajectories.lenient import load

NESTED = 4
"""Levels of JSON within texts of JSON that are looked into."""


class Spans:
    """The lines of one session file, by what they say.

    Args:
        path: a JSONL log, a JSON document, or the segment of a store.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: list[tuple[int, list[str]]] = list(_lines(path))

    def line_of(self, quote: str, keys: Sequence[str] = ()) -> int | None:
        """The line that holds `quote`, from 1; None if none does.

        Args:
            quote: text without terminal colours.
            keys: a call id or a time: of several lines, one that names it too is taken, and of
                those the last.
        """
        if not quote.strip():
            return None
        holding = [
            (number, texts) for number, texts in self._lines if any(quote in text for text in texts)
        ]
        named = [number for number, texts in holding if any(key in texts for key in keys)]
        return (named or [number for number, _ in holding] or [None])[-1]


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    if path.suffix == ".seg":
        records = read_segment(path)
        yield from ((number, list(_texts(one))) for number, one in enumerate(records, start=1))
        return
    raw = path.read_bytes().split(b"\n")
    if path.suffix == ".jsonl":
        for number, line in enumerate(raw, start=1):
            yield number, list(_texts(load(line)))
        return
    for number, line in enumerate(raw, start=1):  # a document over many lines
        yield number, list(_line_texts(line.decode("utf-8", "replace")))


def _line_texts(line: str) -> Iterator[str]:
    """The JSON strings that one line of a pretty document holds."""
    decoder, at = json.JSONDecoder(), line.find('"')
    while at >= 0:
        try:
            value, end = decoder.raw_decode(line, at)
        except ValueError:
            end = at + 1
        else:
            yield from _texts(value)
        at = line.find('"', end)


def _texts(value: Any, left: int = NESTED) -> Iterable[str]:
    """Every text of a JSON value, and of JSON that is written out in its texts."""
    if isinstance(value, str):
        yield plain(value)
        if left and value[:1] in ("{", "["):
            yield from _texts(load(value.encode("utf-8", "replace")), left - 1)
    elif isinstance(value, dict):
        for one in cast("dict[str, Any]", value).values():
            yield from _texts(one, left)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _texts(one, left)
