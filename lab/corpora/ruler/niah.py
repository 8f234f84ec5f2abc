"""Needles in a haystack: the eight RULER tasks (Hsieh et al. 2024, section 3, table 2)."""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import Literal, NamedTuple

from harness.corpora import Reading, Source, count_each, count_tokens
from lab.corpora.ruler.filler import fill, noise, prose, sentences_of
from lab.corpora.ruler.placing import DOCUMENT, at_token, interleave, scattered
from lab.corpora.ruler.words import Kind, distinct


class Needles(NamedTuple):
    """Parameters of a task, as in the public configuration.

    Attributes:
        haystack: noise, essay, or nothing but needles.
        key: kind of the keys; value: kind of the values.
        keys: needles with different keys; only `queries` of them are asked for.
        values: needles per key that is asked for.
        queries: keys that are asked for.
    """

    haystack: Literal["noise", "essay", "needle"]
    key: Kind = "words"
    value: Kind = "numbers"
    keys: int = 1
    values: int = 1
    queries: int = 1


TASKS: dict[str, Needles] = {
    "niah_single_1": Needles("noise"),
    "niah_single_2": Needles("essay"),
    "niah_single_3": Needles("essay", value="uuids"),
    "niah_multikey_1": Needles("essay", keys=4),
    "niah_multikey_2": Needles("needle", key="phrases"),
    "niah_multikey_3": Needles("needle", key="uuids", value="uuids"),
    "niah_multivalue": Needles("essay", values=4),
    "niah_multiquery": Needles("essay", keys=4, queries=4),
}
LABELS = ("pass phrase", "locker code", "call sign", "registry mark", "ticket code", "lucky code")
TEMPLATES = (
    "The {label} of {key} is {value}.",
    "{key} was given {value} as its {label}.",
    "Note that {value} is the {label} for {key}.",
    "Anyone who needs the {label} of {key} should write {value}.",
    "On record, the {label} assigned to {key} reads {value}.",
    "{value} is what {key} uses as {label}.",
    "When they ask {key} for a {label}, the reply is {value}.",
)
_ONE = (
    "What is the {label} of {keys}?",
    "Which {label} belongs to {keys}?",
    "Somebody asks for the {label} of {keys}. What do you say?",
)
_MANY = (
    "The document gives {count} values of the {label} of {keys}. What are they all?",
    "List every {label} of {keys}; there are {count} in all.",
)
# Tokens of a sample's length that are left for the reply.
REPLY = 128
UNHINTED = "Keep the text that is needed to answer the question."


def needles_reading(
    task: str, length: int, chance: Random, name: str, *, essay: str = "", token: int | None = None
) -> Reading:
    """One sample.

    Args:
        task: one of :data:`TASKS`.
        length: tokens of document, question and reply together.
        chance: where all choices come from.
        name: id of the sample.
        essay: text to hide needles in, instead of generated prose.
        token: token at which the (only) needle begins, instead of anywhere.
    """
    settings = TASKS[task]
    label = chance.choice(LABELS)
    keys, values = distinct(chance, settings.key), distinct(chance, settings.value)
    queried = list(islice(keys, settings.queries))
    pairs = [(key, next(values)) for key in queried for _ in range(settings.values)]
    distractors = islice(zip(keys, values, strict=False), settings.keys - settings.queries)
    needles = [_needle(chance, label, *pair) for pair in (*pairs, *distractors)]
    key_list = queried[0] if len(queried) == 1 else f"{', '.join(queried[:-1])} and {queried[-1]}"
    form = chance.choice(_ONE if len(pairs) == 1 else _MANY)
    question = form.format(label=label, keys=key_list, count=len(pairs))
    room = length - REPLY - count_tokens(question) - sum(count_each(needles))
    if settings.haystack == "needle":
        more = zip(keys, values, strict=False)
        filler = fill((_needle(chance, label, *pair) for pair in more), room)
    elif settings.haystack == "noise":
        filler = fill(noise(chance), room)
    else:
        filler = fill(sentences_of(essay) if essay else prose(chance), room)
    positions = scattered(chance, len(filler), len(needles))
    if token is not None:
        filler, position = at_token(filler, token)
        positions = [position] * len(needles)
    text, spots = interleave(filler, needles, positions, lines=settings.haystack != "essay")
    # What the published evaluation of CPRS tells its compressor: the templates of the needles.
    forms = " or ".join(f'"{template.replace("{label}", label)}"' for template in TEMPLATES)
    hint = f"{UNHINTED} It stands in sentences of the form {forms}"
    return Reading(
        id=name,
        family="longdoc",
        question=question,
        answers=tuple(value for _, value in pairs),
        metric="all",
        sources=(Source(id=DOCUMENT, text=text),),
        evidence=spots[: len(pairs)],
        meta={"task": task, "unhinted": UNHINTED, "hinted": hint},
    )


def _needle(chance: Random, label: str, key: str, value: str) -> str:
    return chance.choice(TEMPLATES).format(label=label, key=key, value=value)
