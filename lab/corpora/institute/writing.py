"""From facts to documents: sentences, pronouns, small talk, and where every fact stands."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from harness.corpora import Evidence, Source
from lab.corpora.institute.relations import BY_KIND, Kind
from lab.corpora.institute.world import Thing, World
from lab.corpora.wording import capital

OPENINGS: dict[Kind, tuple[str, ...]] = {
    "person": ("{name} works at the Brandsund Institute.", "Staff file: {name}.",
               "Few corridors are without a story about {name}.", "This note is about {name}."),
    "department": ("{name} is one of ten at the Brandsund Institute.", "Facts about {name}.",
                   "{name} is smaller than its reputation."),
    "site": ("{name} is among the premises of the Brandsund Institute.", "A page on {name}.",
             "Everybody at the institute knows the way to {name}."),
    "project": ("{name} is under way.", "Project sheet: {name}.", "{name} began as an idea over "
                "lunch."),
    "supplier": ("{name} is a firm that the institute has a contract with.", "Vendor record: "
                 "{name}.", "The purchasing office has dealt with {name} for a long time."),
    "vessel": ("{name} belongs to the fleet of the Brandsund Institute.", "Ship's card: {name}.",
               "{name} is not the fastest of boats."),
    "incident": ("{name} is still talked about.", "Report on {name}.", "The safety file has an "
                 "entry on {name}."),
    "policy": ("{name} is binding for everybody at the Brandsund Institute.", "Summary of {name}.",
               "New colleagues are handed {name} in their first week."),
}  # fmt: skip
PRONOUNS: dict[Kind, tuple[str, ...]] = {
    "person": ("this colleague", "our colleague", "{last}"),
    "department": ("it", "the department"),
    "site": ("it", "the building"),
    "project": ("it", "the project"),
    "supplier": ("it", "the firm", "the company"),
    "vessel": ("it", "the vessel", "the ship"),
    "incident": ("it", "the incident"),
    "policy": ("it", "the policy"),
}
ASIDES: dict[Kind, tuple[str, ...]] = {
    "person": ("A bicycle in the yard shows whether {it} is in.", "The coffee of {it} is feared.",
               "{it} prefers letters to calls."),
    "department": ("{it} has the best view of the harbour.", "Open days at {it} are crowded."),
    "site": ("In autumn the roof of {it} is full of starlings.", "The stairs of {it} are steep.",
             "Film crews have asked for {it} twice."),
    "project": ("Its meetings are on Thursdays.", "The logo of {it} was drawn by a child.",
                "Reviewers were friendly to {it}."),
    "supplier": ("Invoices of {it} come on yellow paper.", "{it} never misses a trade fair."),
    "vessel": ("The galley of {it} is small but good.", "Two cats have served on {it}.",
               "In a swell {it} rolls."),
    "incident": ("Nobody was hurt.", "The harbour master wrote a song about it.",
                 "Afterwards a rule was changed."),
    "policy": ("It fits on two pages.", "A poster sums it up.", "Few have read it to the end."),
}  # fmt: skip


class Line(NamedTuple):
    """A sentence of a document, with the fact that it tells, if it tells one."""

    text: str
    fact: tuple[str, str] | None


def write_documents(
    world: World, chance: Random, phrasings: slice
) -> tuple[list[Source], dict[tuple[str, str], Evidence]]:
    """One document a thing, and where each fact is told.

    Args:
        world: the facts.
        chance: where all choices come from.
        phrasings: which of the ways to tell a fact may be used (some are kept for other splits).
    """
    lines: dict[str, list[Line]] = {entity.name: [] for entity in world.things}
    kinds = {entity.name: entity for entity in world.things}
    for entity in world.things:
        for relation in BY_KIND[entity.kind]:
            value = world.facts[entity.name, relation.name]
            # A part of the facts stands in the document of the other thing only.
            elsewhere = relation.told_there and value in kinds and chance.random() < 0.35
            host = kinds[value] if elsewhere else entity
            forms = relation.told_there if elsewhere else relation.told
            form = chance.choice(forms[phrasings] or forms)
            text = form.format(it=_named(host, chance), value=value, name=entity.name)
            lines[host.name].append(Line(capital(text), (entity.name, relation.name)))
    sources: list[Source] = []
    evidence_of: dict[tuple[str, str], Evidence] = {}
    for entity in world.things:
        text, evidence = _document(entity, lines[entity.name], chance)
        sources.append(Source(id=slug(entity.name), title=capital(entity.name), text=text))
        evidence_of |= evidence
    return sources, evidence_of


def slug(name: str) -> str:
    """Id of the document of a thing."""
    return name.lower().removeprefix("the ").replace("'", "").replace(" ", "-")


def _document(
    entity: Thing, lines: Sequence[Line], chance: Random
) -> tuple[str, dict[tuple[str, str], Evidence]]:
    opening = chance.choice(OPENINGS[entity.kind]).format(name=entity.name)
    body = [*lines]
    asides = chance.sample(ASIDES[entity.kind], min(2, len(ASIDES[entity.kind])))
    body += [Line(capital(aside.format(it=_named(entity, chance))), None) for aside in asides]
    chance.shuffle(body)
    text, evidence = capital(opening), dict[tuple[str, str], Evidence]()
    for line in body:
        start = len(text) + 1
        text += f" {line.text}"
        if line.fact is not None:
            evidence[line.fact] = Evidence(doc=slug(entity.name), start=start, end=len(text))
    return text, evidence


def _named(entity: Thing, chance: Random) -> str:
    """A pronoun, or the name: sentences do not all repeat the title."""
    if chance.random() < 0.2:
        return entity.name
    return chance.choice(PRONOUNS[entity.kind]).format(last=entity.name.split()[-1])
