"""Counts that no longer hold once records, rows or list items were left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from harness.rag.compress.markers import Counted
from harness.rag.compress.types import Unit

_NOUNS = {"record": "records", "row": "rows"}
_ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s")


class Group(NamedTuple):
    """What is counted together: the records of one array, the rows of one table, list items."""

    doc: str
    place: str
    noun: str


def group_of(unit: Unit) -> Group | None:
    """The array, table or list that a unit belongs to; none for prose, code and header rows."""
    noun = _NOUNS.get(unit.granularity)
    if noun and not (noun == "rows" and unit.header is None and unit.text == unit.heading):
        return Group(unit.doc, unit.heading, noun)
    if unit.granularity == "sentence" and _ITEM.match(unit.text):
        return Group(unit.doc, unit.heading, "items")
    return None


def group_sizes(units: Sequence[Unit]) -> Counter[Group]:
    """How many units each group has."""
    return Counter(group for unit in units if (group := group_of(unit)))


def counted(left_out: Sequence[Unit], sizes: Counter[Group]) -> Counted | None:
    """For a marker that stands for records or rows of one group: how many, and of how many."""
    group = group_of(left_out[0]) if left_out else None
    if group is None or group.noun == "items":  # prose: no need to look at all of it
        return None
    if any(group_of(unit) != group for unit in left_out):
        return None
    return Counted(group.noun, len(left_out), sizes[group])


def count_warnings(
    units: Sequence[Unit], kept: Collection[int], sizes: Counter[Group]
) -> list[str]:
    """One warning for each group with something left out, naming kept text that states its size."""
    left = Counter(group for at in kept if (group := group_of(units[at])))
    warnings: list[str] = []
    for group, size in sizes.items():
        if left[group] == size or size < 2:
            continue
        stated = re.compile(rf"(?<![\w.]){size}(?![\w.%]|,\d)")
        where = [units[at] for at in sorted(kept) if units[at].doc == group.doc]
        claims = [unit.text.strip()[:60] for unit in where if stated.search(unit.text)]
        # What is gone as a whole, and lists, need no mention unless the text still counts them.
        if not claims and (group.noun == "items" or not left[group]):
            continue
        place = f" under {group.place[:60]!r}" if group.place else ""
        note = f"{group.doc}: {left[group]} of {size} {group.noun}{place} kept"
        counts = f"; {claims[0]!r} counts all {size}" if claims else ""
        warnings.append(note + counts)
    return warnings
