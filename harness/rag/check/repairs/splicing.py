"""Replacing spans of an answer, round after round, and knowing what was never touched."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from harness.rag.check.repairs.types import Edit


class Change(NamedTuple):
    """`text[start:end]` becomes `after`."""

    start: int
    end: int
    after: str
    reason: str


@dataclass(frozen=True)
class Draft:
    """An answer under repair.

    Attributes:
        given: the answer as it was given.
        edits: what was replaced of it, in its characters, in order and disjoint.
    """

    given: str
    edits: tuple[Edit, ...] = ()

    @property
    def text(self) -> str:
        """The answer as it is now: outside of the edits, the given one."""
        parts: list[str] = []
        at = 0
        for edit in self.edits:
            parts += [self.given[at : edit.start], edit.after]
            at = edit.end
        return "".join([*parts, self.given[at:]])

    def changed(self, changes: list[Change]) -> Draft:
        """The draft with disjoint spans of its present text replaced."""
        draft = self
        for change in sorted(changes, reverse=True):  # from the end, so that the rest stays put
            draft = draft._one(change)
        return replace(draft, edits=tuple(one for one in draft.edits if one.before != one.after))

    def _one(self, change: Change) -> Draft:
        """One replacement; it joins the earlier edits that it meets."""
        text, (start, end) = self.text, change[:2]
        placed = self._placed()
        met = [one for one in placed if one.meets(start, end)]
        ahead = [one for one in placed if one not in met and one.right <= start]
        behind = [one for one in placed if one not in met and one.right > start]
        left, right = min([start, *(one.left for one in met)]), end
        first, last = start - _shift(ahead), end - _shift([*ahead, *met])
        if met and met[0].left <= start:
            first = met[0].edit.start
        if met and met[-1].right >= end:
            right, last = met[-1].right, met[-1].edit.end
        reasons = dict.fromkeys([*(one.edit.reason for one in met), change.reason])
        made = Edit(
            start=first,
            end=last,
            before=self.given[first:last],
            after=text[left:start] + change.after + text[end:right],
            reason="; ".join(reasons),
        )
        kept = [one.edit for one in ahead], [one.edit for one in behind]
        return replace(self, edits=(*kept[0], made, *kept[1]))

    def _placed(self) -> list[_Placed]:
        """The edits with their places in the present text."""
        found: list[_Placed] = []
        shift = 0
        for edit in self.edits:
            left = edit.start + shift
            found.append(_Placed(edit, left, left + len(edit.after)))
            shift += found[-1].moved
        return found


class _Placed(NamedTuple):
    edit: Edit
    left: int
    right: int

    @property
    def moved(self) -> int:
        """Characters by which it moves what is behind it."""
        return len(self.edit.after) - (self.edit.end - self.edit.start)

    def meets(self, start: int, end: int) -> bool:
        """Whether a span overlaps it; one that was left out is met at its place."""
        if self.left == self.right:
            return start <= self.left <= end
        return self.left < end and start < self.right


def _shift(placed: list[_Placed]) -> int:
    return sum(one.moved for one in placed)
