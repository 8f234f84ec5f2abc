"""Whether a line of a skill tells the agent to do something: concepts, actions and negation.

A remedy is entailed by a line that speaks of the right thing (`about`: every group has a match)
and asks for the right action: one of `do` that is not negated, or one of `undo` that is. Word
lists and scopes, no understanding; how well it does on unseen wordings is measured in the tests.

Patterns are regular expressions on the plain wording of a line (`wording.plain`: lower case, no
Markdown, contractions spelled out) and name classes of words in braces (`vocabulary`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, cast

from pydantic import Field, field_validator, model_validator

from harness.core import Value
from lab.simulator.vocabulary import expanded
from lab.simulator.wording import Force, Sentence, sentences

_PATTERNS = ("about", "do", "undo", "against", "shun", "unless")


class Remedy(Value):
    """What a line must say.

    Attributes:
        about: groups of patterns; each group must match somewhere in the line.
        do: patterns of actions that cure; a line that forbids or waives one entails nothing by
            what else it forbids.
        undo: patterns of actions that keep the failure: asked for, they rule the remedy out;
            forbidden, they cure.
        against: patterns of actions that rule the remedy out if they are asked for, and whose
            prohibition cures nothing.
        shun: patterns of things whose prohibition cures, and that otherwise say nothing.
        unless: patterns of lines that never count, whatever else they say.
        words: the profile's own classes of words, for use in braces in the patterns.
    """

    about: tuple[str, ...]
    do: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    shun: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    words: Mapping[str, str] = Field(default_factory=dict[str, str])

    @model_validator(mode="before")
    @classmethod
    def _expands(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        fields = cast("dict[str, Any]", data)
        words: Any = fields.get("words", {})
        return fields | {
            name: tuple(expanded(str(one), words) for one in fields[name])
            for name in _PATTERNS
            if isinstance(fields.get(name), list | tuple)
        }

    @field_validator(*_PATTERNS)
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
        return _said(self.about, self.do, self.undo, self.against, self.shun, self.unless, line)


@functools.lru_cache(maxsize=262144)
def _said(
    about: tuple[str, ...],
    do: tuple[str, ...],
    undo: tuple[str, ...],
    against: tuple[str, ...],
    shun: tuple[str, ...],
    unless: tuple[str, ...],
    line: str,
) -> bool:
    read = sentences(line)
    text = ". ".join(sentence.text for sentence in read)
    if not all(_compiled(group).search(text) for group in about):
        return False
    if any(_compiled(pattern).search(text) for pattern in unless):
        return False
    wanted, kept = _forces(do, read), _forces(undo, read)
    if kept & {"asked", "allowed"} or _forces(against, read) & {"asked", "allowed"}:
        return False
    if "asked" in wanted:
        return True
    avoided = "forbidden" in kept or "forbidden" in _forces(shun, read)
    return avoided and "forbidden" not in wanted


def _forces(patterns: tuple[str, ...], read: tuple[Sentence, ...]) -> set[Force]:
    """What the sentences make of every match of the patterns."""
    return {
        sentence.force(*match.span())
        for sentence in read
        for pattern in patterns
        for match in _compiled(pattern).finditer(sentence.text)
    }


@functools.lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
