"""Values of a repair: what was rewritten, and both reports."""

from __future__ import annotations

from harness.core import Value
from harness.rag.check.types import Report


class Edit(Value):
    """One rewritten part, in characters of the answer as it was given.

    Attributes:
        start: first character.
        end: character behind the last one.
        before: `answer[start:end]`.
        after: what stands there now; "" where it was left out.
        reason: why it failed.
    """

    start: int
    end: int
    before: str
    after: str
    reason: str


class Repair(Value):
    """An answer before and after.

    Attributes:
        answer: as it is now; the given one where no rewriting helped.
        before: report on the given answer.
        after: report on `answer`.
        edits: in order, none overlapping; outside of them both answers are the same.
        rounds: rewritings that were asked for.
        calls: sent to the model that rewrites (`repair`) and to those that check (`check`).
        discarded: rounds whose result was no better and was thrown away.
    """

    answer: str
    before: Report
    after: Report
    edits: tuple[Edit, ...] = ()
    rounds: int = 0
    calls: dict[str, int] = {}
    discarded: int = 0
