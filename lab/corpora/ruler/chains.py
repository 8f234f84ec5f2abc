"""Variable tracking: a chain of assignments scattered over noise (RULER, section 3)."""

from __future__ import annotations

from random import Random
from string import ascii_uppercase

from harness.corpora import Reading, Source, count_each, count_tokens
from lab.corpora.ruler.filler import fill, noise, prose
from lab.corpora.ruler.niah import REPLY, UNHINTED
from lab.corpora.ruler.placing import DOCUMENT, interleave, scattered
from lab.corpora.ruler.words import letters

CHAINS = 1
HOPS = 4
STYLES = (  # how a value is assigned, and how it is passed on
    ("VAR {to} = {value}", "VAR {to} = VAR {of}"),
    ("let {to} be {value}.", "let {to} be the same as {of}."),
    ("{to} := {value};", "{to} := {of};"),
    ("Store {value} in {to}.", "Copy {of} into {to}."),
    ("The box {to} holds {value}.", "The box {to} holds whatever the box {of} holds."),
)
_QUESTIONS = (
    "Which variables have the value {value}? There are {count}; name them all.",
    "Name all {count} variables that end up with the value {value}.",
    "Follow the assignments: which {count} variables are equal to {value}?",
)


def chain_reading(
    length: int,
    chance: Random,
    name: str,
    *,
    chains: int = CHAINS,
    hops: int = HOPS,
    haystack: str = "noise",
) -> Reading:
    """One sample: all variables of the first chain are asked for.

    Args:
        length: tokens of document, question and reply together.
        chance: where all choices come from.
        name: id of the sample.
        chains: chains of assignments, each with its own value.
        hops: assignments of a chain behind its first one.
        haystack: `noise` or `essay`.
    """
    style = chance.choice(STYLES)
    size = hops + 1
    # Five capitals each, as in the public generator.
    names = letters(chance, chains * size, ascii_uppercase, 5)
    values = chance.sample(range(10_000, 100_000), chains)
    groups = [names[start : start + size] for start in range(0, len(names), size)]
    lines = [_lines(style, *pair) for pair in zip(groups, values, strict=True)]
    needles = [line for group in lines for line in group]
    question = chance.choice(_QUESTIONS).format(value=values[0], count=size)
    room = length - REPLY - count_tokens(question) - sum(count_each(needles))
    filler = fill(noise(chance) if haystack == "noise" else prose(chance), room)
    # A chain is written down in its order; chains cross.
    positions = [
        position for _ in groups for position in sorted(scattered(chance, len(filler), size))
    ]
    text, spots = interleave(filler, needles, positions, lines=haystack == "noise")
    first, further = (form.format(to="XXXXX", of="YYYYY", value="12345") for form in style)
    hint = f'Assignments have the forms "{first}" and "{further}"'
    return Reading(
        id=name,
        family="longdoc",
        question=question,
        answers=tuple(groups[0]),
        metric="all",
        sources=(Source(id=DOCUMENT, text=text),),
        evidence=spots[:size],
        meta={"task": "vt", "unhinted": UNHINTED, "hinted": f"{UNHINTED} {hint}"},
    )


def _lines(style: tuple[str, str], group: list[str], value: int) -> list[str]:
    first, further = style
    passed_on = zip(group[1:], group, strict=False)
    return [
        first.format(to=group[0], value=value),
        *(further.format(to=to, of=of) for to, of in passed_on),
    ]
