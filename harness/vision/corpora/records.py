"""Records of published visual sets, and where their images lie."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from harness.core import BadInput
from harness.corpora.loaders.rows import Row, read_each, rows_of
from harness.vision.corpora.question import VisualQuestion

Read = Callable[[Row, Path], Iterable[VisualQuestion]]
"""One record and the folder of its file to its questions."""


def read_questions(path: Path, read: Read, form: str) -> Iterator[VisualQuestion]:
    """What `read` makes of every record of a .jsonl or .json file.

    Args:
        path: a list, `{"data": list}`, `{id: record}`, or one record a line.
        read: KeyError, TypeError, ValueError and IndexError of it mean another form.
        form: name of the form, for messages.

    Raises:
        BadInput: if the file or a record has another form (the record is named).
    """
    seen: Counter[str] = Counter()
    for one in read_each(_records(path), lambda row: read(row, path.parent), form):
        seen[one.id] += 1
        again = {"id": f"{one.id}-{seen[one.id]}"}  # sets without ids repeat questions
        yield one if seen[one.id] == 1 else one.model_copy(update=again)


def image_at(folder: Path, *candidates: str | None) -> Path:
    """The first of the paths, relative to `folder`, that is a file.

    Raises:
        BadInput: if none is (all are named).
    """
    named = [candidate for candidate in candidates if candidate]
    for candidate in named:
        if (folder / candidate).is_file():
            return folder / candidate
    raise BadInput(f"expected an image at {' or '.join(named)} below {str(folder)!r}, found none")


def _records(path: Path) -> Iterator[tuple[str, Row]]:
    keyed = _keyed(path) if path.suffix == ".json" and path.is_file() else None
    if keyed is None:
        yield from rows_of(path)
        return
    for name, row in keyed.items():
        if not isinstance(row, dict):
            raise BadInput(f"{path}: record {name!r}: expected an object, found {row!r:.100}")
        record: Row = row  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
        yield f"{path}: record {name!r}", {"id": name, **record}


def _keyed(path: Path) -> dict[str, Any] | None:
    """The records of a file `{id: record}`; None for another form."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise BadInput(f"{str(path)!r} is not JSON in UTF-8: {error}") from error
    return value if isinstance(value, dict) and "data" not in value else None  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
