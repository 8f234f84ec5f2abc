"""Actions on labels: a table, with an answer for guards that are down."""

from __future__ import annotations

from typing import Literal, Self, get_args

from pydantic import model_validator

from harness.core import Value
from harness.judge.guards.labels import CATEGORIES, Guarded, Label, Mode, is_unsafe

# In front of an agent (what is asked) or behind it (what it answers).
Place = Literal["in", "out"]
# Let it pass; put a notice in its place and go on; wait for a person; end the run.
Action = Literal["allow", "redact", "interrupt", "stop"]
ACTIONS: tuple[Action, ...] = get_args(Action)


class PolicyRow(Value):
    """A row of the table; what is None fits all.

    Attributes:
        label: of the text.
        category: one of the text's.
        place: where.
        action: what is done.
    """

    label: Label | None = None
    category: str | None = None
    place: Place | None = None
    action: Action

    @model_validator(mode="after")
    def _category_exists(self) -> Self:
        if self.category is not None and self.category not in CATEGORIES:
            raise ValueError(f"category: expected one of {CATEGORIES}, got {self.category!r}")
        return self


class GuardPolicy(Value):
    """Actions on the labels of a guard.

    Attributes:
        rows: of several that fit, the most severe action holds.
        mode: of labels without a row: unsafe ones stop, others pass.
        outage: where the guard was not reached or its reply cannot be read. Closed by default:
            allowing must be written.
        notice: stands in place of a text that is redacted.
    """

    rows: tuple[PolicyRow, ...] = ()
    mode: Mode = "strict"
    outage: Action = "stop"
    notice: str = "[removed by a guard]"

    def action(self, guarded: Guarded | None, place: Place) -> Action:
        """Choose the action on a text; `guarded` is None where the guard is down."""
        if guarded is None:
            return self.outage
        categories = guarded.categories or (None,)
        actions = [self._of(guarded.label, category, place) for category in categories]
        return ACTIONS[max(map(ACTIONS.index, actions))]

    def _of(self, label: Label, category: str | None, place: Place) -> Action:
        fitting = [
            row.action
            for row in self.rows
            if row.label in (None, label)
            and row.category in (None, category)
            and row.place in (None, place)
        ]
        default: Action = "stop" if is_unsafe(label, self.mode) else "allow"
        return ACTIONS[max(map(ACTIONS.index, fitting or [default]))]
