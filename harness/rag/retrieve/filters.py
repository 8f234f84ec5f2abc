"""Conditions on the metadata of documents."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

from harness.core import BadInput

Operator = Literal["=", "!=", ">=", "<=", ">", "<", "~"]

_FORM = re.compile(r"([\w.-]+)\s*(!=|>=|<=|=|>|<|~)\s*(.*)", re.DOTALL)
_ORDER: dict[Operator, Callable[[Any, Any], bool]] = {
    ">=": lambda found, value: found >= value,
    "<=": lambda found, value: found <= value,
    ">": lambda found, value: found > value,
    "<": lambda found, value: found < value,
}


@dataclass(frozen=True)
class Condition:
    """One condition on one field; `id` and `source` are fields too.

    Attributes:
        field: name of the field.
        operator: `=` also holds where a list contains the value or the value is a list that
            contains the field; `~` is a pattern with `*`.
        value: a string, number, truth value or, for `=` and `!=`, a list of them.
    """

    field: str
    operator: Operator
    value: Any

    def holds(self, facts: Mapping[str, Any]) -> bool:
        """Whether a document with these facts meets it; a missing field only meets `!=`."""
        found = facts.get(self.field)
        if self.operator == "!=":
            return not _equal(found, self.value)
        if found is None:
            return False
        if self.operator == "=":
            return _equal(found, self.value)
        if self.operator == "~":
            return fnmatchcase(str(found), str(self.value))
        try:
            return _ORDER[self.operator](found, self.value)
        except TypeError:
            return False


def parse_condition(text: str) -> Condition:
    """Read `field=value`, `year>=2020`, `source~docs/*`; a value is JSON where it can be.

    Raises:
        BadInput: if it has no operator.
    """
    match = _FORM.fullmatch(text.strip())
    operator = next((known for known in get_args(Operator) if match and match[2] == known), None)
    if match is None or operator is None:
        raise BadInput(
            f"expected a condition such as year>=2020, language=en or source~docs/*, got {text!r}"
        )
    try:
        value: Any = json.loads(match[3])
    except json.JSONDecodeError:
        value = match[3]
    return Condition(match[1], operator, value)


def all_hold(conditions: Sequence[Condition], facts: Mapping[str, Any]) -> bool:
    """Whether every condition holds."""
    return all(condition.holds(facts) for condition in conditions)


def _equal(found: Any, value: Any) -> bool:
    if isinstance(value, list):
        return any(_equal(found, one) for one in value)  # pyright: ignore[reportUnknownVariableType]  # JSON
    if isinstance(found, list):
        return value in found
    return found == value or (found is not None and str(found) == value)
