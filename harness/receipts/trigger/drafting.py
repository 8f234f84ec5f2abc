"""Queries drafted from descriptions by rules, where none were written.

They use the words of the description, so a client finds the skill more easily than with the words
of a user: what they measure is an upper bound, and reports label them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.evolve.stems import content_words
from harness.receipts.trigger.queries import Query
from harness.skills import Skill

CONTROLS = (
    "Use the skill {name} now: open it before anything else.",
    "Please load the skill called {name} and tell me its first rule.",
    "I want you to work by the {name} skill. Read it first.",
)
_SHOULD = (
    "I need help with this: {phrase}.",
    "My task is as follows. {Phrase}. Where do I start?",
)
_ELSEWHERE = (
    "What is a good name for a grey kitten?",
    "Write two friendly lines for a birthday card to my aunt.",
    "Which planet is closest to the sun?",
    "Translate 'good morning' into French.",
    "How long do I boil an egg so that the yolk stays soft?",
    "Tell me a joke about penguins.",
    "My bicycle chain keeps slipping. What could be the reason?",
    "Suggest three songs for a rainy afternoon.",
)
_LETTERS = 4
"""Shorter words (what, is, for) say little about what a text is about."""
_WHEN = re.compile(r"^use\s+(?:this skill\s+)?(?:when(?:ever)?|for|to|if)\s+", re.IGNORECASE)
_SUBJECT = re.compile(
    r"^(?:(?:a|the)\s+(?:task|question|user|request|answer)\s+(?:asks?|wants?|needs?|has)\s+(?:you\s+)?"
    r"(?:to|for|about)?\s*|(?:asked|you are asked|you need|told)\s+to\s+)",
    re.IGNORECASE,
)
_PARTS = re.compile(r"\s*[;:]\s+|(?<=[.!?])\s+")


def draft_controls(names: Sequence[str]) -> tuple[Query, ...]:
    """Queries that name a skill; a client that can load skills at all loads it."""
    return tuple(
        Query(query=text.format(name=name), expect=name, control=True, origin="drafted")
        for name in names
        for text in CONTROLS
    )


def draft_queries(library: Sequence[Skill]) -> tuple[Query, ...]:
    """Queries for each skill of a library from its description, and some that fit none.

    Those that fit none are everyday requests of ours; one that shares a word of meaning with a
    description is left out.
    """
    found: dict[str, Query] = {}
    for skill in library:
        for text in _texts(skill.description):
            found.setdefault(text, Query(query=text, expect=skill.name, origin="drafted"))
    words = {word for skill in library for word in _meaning(skill.description)}
    for text in _ELSEWHERE:
        if not words & _meaning(text):
            found[text] = Query(query=text, origin="drafted")
    return tuple(found.values())


def _texts(description: str) -> list[str]:
    """Requests made of what a description says that the skill does or is for."""
    found: list[str] = []
    for part in _PARTS.split(description.strip()):
        clause = _SUBJECT.sub("", _WHEN.sub("", part)).strip(" .!?")
        if len(clause.split()) >= 3:
            lower, upper = clause[:1].lower() + clause[1:], clause[:1].upper() + clause[1:]
            found += [text.format(phrase=lower, Phrase=upper) for text in _SHOULD]
    return found


def _meaning(text: str) -> frozenset[str]:
    return frozenset(word for word in content_words(text) if len(word) >= _LETTERS)
