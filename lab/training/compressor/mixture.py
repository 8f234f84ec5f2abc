"""Questions made from sentences: a value is taken out, a question word stands for its kind.

A cheap kin of the cloze translation of Lewis et al. (2019, "Unsupervised Question Answering by
Cloze Translation") and the inverse cloze task (Lee et al. 2019): no generator model is needed.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.rag.retrieve import STOPWORDS
from lab.training.compressor.examples import Example

_VALUE = re.compile(
    r"(?P<year>\b(?:1[5-9]|20)\d\d\b)|(?P<number>\b\d[\d.,]*(?: ?%| percent| million| billion)?)"
    r"|(?P<name>(?<=[a-z,;] )[A-Z][\w'-]+(?: (?:of |the )?[A-Z][\w'-]+){0,3})"
)
_QUESTION_WORDS = {
    "year": ("when", "in what year", "what year", "since when"),
    "number": ("how many", "how much", "what number of", "what percentage"),
    "name": ("who", "what", "which", "what is the name of", "where"),
}
_PREPOSITIONS = ("in", "at", "from", "near")
_FEWEST, _MOST = 7, 45


def cloze(sentence: str, rng: random.Random) -> tuple[str, str] | None:
    """A question about the sentence and its answer; None where no value can be asked for."""
    if not _FEWEST <= len(sentence.split()) <= _MOST:
        return None
    values = list(_VALUE.finditer(sentence))
    if not values:
        return None
    value = rng.choice(values)
    before, after = sentence[: value.start()].split(), sentence[value.end() :].split()
    # The words near the value belong to its clause; the others would give the sentence away.
    near = before[-rng.randint(3, 9) :], after[: rng.randint(2, 8)]
    thinned = [
        [word for word in half
         if rng.random() < (0.45 if word.lower().strip(".,;") in STOPWORDS else 0.7)]
        for half in near
    ]  # fmt: skip
    if sum(word.lower() not in STOPWORDS for half in thinned for word in half) < 3:
        return None
    kind = value.lastgroup or "name"
    question_word = rng.choice(_QUESTION_WORDS[kind])
    if kind == "name" and before and before[-1].lower() in _PREPOSITIONS:
        question_word = "where"
    parts = [*thinned[1], *thinned[0]] if rng.random() < 0.4 else [*thinned[0], *thinned[1]]
    question = " ".join([question_word, *(word.strip('.,;:()[]"') for word in parts)])
    return (question.lower() if rng.random() < 0.5 else question) + "?", value.group()


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

# A query, lines of one kind, and which of them answer.
Records = tuple[str, list[str], list[int]]


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
        {"kind": kind, "thing": item, "place": place, "value": _value(rng)}
        for kind, item, place in zip(
            rng.sample(_KINDS.split(";"), 4), rng.sample(_THINGS, 4), rng.sample(_PLACES, 4),
            strict=True,
        )
    ]  # fmt: skip
    target = facts[0]
    # One distractor differs in a single word: the critic has to read, not to recognise a form.
    near_miss = {**target, rng.choice(["kind", "thing", "place"]): "", "value": _value(rng)}
    near_miss.update({key: facts[1][key] for key, value in near_miss.items() if not value})
    facts = [target, near_miss, *facts[2 : rng.randint(2, 4)]]
    rng.shuffle(facts)
    form = rng.choice(_STATE) if rng.random() < 0.5 else ""
    lines = [(form or rng.choice(_STATE)).format(**fact) for fact in facts]
    return rng.choice(_ASK).format(**target), lines, [facts.index(target)]


def pairs(rng: random.Random) -> Records:
    """One key of ten."""
    keys = ["".join(rng.choices("abcdef0123456789", k=rng.choice([6, 8, 12]))) for _ in range(10)]
    form = rng.choice(['"{}": "{}"', "{} = {}", "{}: {}", "set {} to {}", "- {} -> {}"])
    place = rng.randrange(len(keys))
    asks = ["What is the value of {}?", "value for key {}", "look up {}", 'Which value has "{}"?']
    return (
        rng.choice(asks).format(keys[place]),
        [form.format(k, _value(rng)) for k in keys],
        [place],
    )


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
    names = [f"{place} {item}" for place, item in
             zip(rng.sample(_PLACES, 9), rng.choices(_THINGS, k=9), strict=True)]  # fmt: skip
    rows = [" | ".join(["Name", *heads])]
    rows += [" | ".join([name, *(str(rng.randint(1, 9999)) for _ in heads)]) for name in names]
    place = rng.randrange(len(names))
    head = rng.choice(heads).lower()
    asks = ["How many {1} does {0} have?", "{0} {1}", "What is the {1} of {0}?"]
    return rng.choice(asks).format(names[place], head), rows, [place + 1]


def log(rng: random.Random) -> Records:
    """An event by its place, its kind or its day."""
    rooms = rng.sample(_ROOMS.split(";"), 6)
    events = ["was closed for repairs", "passed the inspection", "reported a power cut",
              "received new equipment", "ran out of paper", "welcomed visitors"]  # fmt: skip
    days = rng.sample(range(1, 29), 6)
    rng.shuffle(events)
    lines = [f"On {day} May the {room} {event}."
             for day, room, event in zip(days, rooms, events, strict=True)]  # fmt: skip
    place = rng.randrange(6)
    room, event = rooms[place], events[place]
    asks = [f"When was it that the {room} {event}?", f"what happened on {days[place]} May",
            f"{room} {event.split()[-1]} date"]  # fmt: skip
    return rng.choice(asks), lines, [place]


MAKERS: tuple[Callable[[random.Random], Records], ...] = (needle, pairs, chain, table, log)


# 1: answers the question; 0: does not; -1: holds the answer's words without being marked as gold,
# left out of the loss.
Label = Literal[-1, 0, 1]

# Sources of short texts; negatives for the others come from these.
PASSAGES = ("nq_oracle", "qed")
# Questions over long texts come several times: each time other windows of the text.
REPEATS = {"wice_dev": 2, "qmsum_val": 3}
CLOZE, GENERATED = 1200, 400
# Characters of a sentence or turn that are read.
LONGEST = 1200


@dataclass(frozen=True)
class Labelled:
    """A question over one text, each of its sentences labelled."""

    source: str
    query: str
    sentences: tuple[str, ...]
    labels: tuple[Label, ...]
    answers: tuple[str, ...] = ()


def mixture(examples: Sequence[Example], seed: int) -> list[Labelled]:
    """Mix the examples that are trained on.

    Args:
        examples: none of them held out.
        seed: of what is made here.
    """
    real = [labelled(example) for example in examples]
    short = [row for row in real if row.source in PASSAGES]
    long = [
        row
        for source, times in REPEATS.items()
        for row in [row for row in real if row.source == source] * times
    ]
    texts = [row.sentences for row in real if row.source != "qmsum_val"]
    filler = [s for row in real if row.source == "nq_oracle" for s in row.sentences if len(s) < 200]
    return [
        *short, *long, *cloze_questions(texts, CLOZE, seed), *records(filler, GENERATED, seed),
    ]  # fmt: skip


def labelled(example: Example) -> Labelled:
    """The example with a label for every sentence; those of meetings and claims are complete."""
    sentences = tuple(text[:LONGEST] for text in example.passage.sentences)
    answers = tuple(answer for answer in example.answers if answer)
    labels = _labels(sentences, example.gold, answers)
    return Labelled(example.passage.source, example.query, sentences, labels, answers)


def cloze_questions(texts: Sequence[tuple[str, ...]], count: int, seed: int) -> list[Labelled]:
    """Questions made from sentences of the texts; the sentence that was asked about is gold."""
    rng = random.Random(f"cloze-{seed}")
    rows: list[Labelled] = []
    for _ in range(20 * count):
        if len(rows) == count:
            break
        sentences = rng.choice(texts)
        gold = rng.randrange(len(sentences))
        pair = cloze(sentences[gold], rng)
        if pair is not None:
            question, *answers = pair
            labels = _labels(sentences, {gold}, answers)
            rows.append(Labelled("cloze", question, sentences, labels, tuple(answers)))
    return rows


def _labels(
    sentences: Sequence[str], gold: Collection[int], answers: Sequence[str]
) -> tuple[Label, ...]:
    return tuple(
        1 if place in gold else -1 if holds(sentence, answers) else 0
        for place, sentence in enumerate(sentences)
    )


def records(filler: Sequence[str], count: int, seed: int) -> list[Labelled]:
    """Needles, keys, chains, rows and log lines, the kinds in turn, some among filler."""
    rng = random.Random(f"generated-{seed}")
    rows: list[Labelled] = []
    for number in range(count):
        kind = MAKERS[number % len(MAKERS)]
        query, lines, gold = kind(rng)
        labels: list[Label] = [1 if place in gold else 0 for place in range(len(lines))]
        pairs = list(zip(lines, labels, strict=True))
        if kind.__name__ in ("needle", "chain"):
            for _ in range(rng.randint(2, 7)):
                pairs.insert(rng.randint(0, len(pairs)), (rng.choice(filler), 0))
        sentences, flags = zip(*pairs, strict=True)
        rows.append(Labelled(kind.__name__, query, sentences, flags))
    return rows


def holds(sentence: str, answers: Sequence[str]) -> bool:
    """Return True if an answer stands in the sentence, case ignored."""
    low = sentence.lower()
    return any(answer.lower() in low for answer in answers)
