"""The almanac: short texts and tables with one question each, generated from a seed. CC0.

    python corpora/almanac/generate.py SPLIT OUT.jsonl

Every name, place and figure is invented. Every row is a task whose answer is a short span of its
text: what is hard for a small model is to find the span and to say nothing else. The same bytes
every time: all randomness comes from `random.Random` seeded with a string of seed, split, number.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SEED = 41
SIZES = {"train": 150, "selection": 250, "test": 400}

GIVEN = [
    "Ada",
    "Bela",
    "Cato",
    "Dora",
    "Edda",
    "Finn",
    "Greta",
    "Hugo",
    "Ines",
    "Jarl",
    "Kaja",
    "Leif",
    "Mira",
    "Nils",
    "Odile",
    "Pell",
    "Runa",
    "Sven",
    "Tilda",
    "Ulla",
    "Viggo",
    "Wanda",
    "Ylva",
    "Zeno",
]
FAMILY = [
    "Brandt",
    "Calder",
    "Dunmore",
    "Ekholm",
    "Farrow",
    "Grell",
    "Hask",
    "Ivers",
    "Jansik",
    "Kline",
    "Lorne",
    "Marsk",
    "Norwin",
    "Ostrow",
    "Pellan",
    "Quist",
    "Rask",
    "Selby",
    "Thorne",
    "Ulvik",
    "Varga",
    "Wexel",
    "Yarrow",
    "Zoller",
]
TOWNS = [
    "Tolvik",
    "Marnby",
    "Ostrahall",
    "Quendon",
    "Brisko",
    "Harrowick",
    "Elmstad",
    "Vardal",
    "Pinnock",
    "Luthen",
    "Corveth",
    "Drummel",
    "Skarholt",
    "Nettlemoor",
    "Fenwich",
    "Aldrun",
]
COLOURS = ["green", "red", "blue", "yellow", "white", "black", "orange", "purple", "grey", "brown"]
ADJECTIVES = [
    "Moss",
    "Copper",
    "Winter",
    "Silver",
    "Crooked",
    "Amber",
    "Hollow",
    "Salt",
    "Northern",
    "Quiet",
    "Paper",
    "Thistle",
]
NOUNS = [
    "Lantern",
    "Heron",
    "Bell",
    "Anchor",
    "Comet",
    "Otter",
    "Kettle",
    "Sparrow",
    "Compass",
    "Harp",
    "Acorn",
    "Badger",
]
KINDS = {  # kind: (what a maker did, what is counted)
    "ferry": ("built", "seats"),
    "mill": ("built", "windows"),
    "bridge": ("designed", "arches"),
    "clock": ("made", "wheels"),
    "library": ("founded", "rooms"),
    "lighthouse": ("built", "steps"),
    "theatre": ("founded", "boxes"),
    "tram": ("designed", "benches"),
    "garden": ("planted", "paths"),
    "bakery": ("opened", "ovens"),
}
FILLER = (
    "Visitors like it best in the early morning.",
    "A small fair is held beside it every summer.",
    "Children of the town draw it in their school books.",
    "On windy days one can hear it from far away.",
    "Its picture is printed on the local tea tins.",
    "Two cats are said to live there.",
)
QUESTIONS = {
    "who": "Who {did} the {name}?",
    "when": "In which year was the {name} {did}?",
    "where": "In which town is the {name}?",
    "how many": "How many {counted} does the {name} have?",
    "colour": "What colour is the {name}?",
    "price": "How many crowns did the {name} cost?",
}
SENTENCES = {
    "who": "The {name} was {did} by {who}.",
    "when": "The {name} was {did} in {when}.",
    "where": "The {name} is in {where}.",
    "how many": "The {name} has {how many} {counted}.",
    "colour": "The {name} is painted {colour}.",
    "price": "The {name} cost {price} crowns.",
}
LABELS = {
    "who": "{did} by",
    "when": "year",
    "where": "town",
    "how many": "{counted}",
    "colour": "colour",
    "price": "crowns",
}

Fact = dict[str, str]


def _fact(chance: random.Random, kind: str | None = None) -> Fact:
    """One invented thing: its name, and an answer to every type of question."""
    kind = kind or chance.choice(list(KINDS))
    did, counted = KINDS[kind]
    return {
        "kind": kind,
        "did": did,
        "counted": counted,
        "name": f"{chance.choice(ADJECTIVES)} {chance.choice(NOUNS)}",
        "who": f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}",
        "when": str(chance.randint(1790, 1960)),
        "where": chance.choice(TOWNS),
        "how many": str(chance.randint(3, 98)),
        "colour": chance.choice(COLOURS),
        "price": str(chance.randint(101, 990)),
    }


def _others(chance: random.Random, field: str, number: int) -> list[str]:
    """The asked property and `number` further ones, in random order."""
    properties = [field, *chance.sample([name for name in QUESTIONS if name != field], number)]
    chance.shuffle(properties)
    return properties


def sentences_text(chance: random.Random, field: str) -> tuple[str, Fact]:
    """Two or three plain sentences about one thing."""
    fact = _fact(chance)
    properties = _others(chance, field, chance.randint(1, 2))
    return " ".join(SENTENCES[name].format(**fact) for name in properties), fact


def passage_text(chance: random.Random, field: str) -> tuple[str, Fact]:
    """40 to 60 words; a second name and a second year lead astray."""
    fact = _fact(chance)
    later = int(fact["when"]) + chance.randint(5, 60)
    body = [
        f"It was {fact['did']} in {fact['when']} by {fact['who']}.",
        f"It has {fact['how many']} {fact['counted']} and is painted {fact['colour']}.",
        f"The town paid {fact['price']} crowns for it.",
        *chance.sample(FILLER, 1),
    ]
    chance.shuffle(body)
    repaired = f"In {later} it was repaired by {_fact(chance)['who']}."
    opening = f"The {fact['name']} is a {fact['kind']} in {fact['where']}."
    return " ".join([opening, *body, repaired]), fact


def record_text(chance: random.Random, field: str) -> tuple[str, Fact]:
    """A name and three lines of label and value."""
    fact = _fact(chance)
    lines = [f"name: {fact['name']}"]
    lines += [f"{LABELS[name].format(**fact)}: {fact[name]}" for name in _others(chance, field, 2)]
    return "\n".join(lines), fact


def table_text(chance: random.Random, field: str, rows: int, columns: int) -> tuple[str, Fact]:
    """A Markdown table of things of one kind; one of them is asked for."""
    kind = chance.choice(list(KINDS))
    by_name: dict[str, Fact] = {}
    while len(by_name) < rows:
        fact = _fact(chance, kind)
        by_name[fact["name"]] = fact
    properties = _others(chance, field, columns - 1)
    fact = chance.choice(list(by_name.values()))
    head = ["name", *(LABELS[name].format(**fact) for name in properties)]
    body = [[row["name"], *(row[name] for name in properties)] for row in by_name.values()]
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *body)]
    return "\n".join(lines), fact


STRATA: dict[str, Callable[[random.Random, str], tuple[str, Fact]]] = {
    "sentences": sentences_text,
    "passage": passage_text,
    "record": record_text,
    "table-small": lambda chance, field: table_text(chance, field, 2, 1),
    "table-large": lambda chance, field: table_text(chance, field, chance.randint(3, 6), 2),
}


def tasks(split: str) -> Iterator[dict[str, Any]]:
    """Rows of a split: strata and types of question take turns, so every prefix is balanced."""
    for number in range(SIZES[split]):
        stratum = list(STRATA)[number % len(STRATA)]
        field = list(QUESTIONS)[number // len(STRATA) % len(QUESTIONS)]
        chance = random.Random(f"almanac:{SEED}:{split}:{number}")
        text, fact = STRATA[stratum](chance, field)
        yield {
            "id": f"almanac-{split}-{number:03d}",
            "prompt": f"Text: {text}\nQuestion: {QUESTIONS[field].format(**fact)}\nAnswer:",
            "answer": fact[field],
            "check": "em",
            "meta": {"stratum": stratum, "asked": field},
        }


def write(split: str, path: Path) -> None:
    """Write a split as JSON lines."""
    lines = [json.dumps(row, ensure_ascii=False) for row in tasks(split)]
    path.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]))
