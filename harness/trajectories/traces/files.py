"""Objects of an export: one JSON document, or one object a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.core.jsonl import read_json, read_rows
from harness.trajectories.lenient import listing, mapping


def objects(path: Path, *lists: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file, or of every such file in a folder and below it.

    Args:
        path: `.json` or `.jsonl`, or a folder.
        lists: fields of a document under which its objects lie as a list.

    Raises:
        BadInput: if a file cannot be read or is no JSON (file and line are named).
    """
    if path.is_dir():
        for file in sorted(one for one in path.rglob("*.json*") if one.is_file()):
            yield from objects(file, *lists)
        return
    if path.suffix == ".jsonl":
        for _, row in read_rows(path):
            yield from _within(row, lists)
        return
    document = read_json(path)
    for one in document if isinstance(document, list) else [document]:  # pyright: ignore[reportUnknownVariableType]  # raw JSON
        yield from _within(mapping(one), lists)


def _within(row: dict[str, Any], lists: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for name in lists:
        if isinstance(row.get(name), list):
            yield from (mapping(one) for one in listing(row[name]))
            return
    yield row
