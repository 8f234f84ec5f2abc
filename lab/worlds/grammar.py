"""The wordings of a world, made and read by the same grammar.

A text with `[a|b]` is a choice. An action is a text such as `convert/turn ~ to [capitals|upper
case]`: verbs, `~` for its object, and what follows. It is said as a base form, as an `ing` form or
in the passive, within sentences that ask for it or forbid it; the reader knows an action in any of
these forms and leaves the polarity to `lab.simulator.wording`, which knows nothing of worlds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

from harness.core import Value
from lab.simulator.wording import sentences

_CHOICE = re.compile(r"\[([^][]*)\]")
_PARENTHESES = re.compile(r"\s*\([^()]*\)")
_DETERMINERS = ("", "", "the ", "all ")
_DETERMINER = r"(?:(?:the|all|any|every|each|these|those|your) )?"
_AUXILIARIES = (
    "must|should|shall|have|has|need|needs|ought|are|is|to|be|been|being|not|never|always|only|best"
)


class Words(Value):
    """Vocabulary of a world; the first of several choices is said most often.

    Attributes:
        irregular: verb -> its `ing` form and participle, with a blank between.
        lessons: `ask`, `forbid` and `instead` -> sentences of lessons without their full stop.
        prefixes: what may stand before a lesson.
        by_kind: conditions about kinds of task.
        by_object: conditions about what the table holds.
        suffixes: what may stand behind a lesson.
        asides: what may stand behind it in parentheses.
        titles: of lessons.
        log: `does` and `omits` -> sentences of an agent about what it does or does not do.
        routine: sentences of an agent about nothing in particular.
        idle: advice that is worth nothing.
        who: names in tasks.
    """

    irregular: Mapping[str, str]
    lessons: Mapping[str, tuple[str, ...]]
    prefixes: tuple[str, ...]
    by_kind: tuple[str, ...]
    by_object: tuple[str, ...]
    suffixes: tuple[str, ...]
    asides: tuple[str, ...]
    titles: tuple[str, ...]
    log: Mapping[str, tuple[str, ...]]
    routine: tuple[str, ...]
    idle: tuple[str, ...]
    who: tuple[str, ...]


class Action(NamedTuple):
    """One wording of an action.

    Attributes:
        base: `convert names to capitals`.
        ing: `converting names to capitals`.
        passive: `converted to capitals`.
        object: `names`.
    """

    base: str
    ing: str
    passive: str
    object: str

    def fields(self, prefix: str = "") -> dict[str, str]:
        """The forms by their names in sentences."""
        return {f"{prefix}{name}": value for name, value in self._asdict().items()}


class Voice:
    """Chooses wordings: the first most often, by Zipf's law.

    Args:
        words: of the world.
        chance: where draws come from.
        steepness: exponent of the law; 0 for all wordings alike.
    """

    def __init__(self, words: Words, chance: Random, steepness: float) -> None:
        self.words = words
        self.chance = chance
        self.steepness = steepness

    def pick(self, options: Sequence[str]) -> str:
        """One of the options."""
        weights = [(rank + 1) ** -self.steepness for rank in range(len(options))]
        return self.chance.choices(options, weights)[0]

    def text(self, template: str) -> str:
        """A text with its choices made."""
        return _CHOICE.sub(lambda match: self.pick(match[1].split("|")), template)

    def action(self, patterns: Sequence[str], objects: Sequence[str]) -> Action:
        """One wording of an action."""
        head, tail = self.pick(patterns).split("~")
        verb = self.pick(head.strip().split("/"))
        determiner = self.chance.choice(_DETERMINERS)
        return conjugated(
            verb, self.pick(objects), self.text(tail), self.words.irregular, determiner
        )

    def lesson(self, order: Action | None, ban: Action | None) -> str:
        """A sentence, not capitalised and without full stop, that asks for one or refuses one."""
        if order is not None and ban is not None:
            frame = self.pick(self.words.lessons["instead"])
            return frame.format_map(order.fields() | ban.fields("not_"))
        action = order or ban
        assert action is not None, "a lesson is about some action"
        frame = self.pick(self.words.lessons["ask" if order else "forbid"])
        return frame.format_map(action.fields())


def conjugated(
    verb: str, object_: str, tail: str, irregular: Mapping[str, str], determiner: str = ""
) -> Action:
    """An action in its forms."""
    first, _, particle = verb.partition(" ")
    ing, participle = forms(first, irregular)
    after = " ".join(part for part in (f"{determiner}{object_}", tail.strip()) if part)
    particle = f" {particle}" if particle else ""
    return Action(
        base=f"{first}{particle} {after}",
        ing=f"{ing}{particle} {after}",
        passive=" ".join(f"{participle}{particle} {tail}".split()),
        object=object_,
    )


def forms(verb: str, irregular: Mapping[str, str]) -> tuple[str, str]:
    """(`ing` form, participle) of a verb."""
    if verb in irregular:
        ing, participle = irregular[verb].split()
        return ing, participle
    if verb.endswith("e"):
        return f"{verb[:-1]}ing", f"{verb}d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb}ing", f"{verb[:-1]}ied"
    return f"{verb}ing", f"{verb}ed"


def finished(text: str) -> str:
    """A text as one or more sentences: capitals, single blanks, a full stop."""
    text = " ".join(text.split())
    text = re.sub(r"(?:^|(?<=[a-z]{2}\. ))[a-z]", lambda match: match[0].upper(), text)
    return f"{text}."


class Statement(NamedTuple):
    """Statement that asks for an action, or forbids it.

    Attributes:
        sign: name of the sign.
        right: whether it is the right action of the sign or the wrong one.
        ordered: whether it is asked for; else it is forbidden.
    """

    sign: str
    right: bool
    ordered: bool


class Reader:
    """Finds the actions that a line of a skill asks for or forbids.

    Args:
        signs: name -> objects, patterns of the right action, patterns of the wrong action.
        irregular: verbs.
    """

    def __init__(
        self,
        signs: Mapping[str, tuple[Sequence[str], Sequence[str], Sequence[str]]],
        irregular: Mapping[str, str],
    ) -> None:
        self._signs = [
            (
                name,
                [text.lower() for text in objects],
                [pattern_of(part, objects, irregular) for part in (right, wrong)],
            )
            for name, (objects, right, wrong) in signs.items()
        ]
        self._lines: dict[str, frozenset[Statement]] = {}

    def read(self, line: str) -> frozenset[Statement]:
        """Read the statements of a line; asides in parentheses say nothing."""
        if line not in self._lines:
            self._lines[line] = frozenset(self._read(_PARENTHESES.sub("", line)))
        return self._lines[line]

    def _read(self, line: str) -> Iterator[Statement]:
        for read in sentences(line):
            sentence = replace(read, tells=False)  # every line of a skill is meant as an order
            for name, objects, patterns in self._signs:
                if not any(text in sentence.text for text in objects):
                    continue
                for right, pattern in zip((True, False), patterns, strict=True):
                    for match in pattern.finditer(sentence.text):
                        force = sentence.force(*match.span())
                        if force in ("asked", "forbidden"):
                            yield Statement(name, right, force == "asked")


def pattern_of(
    patterns: Sequence[str], objects: Sequence[str], irregular: Mapping[str, str]
) -> re.Pattern[str]:
    """Any wording of an action: active, passive, or with its object in front."""
    nouns = f"(?:{'|'.join(re.escape(text.lower()) for text in objects)})"
    ways: list[str] = []
    for text in patterns:
        head, tail = text.lower().split("~")
        verbs = [verb.partition(" ") for verb in head.strip().split("/")]
        active, passive = (
            "|".join(form + (f" {particle}" if particle else "") for form, particle in column)
            for column in (
                [(form, p) for verb, _, p in verbs for form in (verb, forms(verb, irregular)[0])],
                [(forms(verb, irregular)[1], p) for verb, _, p in verbs],
            )
        )
        parts = _CHOICE.split(tail.rstrip())
        ending = "".join(
            f"(?:{'|'.join(map(re.escape, part.split('|')))})" if index % 2 else re.escape(part)
            for index, part in enumerate(parts)
        )
        ways += [
            rf"(?:{active}) {_DETERMINER}{nouns}{ending}",
            rf"{nouns}(?: (?:{_AUXILIARIES})){{0,5}} (?:{passive}){ending}",
            rf"(?:{nouns}:|for {nouns},)(?: (?:do not|never|always))? (?:{active})"
            rf"(?: (?:them|it|these))?{ending}",
        ]
    return re.compile(rf"\b(?:{'|'.join(ways)})(?!\w)")
