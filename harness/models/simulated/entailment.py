"""Whether a line of a skill tells the agent to do something: concepts, actions and negation.

A remedy is entailed by a line that speaks of the right thing (`about`: every group has a match)
and asks for the right action: one of `do` that is not negated, or one of `undo` that is. Word
lists and scopes, no understanding; how well it does on unseen wordings is measured in the tests.
"""

from __future__ import annotations

import re

from pydantic import field_validator

from harness.core import Value

_NEGATION = re.compile(
    r"\b(?:not|never|no|nor|without|avoid\w*|don't|doesn't|isn't|refrain\w*|instead of|rather than"
    r"|stop|neither|cannot|must not|forget)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.;:!?]|,|\b(?:but|and then|because|so that|since|unless)\b", re.IGNORECASE)
REACH = 5
"""Words that a negation reaches forward."""


class Remedy(Value):
    """What a line must say.

    Attributes:
        about: groups of patterns; each group must match somewhere in the line.
        do: patterns of actions that cure.
        undo: patterns of actions that keep the failure, which a line may forbid.
        unless: patterns of lines that never count, whatever else they say.
    """

    about: tuple[str, ...]
    do: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()

    @field_validator("about", "do", "undo", "unless")
    @classmethod
    def _compiles(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in value:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"no regular expression: {pattern!r} ({error})") from error
        return value

    def entailed_by(self, text: str) -> bool:
        """Whether any line of the text asks for the remedy."""
        return any(self.said_in(line) for line in text.splitlines() if line.strip())

    def said_in(self, line: str) -> bool:
        """Whether this line asks for the remedy."""
        if not all(_finds(group, line) for group in self.about):
            return False
        if any(_finds(pattern, line) for pattern in self.unless):
            return False
        done = any(not negated for pattern in self.do for negated in _uses(pattern, line))
        undone = any(not negated for pattern in self.undo for negated in _uses(pattern, line))
        forbidden = any(negated for pattern in self.undo for negated in _uses(pattern, line))
        broken = any(negated for pattern in self.do for negated in _uses(pattern, line))
        return (done and not undone) or (forbidden and not broken and not undone)


def _finds(pattern: str, line: str) -> bool:
    return re.search(pattern, line, re.IGNORECASE) is not None


def _uses(pattern: str, line: str) -> list[bool]:
    """For every match in the line: whether a negation reaches it within its clause."""
    found: list[bool] = []
    for match in re.finditer(pattern, line, re.IGNORECASE):
        clause = _CLAUSE.split(line[: match.start()])[-1]
        before = " ".join(clause.split()[-REACH:])
        found.append(_NEGATION.search(before) is not None)
    return found
