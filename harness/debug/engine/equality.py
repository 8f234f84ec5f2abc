"""Equality of the values of a state, whatever their types make of `==`."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Mapping
from typing import Any, cast


def same(first: Any, second: Any) -> bool:
    """Compare two values by type and content, arrays and tables included."""
    if first is second:
        return True
    kind = cast("type[Any]", type(first))
    if kind is not type(second):
        return False
    if isinstance(first, Mapping):
        ours, theirs = cast("Mapping[Any, Any]", first), cast("Mapping[Any, Any]", second)
        factories = (getattr(part, "default_factory", None) for part in (ours, theirs))
        keys = same([*ours], [*theirs]) and same(*factories)
        return keys and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(first, (list, tuple)):
        items, counterparts = cast("list[Any]", first), cast("list[Any]", second)
        return len(items) == len(counterparts) and all(map(same, items, counterparts))
    if dataclasses.is_dataclass(kind) or hasattr(kind, "model_fields"):
        private = (getattr(part, "__pydantic_private__", None) for part in (first, second))
        return same(*map(_fields, (first, second))) and same(*private)
    try:
        result = first == second
        if isinstance(result, bool) or type(result).__name__ == "bool_":
            if result or (first != first and second != second):  # NaN is not itself
                return True
            plain = kind.__eq__ is object.__eq__ and hasattr(first, "__dict__")
            return plain and same(vars(first), vars(second))
        return pickle.dumps(first) == pickle.dumps(second)
    except Exception:  # noqa: BLE001  # a user's type may fail to compare in any way
        return False


def _fields(value: Any) -> dict[str, Any]:
    slots = (name for base in type(value).__mro__ for name in getattr(base, "__slots__", ()))
    names = [*getattr(value, "__dict__", ()), *slots]
    return {name: getattr(value, name, None) for name in names if not name.startswith("__")}
