"""Where trajectories show that a unit was read or followed."""

from __future__ import annotations

import re
from functools import lru_cache

from harness.core import Trajectory, canonical_json
from harness.receipts.units import Unit
from harness.skills import mentions
from harness.trajectories.text import content_text

RUN = 5
"""Words in a row that count as an echo."""
_WORD = re.compile(r"[\w']+")


def read_units(trajectory: Trajectory, units: tuple[Unit, ...]) -> tuple[int, ...]:
    """Units with a file that a tool call names: the agent opened or ran it."""
    calls = [
        canonical_json(call.arguments)
        for step in trajectory.steps
        for call in step.tool_calls or ()
    ]
    return tuple(
        unit.number
        for unit in units
        if any(mentions(call, path) for path in unit.files for call in calls)
    )


def echoed_units(trajectory: Trajectory, units: tuple[Unit, ...]) -> tuple[int, ...]:
    """Units of which the agent repeats five words in a row that the user did not say.

    A heuristic: agents also follow what they do not repeat, and say what they were not told. The
    same count in rollouts without the unit stands beside it in the receipt.
    """
    said = _runs(" ".join(content_text(s.message) for s in trajectory.steps if s.source == "agent"))
    said |= {
        run
        for step in trajectory.steps
        for call in step.tool_calls or ()
        for run in _runs(canonical_json(call.arguments))
    }
    asked = _runs(" ".join(content_text(s.message) for s in trajectory.steps if s.source == "user"))
    own = said - asked
    return tuple(unit.number for unit in units if own and own & _unit_runs(unit.text))


def calls_of(trajectory: Trajectory) -> tuple[str, ...]:
    """Digests of the model calls of a trajectory, in order."""
    ids = ((step.extra or {}).get("call_id") for step in trajectory.steps)
    return tuple(str(one) for one in ids if one)


@lru_cache(maxsize=1024)
def _unit_runs(text: str) -> frozenset[tuple[str, ...]]:
    """Of a unit's text, which is asked for with every trajectory."""
    return frozenset(_runs(text))


def _runs(text: str) -> set[tuple[str, ...]]:
    words = [word.casefold() for word in _WORD.findall(text)]
    return {tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)}
