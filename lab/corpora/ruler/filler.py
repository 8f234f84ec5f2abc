"""Filler around needles: noise that repeats, and prose that never does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import cycle, islice, repeat
from random import Random

from harness.corpora import count_each
from lab.corpora.wording import capital, fill_slots

# Public RULER repeats one such line; each sample of ours repeats one of these.
NOISE = (
    "The lamp is lit. The door is open. The water is warm. Off we walk. Home again by night.",
    "Leaves turn in autumn. Rain falls on the roof. The bus is late. Nobody minds. We wait.",
    "Bread rises slowly. The oven hums. A cat sleeps nearby. Someone laughs. The day goes by.",
    "One path goes left. One path goes right. Both lead down. The birds sing. We stroll along.",
    "The tide comes in. The tide goes out. Boats rock gently. The sand is soft. Evening comes.",
    "Snow lies on the hill. The fence is white. Smoke drifts up. The dog barks. All is calm.",
)

_ENDS = re.compile(r"(?<=[.!?]) ")
_SLOTS = {
    "{who}": [
        "the surveyor",
        "a retired pilot",
        "the younger sister",
        "our neighbour",
        "the council",
        "a visiting scholar",
        "the cook",
        "the night watch",
        "a glass blower",
        "the editor",
        "two students",
        "the old ferryman",
        "a botanist",
        "the choir",
        "the inspector",
        "an apprentice",
        "the landlord",
        "a travelling troupe",
        "the archivist",
        "the second committee",
        "a patient teacher",
        "the miller",
        "a quiet engineer",
        "the shopkeepers",
    ],
    "{did}": [
        "described",
        "refused",
        "repaired",
        "remembered",
        "painted",
        "measured",
        "borrowed",
        "praised",
        "misplaced",
        "defended",
        "questioned",
        "rebuilt",
        "translated",
        "carried",
        "admired",
        "ignored",
        "compared",
        "collected",
        "sketched",
        "inherited",
        "explained",
        "postponed",
        "rearranged",
        "studied",
        "doubted",
        "catalogued",
    ],
    "{what}": [
        "the harvest figures",
        "a map of the estuary",
        "the broken clock",
        "an unsigned letter",
        "the north wing",
        "a crate of lemons",
        "the theory of tides",
        "the longest bridge",
        "several essays on patience",
        "the choice of colours",
        "an argument about trade",
        "the village accounts",
        "a method for drying herbs",
        "the plan for a theatre",
        "three rules of grammar",
        "the habits of starlings",
        "a proposal for a park",
        "the price of timber",
        "the history of the mill",
        "a difficult sonata",
        "the shape of the valley",
        "an experiment with light",
        "the meaning of the verse",
        "the route across the moor",
    ],
}
_WHEN = [
    "before the thaw",
    "in {year}",
    "after a long dispute",
    "during the second week",
    "without much hope",
    "with unusual care",
    "on the way to the market",
    "in the small hours",
    "for the third time",
    "against all advice",
    "for nearly {few} months",
    "late in the season",
    "in front of {many} guests",
    "at the edge of town",
    "under a leaking roof",
    "by candlelight",
]
_THEN = [
    "because {who} had asked for it",
    "although {who} objected",
    "and {who} wrote it down",
    "while {who} {did} {what}",
    "so that nobody {did} {what}",
    "which {who} never mentioned again",
    "as if {who} had known all along",
    "until {who} {did} {what}",
]
_ALONE = [
    "Opinion was divided, and it stayed so.",
    "It is hard to say what came of this.",
    "Most of what we call progress looks like that from nearby.",
    "The rest is easy to imagine.",
    "That, at least, is how {who} told it.",
    "Good work often begins with a dull afternoon.",
    "About {many} people saw it, and no two agreed.",
    "There were {few} reasons, none of them good.",
    "Habit is a slow builder, but it builds.",
    "Nothing else happened that day.",
    "Whether {who} {did} {what} is another question.",
]


def noise(chance: Random) -> Iterator[str]:
    """One line of noise, again and again."""
    return repeat(chance.choice(NOISE))


def prose(chance: Random) -> Iterator[str]:
    """Sentences of an essay about nothing; figures stand in some, so that digits betray nothing."""
    while True:
        if chance.random() < 0.15:
            form = chance.choice(_ALONE)
        else:
            form = "{who} {did} {what} " + chance.choice(_WHEN)
            if chance.random() < 0.6:
                form += ", " + chance.choice(_THEN)
            form += "."
        form = fill_slots(form, _SLOTS, chance)
        form = form.replace("{year}", str(chance.randint(1700, 2020)))
        form = form.replace("{few}", str(chance.randint(2, 9)))
        form = form.replace("{many}", f"{chance.randint(1, 40) * 10:,}")
        yield capital(form)


def sentences_of(essay: str) -> Iterator[str]:
    """The sentences of a given essay, from the start again when it ends."""
    return cycle(_ENDS.split(" ".join(essay.split())))


def fill(sentences: Iterator[str], tokens: int) -> list[str]:
    """Return the sentences that fit into so many tokens of the packaged tokenizer."""
    filled: list[str] = []
    remaining = tokens
    while block := list(islice(sentences, 256)):
        for sentence, cost in zip(block, count_each(block), strict=True):
            if cost > remaining:
                return filled
            filled.append(sentence)
            remaining -= cost
    return filled
