"""Published sets by name: one of a table of loaders, and at least one question of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from harness.core import BadInput

Item = TypeVar("Item")
Loaders = Mapping[str, Callable[[Path], Iterator[Item]]]
"""Name of a set -> its loader."""


def load(loaders: Loaders[Item], name: str, path: Path) -> Iterator[Item]:
    """The questions of a set, one by one.

    Raises:
        BadInput: for a name without a loader, or if the file or a record has another form.
    """
    if name not in loaders:
        raise BadInput(f"no loader {name!r}: expected one of {', '.join(loaders)}")
    return loaders[name](path)


def load_some(
    loaders: Loaders[Item], name: str, path: Path, limit: int | None = None
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
