"""Examples that are generated: needles, keys and values, chains of variables, rows, records."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Sequence
from itertools import pairwise

from harness.compress.training.examples import Example, Passage

_KINDS_OF_VALUE = ("code", "password", "number", "token", "reference", "serial", "key", "pin")
_OWNERS = (
    "garden", "north gate", "archive", "blue van", "lighthouse", "kitchen", "orchestra", "museum",
    "reading room", "harbour master", "night shift", "ticket desk", "greenhouse", "ferry",
    "workshop", "choir", "bakery", "clinic", "observatory", "print shop",
)  # fmt: skip
_NEEDLES = (
    "The {kind} of the {owner} is {value}.",
    "Remember that the {owner} uses the {kind} {value}.",
    "For the {owner}, the {kind} was set to {value}.",
    "{value} is the {kind} that belongs to the {owner}.",
    "Note: {owner} {kind}: {value}",
)
_ASKED = (
    "What is the {kind} of the {owner}?",
    "Which {kind} belongs to the {owner}?",
    "{owner} {kind}",
    "Find the {kind} that the {owner} uses.",
)
_HEADS = ("item", "city", "price", "stock", "owner", "colour", "weight", "year")


def needle(filler: Sequence[str], rng: random.Random) -> Example:
    """One fact about an owner among filler, with facts about other owners beside it."""
    kind, owners = rng.choice(_KINDS_OF_VALUE), rng.sample(_OWNERS, rng.randint(1, 4))
    facts = [_fill(rng.choice(_NEEDLES), kind, owner, _value(rng)) for owner in owners]
    query = _fill(rng.choice(_ASKED), kind, owners[0], "")
    return _placed(query, filler, facts, {0}, rng)


def keys(filler: Sequence[str], rng: random.Random) -> Example:
    """One pair of a list of keys and values."""
    pairs = [(_identifier(rng), _identifier(rng)) for _ in range(rng.randint(4, 10))]
    style = rng.choice(('"{0}": "{1}",', "{0} = {1}", "{0} -> {1}", "key {0} has the value {1}."))
    lines = [style.format(*pair) for pair in pairs]
    wanted = rng.randrange(len(lines))
    ask = rng.choice(("What is the value of {0}?", "value for key {0}", "Look up {0}.", "{0}"))
    return _example(ask.format(pairs[wanted][0]), lines, {wanted})


def chain(filler: Sequence[str], rng: random.Random) -> Example:
    """The assignments of a chain of variables; others are distractors."""
    names = [_variable(rng) for _ in range(rng.randint(3, 6))]
    value = str(rng.randrange(10**4, 10**6))
    form = rng.choice(("VAR {0} = {1}", "let {0} be {1}.", "{0} := {1}", "Set {0} to {1}."))
    right = [form.format(names[0], value)]
    right += [form.format(b, a) for a, b in pairwise(names)]
    wrong = [form.format(_variable(rng), rng.randrange(10**5)) for _ in range(rng.randint(1, 4))]
    ask = rng.choice(("Which variables hold {0}?", "Find all variables assigned the value {0}."))
    known = set(range(len(right)))
    return _placed(ask.format(value), filler, [*right, *wrong], known, rng)


def table(filler: Sequence[str], rng: random.Random) -> Example:
    """One row of a table, or one record of a list."""
    heads = rng.sample(_HEADS, rng.randint(3, 5))
    names = rng.sample(_OWNERS, rng.randint(4, 9))
    rows = [[name, *(str(rng.randrange(3000)) for _ in heads)] for name in names]
    record = rng.random() < 0.4
    lines = [
        "{" + ", ".join(f'"{h}": "{c}"' for h, c in zip(("name", *heads), row, strict=True)) + "}"
        if record
        else f"| {' | '.join(row)} |"
        for row in rows
    ]
    wanted = rng.randrange(len(rows))
    query = f"{rng.choice(('What is', 'Give', 'Find'))} the {heads[0]} of the {names[wanted]}"
    if record:
        return _example(query, lines, {wanted})
    return _example(query, [f"| name | {' | '.join(heads)} |", *lines], {wanted + 1})


MAKERS: tuple[Callable[[Sequence[str], random.Random], Example], ...] = (needle, keys, chain, table)


def _placed(
    query: str, filler: Sequence[str], facts: Sequence[str], gold: set[int], rng: random.Random
) -> Example:
    """Facts at random places of the filler, in their order."""
    places = sorted(rng.sample(range(len(filler) + len(facts)), len(facts)))
    order = list(range(len(facts)))
    if len(gold) == 1:
        rng.shuffle(order)
    lines, rest, wanted = list[str](), iter(filler), set[int]()
    at = dict(zip(places, order, strict=True))
    for index in range(len(filler) + len(facts)):
        if index in at:
            lines.append(facts[at[index]])
            if at[index] in gold:
                wanted.add(index)
        else:
            lines.append(next(rest))
    return _example(query, lines, wanted)


def _example(query: str, lines: Sequence[str], gold: set[int]) -> Example:
    return Example(query, Passage("generated", query, tuple(lines)), frozenset(gold))


def _fill(form: str, kind: str, owner: str, value: str) -> str:
    return form.format(kind=kind, owner=owner, value=value)


def _value(rng: random.Random) -> str:
    return rng.choice((str(rng.randrange(10**4, 10**7)), _identifier(rng)[:8], _variable(rng)))


def _identifier(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128)))


def _variable(rng: random.Random) -> str:
    return "".join(rng.choice("ABCDEFGHKLMNPRSTVXYZ") for _ in range(rng.randint(2, 6)))
