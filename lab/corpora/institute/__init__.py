"""The institute: short documents on an invented organisation, questions of two and three hops.

Every split has an institute of its own: other people, other facts. Train and selection never see
the last way of telling and of asking for a fact, so that test holds wordings that nothing was
tuned on.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from harness.core import Task
from harness.corpora import Evidence, Reading, Source, check_limit, write_readings
from lab.corpora.institute.relations import BY_KIND, EARLIER, Relation
from lab.corpora.institute.world import World, make_world
from lab.corpora.institute.writing import write_documents
from lab.corpora.wording import capital

SIZES = {"train": 60, "selection": 60, "test": 150}
SEED = 20261121
STRATA = ("two hops", "three hops", "comparison")


class Shelf(NamedTuple):
    """A split's institute, written down."""

    world: World
    sources: tuple[Source, ...]
    places: dict[tuple[str, str], Evidence]
    phrasings: slice


def write_split(split: str, out: Path, limit: int | None = None, seed: int = SEED) -> list[Task]:
    """Write `<split>.jsonl` and its documents; the same bytes every time.

    Args:
        split: train, selection or test.
        out: folder.
        limit: only so many questions; strata take turns, so that few still mix.
        seed: another seed gives other institutes.

    Raises:
        BadInput: if `limit` is below 1, or the folder cannot be written.
    """
    check_limit(limit)
    return write_readings(institute_readings(split, seed)[:limit], out, split)


def institute_readings(split: str, seed: int = SEED) -> list[Reading]:
    """The questions of a split, strata in turn, all over the same documents.

    Args:
        split: train, selection or test.
        seed: another seed gives other institutes.
    """
    chance = Random(f"institute:{seed}:{split}")
    shelf = write_shelf(split, chance)
    drawn = {stratum: _questions(stratum, shelf, chance) for stratum in STRATA}
    readings: list[Reading] = []
    # Names come again in another institute: no question may, though its answer would differ.
    earlier = list(SIZES)[: list(SIZES).index(split)]
    seen = {
        reading.question.lower()
        for earlier_split in earlier
        for reading in institute_readings(earlier_split, seed)
    }
    while len(readings) < SIZES[split]:
        stratum = STRATA[len(readings) % len(STRATA)]
        question, answer, facts = next(drawn[stratum])
        plain = question.lower()
        leaked = answer.lower() in plain and stratum != "comparison"
        if leaked or plain in seen:
            continue
        seen.add(plain)
        reading = Reading(
            id=f"institute-{split}-{len(readings):03}",
            family="search",
            question=capital(question),
            answers=_accepted(answer),
            metric="em",
            sources=shelf.sources,
            evidence=tuple(shelf.places[fact] for fact in facts),
            meta={
                "closed": True,
                "stratum": stratum,
                "hops": len(facts),
                "chain": [f"{entity}: {relation}" for entity, relation in facts],
            },
        )
        readings.append(reading)
    return readings


def write_shelf(split: str, chance: Random) -> Shelf:
    """Draw and write the institute of a split."""
    world = make_world(chance)
    phrasings = slice(None) if split == "test" else slice(0, -1)
    sources, evidence = write_documents(world, chance, phrasings)
    return Shelf(world, tuple(sources), evidence, phrasings)


# Question, answer, and the facts (thing, relation) that lead to it, in order.
Draft = tuple[str, str, list[tuple[str, str]]]


def ask_chain(
    shelf: Shelf, chance: Random, hops: int
) -> tuple[str, tuple[str, ...], list[tuple[str, str]]] | None:
    """A question over a shelf, its accepted answers and facts; None where a walk ends too soon."""
    draft = _chain(shelf, chance, hops)
    if draft is None or draft[1].lower() in draft[0].lower():
        return None
    question, answer, facts = draft
    return capital(question), _accepted(answer), facts


def _accepted(answer: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((answer, answer.removesuffix(" thousand crowns"))))


def _questions(stratum: str, shelf: Shelf, chance: Random) -> Iterator[Draft]:
    while True:
        if stratum == "comparison":
            draft = _comparison(shelf, chance)
        else:
            draft = _chain(shelf, chance, 2 if stratum == "two hops" else 3)
        if draft is not None:
            yield draft


def _chain(shelf: Shelf, chance: Random, hops: int) -> Draft | None:
    """Walk along facts from thing to thing; None where the walk comes back or ends too soon."""
    world = shelf.world
    kinds = {entity.name: entity.kind for entity in world.things}
    documented = set(kinds.values())
    start = chance.choice(world.things)
    name, facts, steps = start.name, list[tuple[str, str]](), list[Relation]()
    for hop in range(hops):
        last = hop == hops - 1
        open_ones = [
            relation
            for relation in BY_KIND.get(kinds[name], ())
            if last or relation.to in documented
        ]
        if not open_ones:
            return None
        relation = chance.choice(open_ones)
        facts.append((name, relation.name))
        steps.append(relation)
        name = world.facts[name, relation.name]
        if name in {entity for entity, _ in facts} or (not last and name not in kinds):
            return None
    phrase = start.name
    for relation in steps[:-1]:
        phrase = _one_of(relation.phrase, shelf, chance).format(x=phrase)
    return _one_of(steps[-1].asked, shelf, chance).format(x=phrase), name, facts


def _comparison(shelf: Shelf, chance: Random) -> Draft | None:
    name = chance.choice(list(EARLIER))
    candidates = [
        entity for entity in shelf.world.things if (entity.name, name) in shelf.world.facts
    ]
    first, second = chance.sample(candidates, 2)
    years = [int(shelf.world.facts[entity.name, name]) for entity in (first, second)]
    if years[0] == years[1]:
        return None
    answer = first.name if years[0] < years[1] else second.name
    question = chance.choice(EARLIER[name]).format(a=first.name, b=second.name)
    return question, answer, [(first.name, name), (second.name, name)]


def _one_of(forms: tuple[str, ...], shelf: Shelf, chance: Random) -> str:
    return chance.choice(forms[shelf.phrasings] or forms)
