"""The simulated agent in front of a catalogue of skills: it opens what shares words with the task.

A lexical client: no meaning is understood. It is what a real client has to beat, and its choices
can be computed by hand.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lab.simulator.draws import draw

LEAST = 2
"""Words that a description must share with the task to be opened for it."""
_SKILL = re.compile(r'<skill name="([^"]+)"(?: path="([^"]+)")?>(.*?)</skill>', re.DOTALL)
_WORD = re.compile(r"[a-z]{4,}")
_FILLER_WORDS = (
    "about after before from have help into make need please that their them then this what when"
    " where which with would your task tasks skill skills user users asks"
)
_FILLER = frozenset(_FILLER_WORDS.split())


class Offer(NamedTuple):
    """A skill of a catalogue: its name, the path that opens it, and its description."""

    name: str
    path: str
    description: str


def offers(system: str) -> tuple[Offer, ...]:
    """The skills that a system prompt lists by description."""
    return tuple(
        Offer(name, path or "SKILL.md", text) for name, path, text in _SKILL.findall(system)
    )


def opened(task: str, listed: tuple[Offer, ...], blindness: float, seed: int) -> Offer | None:
    """The skill that is opened for a task: one that it names, else the one that shares most words.

    Args:
        task: the user's text.
        listed: the catalogue.
        blindness: share of tasks, drawn by a hash of the task, on which descriptions are not
            looked at; a name is always seen.
        seed: of that draw.
    """
    for one in listed:
        if one.name in task:
            return one
    if draw("blind", task, seed) < blindness:
        return None
    words = _words(task)
    shared = [len(words & _words(one.description)) for one in listed]
    most = max(shared, default=0)
    return listed[shared.index(most)] if most >= LEAST else None


def _words(text: str) -> frozenset[str]:
    """Words of four letters or more, without a plural s."""
    found = _WORD.findall(text.lower())
    return frozenset(word.rstrip("s") for word in found if word not in _FILLER)
