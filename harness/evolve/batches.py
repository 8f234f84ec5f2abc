"""How patches are dealt into merge batches, exactly as the reference does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

ItemT = TypeVar("ItemT")


def batches(items: Sequence[ItemT], size: int) -> list[list[ItemT]]:
    """Deal `items` into batches of `size`.

    Full batches in order; a remainder below half a batch is dealt one by one to the batches
    before it, a larger one is a batch of its own (Trace2Skill, official `chunk_list`:
    70 at 32 gives [35, 35]).

    Raises:
        ValueError: if `size` is below 2, which would never come to one patch.
    """
    if size < 2:
        raise ValueError(f"a merge batch holds at least 2 patches, got {size}")
    full = len(items) // size
    dealt = [list(items[i * size : (i + 1) * size]) for i in range(full)]
    rest = list(items[full * size :])
    if not rest:
        return dealt
    if not dealt or 2 * len(rest) >= size:
        return [*dealt, rest]
    for position, item in enumerate(rest):
        dealt[position % full].append(item)
    return dealt


def levels(count: int, size: int) -> list[int]:
    """Number of patches after each merge level: 323 at 5 gives [65, 13, 3, 1]."""
    sizes: list[int] = []
    while count > 1:
        count = len(batches(range(count), size))
        sizes.append(count)
    return sizes
