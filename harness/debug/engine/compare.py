"""Differences of states, steps and branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from harness.checkpoints import same
from harness.debug.engine.history import History, Moment, shown

Kind = Literal["added", "removed", "changed"]


@dataclass(frozen=True)
class Difference:
    """One place where two states differ.

    Attributes:
        path: keys and indices from the state down to it.
        kind: `added` and `removed` are seen from the first state.
        before: the value in the first state, None if it is added.
        after: the value in the second, None if it is removed.
    """

    path: tuple[str | int, ...]
    kind: Kind
    before: Any
    after: Any


def differences(before: Any, after: Any, path: tuple[str | int, ...] = ()) -> list[Difference]:
    """List the changes from one value to another; mappings, lists and models are walked into."""
    old, new = _entries(before), _entries(after)
    if old is None or new is None or type(before) is not type(after):
        return [] if same(before, after) else [Difference(path, "changed", before, after)]
    old = old if isinstance(old, Mapping) else dict(enumerate(old))
    new = new if isinstance(new, Mapping) else dict(enumerate(new))
    changes: list[Difference] = []
    for key in dict.fromkeys([*old, *new]):
        path_of_key = (*path, key)
        if key not in new:
            changes.append(Difference(path_of_key, "removed", old[key], None))
        elif key not in old:
            changes.append(Difference(path_of_key, "added", None, new[key]))
        else:
            changes += differences(old[key], new[key], path_of_key)
    return changes


def _entries(value: Any) -> Mapping[Any, Any] | Sequence[Any] | None:
    """The parts of a container or a model; None for a value without parts."""
    if callable(getattr(value, "model_dump", None)):
        return cast("dict[str, Any]", vars(value))
    if isinstance(value, str | bytes | bytearray) or not isinstance(value, Mapping | Sequence):
        return None
    return cast("Mapping[Any, Any] | Sequence[Any]", value)


@dataclass(frozen=True)
class Pair:
    """One step of two branches; a side is None behind the end of its branch.

    Attributes:
        place: names of the sub-graph nodes around it, and the step's number.
        changes: differences of the states, first branch to second.
    """

    place: tuple[tuple[str, ...], int]
    first: Moment | None
    second: Moment | None
    changes: tuple[Difference, ...]

    @property
    def same(self) -> bool:
        """Return whether both branches have the step, with equal states."""
        return self.first is not None and self.second is not None and not self.changes


@dataclass(frozen=True)
class Comparison:
    """Two branches, step by step."""

    pairs: tuple[Pair, ...]

    @property
    def divergence(self) -> Pair | None:
        """The first step that differs; None if the branches are equal."""
        return next((pair for pair in self.pairs if not pair.same), None)


def compare(first: History, second: History) -> Comparison:
    """Pair the steps of two threads, of one store or of two, and compare their states.

    Steps are paired by their graph's names, their number and how often that came before (a loop
    visits a sub-graph's step 0 again).
    """
    steps, counterparts = _numbered(first), _numbered(second)
    pairs: list[Pair] = []
    for position in dict.fromkeys([*steps, *counterparts]):
        before, after = steps.get(position), counterparts.get(position)
        changes: list[Difference] = []
        if before is not None and after is not None:
            changes = differences(shown(first.load(before)), shown(second.load(after)))
        pairs.append(Pair(position[:2], before, after, tuple(changes)))
    return Comparison(tuple(pairs))


def _numbered(history: History) -> dict[tuple[tuple[str, ...], int, int], Moment]:
    numbered: dict[tuple[tuple[str, ...], int, int], Moment] = {}
    for moment in history.trail():
        repeat = 0
        while (moment.names, moment.step, repeat) in numbered:
            repeat += 1
        numbered[(moment.names, moment.step, repeat)] = moment
    return numbered
