"""The three retrieval tasks of InfiniteBench (Zhang et al. 2024): pass key, number, key-value."""

from __future__ import annotations

import json
from itertools import islice
from random import Random

from harness.corpora import Evidence, Reading, Source, count_each, count_tokens
from lab.corpora.ruler.filler import fill, noise
from lab.corpora.ruler.niah import REPLY, UNHINTED
from lab.corpora.ruler.placing import DOCUMENT, interleave, scattered
from lab.corpora.ruler.words import distinct

_PASSKEY = (
    ("The pass word of the gate is {value}. Keep it in mind.", "What is the pass word?"),
    ("Remember this: {value} opens the vault.", "What opens the vault?"),
    (
        "If they stop you, say {value}. Nothing but {value} will do.",
        "What do you say when stopped?",
    ),
)
_NUMBER = (
    ("The row of digits on the plate is {value}.", "Which row of digits stands on the plate?"),
    ("Somebody scratched {value} into the bench.", "What was scratched into the bench?"),
    ("The display went on showing {value} all night.", "What did the display show?"),
)


def passkey(length: int, chance: Random, name: str) -> Reading:
    """Five digits, said once in noise."""
    value = "".join(chance.choices("0123456789", k=5))
    return _in_noise(length, chance, name, "passkey", chance.choice(_PASSKEY), value)


def number_string(length: int, chance: Random, name: str) -> Reading:
    """Ten digits, half of them repeats of a neighbour, so that they are easy to miscopy."""
    digits = chance.choices("0123456789", k=5)
    for more in range(5):
        position = chance.randrange(5 + more)
        digits.insert(position, digits[position])
    return _in_noise(length, chance, name, "number", chance.choice(_NUMBER), "".join(digits))


def key_value(length: int, chance: Random, name: str, pairs: int | None = None) -> Reading:
    """A JSON object of UUID keys and values, one of which is asked for.

    Args:
        length: tokens of document, question and reply together.
        chance: where all choices come from.
        name: id of the sample.
        pairs: so many, instead of as many as fit (75 and 140 in Liu et al. 2023).
    """
    uuids = distinct(chance, "uuids")
    template = 'What is the value of the key "{key}" in the JSON object?'
    room = length - REPLY - count_tokens(template.format(key=next(uuids)))
    entries = (f'"{next(uuids)}": "{next(uuids)}",' for _ in iter(int, 1))
    lines = list(islice(entries, pairs)) if pairs else fill(entries, room - 2)
    lines[-1] = lines[-1].removesuffix(",")
    index = chance.randrange(len(lines))
    key, value = next(iter(json.loads("{" + lines[index].removesuffix(",") + "}").items()))
    start = 1 + sum(len(line) + 1 for line in lines[:index])
    entry = f'"{key}": "{value}"'
    return Reading(
        id=name,
        family="longdoc",
        question=template.format(key=key),
        answers=(value,),
        metric="all",
        sources=(Source(id=DOCUMENT, text="{" + " ".join(lines) + "}"),),
        evidence=(Evidence(doc=DOCUMENT, start=start, end=start + len(entry)),),
        meta={"task": "kv", "unhinted": UNHINTED, "hinted": UNHINTED, "pairs": len(lines)},
    )


def _in_noise(
    length: int, chance: Random, name: str, task: str, form: tuple[str, str], value: str
) -> Reading:
    template, question = form
    needle = template.format(value=value)
    room = length - REPLY - count_tokens(question) - count_each([needle])[0]
    filler = fill(noise(chance), room)
    text, spots = interleave(filler, [needle], scattered(chance, len(filler), 1), lines=True)
    hint = f'{UNHINTED} It stands in a sentence of the form "{template}"'
    return Reading(
        id=name,
        family="longdoc",
        question=question,
        answers=(value,),
        metric="all",
        sources=(Source(id=DOCUMENT, text=text),),
        evidence=spots,
        meta={"task": task, "unhinted": UNHINTED, "hinted": hint},
    )
