"""Records of published files, JSON, JSONL or CSV, with errors that name the record."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from harness.core import BadInput, read_json, read_rows

Item = TypeVar("Item")
Row = dict[str, Any]
"""One record, as its file has it."""
Loader = Callable[[Path], Iterator[Item]]
"""The questions of a published set, one by one."""


def rows_of(path: Path) -> Iterator[tuple[str, Row]]:
    """Yield (place for messages, record) of a .jsonl, .json (a list, or {"data": list}) or .csv.

    Raises:
        BadInput: if the file is missing or of none of these forms.
    """
    if path.suffix == ".jsonl":
        yield from ((f"{path}:{number}", row) for number, row in read_rows(path))
        return
    if not path.is_file():
        raise BadInput(f"expected a .jsonl, .json or .csv file, found nothing at {str(path)!r}")
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as handle:
            for number, record in enumerate(csv.DictReader(handle), 2):
                yield f"{path}:{number}", dict(record)
        return
    value = read_json(path)
    if isinstance(value, dict) and "data" in value:
        value = value["data"]  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
    if not isinstance(value, list):
        raise BadInput(f"{str(path)!r}: expected a list of records, found another JSON value")
    records: list[Row] = value  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
    yield from ((f"{path}: record {number}", row) for number, row in enumerate(records))


def read_each(
    rows: Iterable[tuple[str, Row]], read: Callable[[Row], Iterable[Item]], form: str
) -> Iterator[Item]:
    """The questions that `read` makes of every record.

    Args:
        rows: places and records.
        read: one record to its questions; KeyError, TypeError, ValueError and IndexError of it
            mean that the record has another form.
        form: name of the form, for messages.

    Raises:
        BadInput: if a record has another form (the record and the missing field are named).
    """
    for where, row in rows:
        try:
            yield from list(read(row))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            detail = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
            raise BadInput(
                f"{where}: expected a record of {form}, found {row!r:.200} "
                f"({type(error).__name__}: {detail})"
            ) from error


def by_record(read: Callable[[Row], Iterable[Item]], form: str) -> Loader[Item]:
    """The loader of a set that lies in one file, a record after the other; see `read_each`."""
    return lambda path: read_each(rows_of(path), read, form)


def load(loaders: Mapping[str, Loader[Item]], name: str, path: Path) -> Iterator[Item]:
    """The questions of a set, one by one.

    Raises:
        BadInput: for a name without a loader, or if the file or a record has another form.
    """
    if name not in loaders:
        raise BadInput(f"no loader {name!r}: expected one of {', '.join(loaders)}")
    return loaders[name](path)


def load_some(
    loaders: Mapping[str, Loader[Item]], name: str, path: Path, limit: int | None = None
) -> Iterator[Item]:
    """The first `limit` questions of a set, or all of them.

    Raises:
        BadInput: as :func:`load`, or if there is none.
    """
    items = islice(load(loaders, name, path), limit)
    first = next(items, None)
    if first is None:
        raise BadInput(f"{str(path)!r} holds no question of {name!r} that can be used")
    return chain((first,), items)
