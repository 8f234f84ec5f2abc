"""Examples made here: needles, key-value lines, chains of variables, table rows, in filler text.

The wordings are our own and vary; the needle tests of `harness.corpora` use others, so that the
critic learns what a record that answers looks like and not one template.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable

_PLACES = [
    *("Lisbon", "Oslo", "Quito", "Hanoi", "Dakar", "Perth", "Turin"),
    *("Lima", "Cairo", "Osaka", "Malmo", "Accra", "Izmir", "Leeds"),
]
_THINGS = [
    *("locker", "archive", "server", "boiler", "greenhouse"),
    *("ferry", "printer", "vault", "studio", "radio", "drone"),
]
_KINDS = "access phrase;serial number;door code;call sign;batch number;invoice total;pin;reference"
_ROOMS = "north office;harbour depot;third laboratory;old mill;night shift;east wing;data centre"
_WORDS = [
    *("copper", "lantern", "maple", "orbit", "velvet", "cactus"),
    *("harbor", "quartz", "saffron", "tundra", "willow", "comet"),
]
_STATE = (
    "The {kind} of the {thing} in {place} is {value}.",
    "For the {thing} at {place}, use {value} as the {kind}.",
    "Note to staff: {value} was chosen as {kind} for the {place} {thing}.",
    "{place} {thing}: {kind} = {value}",
    "Since spring the {thing} kept in {place} has had the {kind} {value}.",
)
_ASK = (
    "What is the {kind} of the {thing} in {place}?",
    "which {kind} does the {place} {thing} have",
    "I need the {kind} for the {thing} at {place}.",
    "{place} {thing} {kind}",
)

Records = tuple[str, list[str], list[int]]
"""A query, lines of one kind, and which of them answer."""


def _value(rng: random.Random) -> str:
    forms = (
        lambda: str(rng.randint(1000, 9_999_999)),
        lambda: "-".join(rng.sample(_WORDS, 2)),
        lambda: "".join(rng.choices(string.ascii_uppercase + string.digits, k=7)),
        lambda: f"{rng.randint(1, 99)}-{rng.choice(_WORDS)}-{rng.randint(1, 99)}",
    )
    return rng.choice(forms)()


def needle(rng: random.Random) -> Records:
    """A fact among facts; one of them differs from it in a single word."""
    facts = [
        {"kind": kind, "thing": thing, "place": place, "value": _value(rng)}
        for kind, thing, place in zip(
            rng.sample(_KINDS.split(";"), 4), rng.sample(_THINGS, 4), rng.sample(_PLACES, 4),
            strict=True,
        )
    ]  # fmt: skip
    asked = facts[0]
    # One distractor differs in a single word: the critic has to read, not to recognise a form.
    other = {**asked, rng.choice(["kind", "thing", "place"]): "", "value": _value(rng)}
    other.update({key: facts[1][key] for key, value in other.items() if not value})
    facts = [asked, other, *facts[2 : rng.randint(2, 4)]]
    rng.shuffle(facts)
    form = rng.choice(_STATE) if rng.random() < 0.5 else ""
    lines = [(form or rng.choice(_STATE)).format(**fact) for fact in facts]
    return rng.choice(_ASK).format(**asked), lines, [facts.index(asked)]


def pairs(rng: random.Random) -> Records:
    """One key of ten."""
    keys = ["".join(rng.choices("abcdef0123456789", k=rng.choice([6, 8, 12]))) for _ in range(10)]
    form = rng.choice(['"{}": "{}"', "{} = {}", "{}: {}", "set {} to {}", "- {} -> {}"])
    at = rng.randrange(len(keys))
    asks = ["What is the value of {}?", "value for key {}", "look up {}", 'Which value has "{}"?']
    return rng.choice(asks).format(keys[at]), [form.format(k, _value(rng)) for k in keys], [at]


def chain(rng: random.Random) -> Records:
    """Variables of a chain, beside those of another."""
    names = ["".join(rng.choices(string.ascii_lowercase, k=5)) for _ in range(8)]
    form = rng.choice(["{} = {}", "let {} be {}", "{} := {}", "{} takes the value of {}"])
    numbers = rng.sample(range(10_000, 99_999), 2)
    lines: list[str] = []
    for start, number in ((0, numbers[0]), (4, numbers[1])):
        values = [str(number), *names[start : start + 3]]
        own = zip(names[start : start + 4], values, strict=True)
        lines += [form.format(*pair) for pair in own]
    asks = ["Which variables hold {}?", "Find all names with the value {}.", "who equals {}"]
    return rng.choice(asks).format(numbers[0]), lines, [0, 1, 2, 3]


def table(rng: random.Random) -> Records:
    """A row by its name, and one column of it."""
    heads = rng.sample(["Price", "Stock", "Weight", "Orders", "Returns", "Staff", "Visits"], 3)
    names = [f"{place} {thing}" for place, thing in
             zip(rng.sample(_PLACES, 9), rng.choices(_THINGS, k=9), strict=True)]  # fmt: skip
    rows = [" | ".join(["Name", *heads])]
    rows += [" | ".join([name, *(str(rng.randint(1, 9999)) for _ in heads)]) for name in names]
    at = rng.randrange(len(names))
    head = rng.choice(heads).lower()
    asks = ["How many {1} does {0} have?", "{0} {1}", "What is the {1} of {0}?"]
    return rng.choice(asks).format(names[at], head), rows, [at + 1]


def log(rng: random.Random) -> Records:
    """An event by its place, its kind or its day."""
    rooms = rng.sample(_ROOMS.split(";"), 6)
    events = ["was closed for repairs", "passed the inspection", "reported a power cut",
              "received new equipment", "ran out of paper", "welcomed visitors"]  # fmt: skip
    days = rng.sample(range(1, 29), 6)
    rng.shuffle(events)
    lines = [f"On {day} May the {room} {event}."
             for day, room, event in zip(days, rooms, events, strict=True)]  # fmt: skip
    at = rng.randrange(6)
    asks = [f"When was it that the {rooms[at]} {events[at]}?", f"what happened on {days[at]} May",
            f"{rooms[at]} {events[at].split()[-1]} date"]  # fmt: skip
    return rng.choice(asks), lines, [at]


MAKERS: tuple[Callable[[random.Random], Records], ...] = (needle, pairs, chain, table, log)
