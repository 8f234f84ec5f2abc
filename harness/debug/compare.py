"""Differences of states, steps and branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard, cast

from harness.debug.history import History, Moment, shown

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
    """What changed from one value to another; mappings, lists and models are walked into."""
    one, other = _plain(before), _plain(after)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return _of_mappings(cast("Mapping[str, Any]", one), cast("Mapping[str, Any]", other), path)
    if _is_list(one) and _is_list(other):
        first, second = dict(enumerate(one)), dict(enumerate(other))
        return _of_mappings(first, second, path)
    return [] if one == other else [Difference(path, "changed", before, after)]


def _of_mappings(
    one: Mapping[Any, Any], other: Mapping[Any, Any], path: tuple[str | int, ...]
) -> list[Difference]:
    found: list[Difference] = []
    for key in [*one, *(key for key in other if key not in one)]:
        place = (*path, key)
        if key not in other:
            found.append(Difference(place, "removed", one[key], None))
        elif key not in one:
            found.append(Difference(place, "added", None, other[key]))
        else:
            found += differences(one[key], other[key], place)
    return found


def _is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump() if callable(dump) else value


@dataclass(frozen=True)
class Pair:
    """The same step of two branches; one side is None behind the end of its branch.

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
        """Whether both branches have the step, with equal states."""
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
    one, other = _numbered(first), _numbered(second)
    places = [*one, *(place for place in other if place not in one)]
    pairs: list[Pair] = []
    for place in places:
        left, right = one.get(place), other.get(place)
        changes: list[Difference] = []
        if left is not None and right is not None:
            changes = differences(shown(first.load(left)), shown(second.load(right)))
        pairs.append(Pair(place[:2], left, right, tuple(changes)))
    return Comparison(tuple(pairs))


def _numbered(history: History) -> dict[tuple[tuple[str, ...], int, int], Moment]:
    found: dict[tuple[tuple[str, ...], int, int], Moment] = {}
    for moment in history.trail():
        repeat = 0
        while (moment.names, moment.step, repeat) in found:
            repeat += 1
        found[(moment.names, moment.step, repeat)] = moment
    return found
