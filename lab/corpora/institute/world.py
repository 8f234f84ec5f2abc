"""The invented institute: its things, their names, and every fact about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from random import Random
from typing import NamedTuple

from lab.corpora.institute.relations import BY_KIND, Kind, Relation

COUNTS: dict[Kind, int] = {
    "person": 46,
    "department": 10,
    "site": 12,
    "project": 25,
    "supplier": 14,
    "vessel": 18,
    "incident": 16,
    "policy": 12,
}
_GIVEN = [
    "Aldo",
    "Berit",
    "Corin",
    "Dagny",
    "Emrys",
    "Fenna",
    "Gisle",
    "Hedda",
    "Ivo",
    "Jorun",
    "Kasimir",
    "Liv",
    "Morten",
    "Nuria",
    "Orla",
    "Petra",
    "Quirin",
    "Rosalie",
    "Sigur",
    "Thea",
    "Ulf",
    "Vera",
    "Wim",
    "Yrsa",
    "Zita",
    "Anselm",
    "Brida",
    "Cosmo",
    "Doreen",
    "Egil",
]
_FAMILY = [
    "Ashgrove",
    "Bellander",
    "Crowhurst",
    "Dornfeld",
    "Ebbesen",
    "Fairlock",
    "Garrowby",
    "Hollund",
    "Isaksen",
    "Jessop",
    "Kvist",
    "Lindqvast",
    "Marlowe",
    "Nordahl",
    "Oakeshott",
    "Pellworm",
    "Quade",
    "Rosvold",
    "Stavely",
    "Tarnquist",
    "Uhlmann",
    "Vexley",
    "Winterbourne",
    "Yelland",
    "Zander",
    "Brackwater",
    "Cobham",
    "Dreyer",
    "Elvestad",
    "Foxglen",
]
_TOWNS = [
    "Saltmere",
    "Orrin Bay",
    "Kestwick",
    "Dunholm",
    "Vargsund",
    "Lower Tarrow",
    "Fernhaven",
    "Stellby",
    "Brackness",
    "Ullenport",
    "Cray Mills",
    "Hovestad",
    "Pinmouth",
    "Garth Hollow",
    "Eastlund",
    "Mirefleet",
    "Rookhaven",
    "Tidwell",
    "Askeby",
    "Nether Quay",
]
_SCHOOLS = [
    "Harrow Street Polytechnic",
    "the Naval College of Vargsund",
    "Stellby University",
    "the Lyceum of Dunholm",
    "Eastlund Technical School",
    "the Academy of Brackness",
    "Cray Institute of Science",
    "Ullenport Maritime School",
]
_FIELDS = [
    "Sediment Studies",
    "Tidal Energy",
    "Coastal Birds",
    "Marine Acoustics",
    "Harbour Safety",
    "Kelp Farming",
    "Storm Records",
    "Deep Survey",
    "Water Quality",
    "Fisheries Statistics",
    "Dune Protection",
    "Ice Drift",
]
_HOUSES = [
    "the Old Ropewalk",
    "Lantern House",
    "the Customs Shed",
    "Gull Tower",
    "the Winter Boathouse",
    "Tern Court",
    "the Brick Annex",
    "Anchor Hall",
    "the Signal Station",
    "Cooper's Loft",
    "Mole House",
    "the Net Store",
    "the Tide Gauge House",
    "Pilot's Lodge",
]
_CODES = [
    "Lodestar",
    "Quicksand",
    "Barnacle",
    "Driftwood",
    "Halyard",
    "Moonpool",
    "Sandpiper",
    "Undertow",
    "Cormorant",
    "Fathom",
    "Keelson",
    "Seaglass",
    "Spindrift",
    "Bowline",
    "Capstan",
    "Eelgrass",
    "Foghorn",
    "Gannet",
    "Hawser",
    "Ironbark",
    "Jetsam",
    "Kittiwake",
    "Limpet",
    "Mainstay",
    "Nautilus",
    "Osprey",
    "Plankton",
    "Rudder",
]
_TRADES = ("Instruments", "Marine Works", "Cables", "Optics", "Boatyard", "Sensors", "Foundry")
_SHADES = ("Grey", "Bold", "Silent", "Northern", "Little", "Patient", "Amber", "Restless")
_BIRDS = ("Petrel", "Heron", "Plover", "Skua", "Curlew", "Fulmar", "Dunlin", "Avocet")
_WATERS = ("Candle Reef", "Widow's Bank", "the inner basin", "Cutler Sound", "the north channel",
           "Pike Rock", "the fairway", "Molly Shoal")  # fmt: skip
_MISHAPS = ("grounding", "collision", "cable fire", "flooding", "oil spill", "near miss")
_RULES = ("Diving", "Data Sharing", "Night Watch", "Visitor", "Chemical Storage", "Travel",
          "Loan of Instruments", "Overtime", "Radio", "Specimen", "Archive", "Small Boat",
          "Fuel", "Field Camp")  # fmt: skip
_PRODUCTS = ("pressure gauges", "winches", "underwater lamps", "sediment corers", "towed sonars",
             "mooring chains", "salinity probes", "fibre cables", "survey launches",
             "drifting buoys")  # fmt: skip
_CAUSES = ("a worn shackle", "a misread chart", "fatigue of the crew", "a blocked valve",
           "a sudden squall", "an unlit buoy", "faulty wiring", "a missed radio call",
           "ice on the deck", "a cracked weld")  # fmt: skip
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
           "October", "November", "December")  # fmt: skip


_PAST, _FUTURE = (1962, 2019), (2026, 2041)


class Thing(NamedTuple):
    """Something with a document of its own."""

    kind: Kind
    name: str


class World(NamedTuple):
    """All things, and the value of every fact: a name of a thing, or a literal."""

    things: tuple[Thing, ...]
    facts: dict[tuple[str, str], str]


def make_world(chance: Random) -> World:
    """Draw an institute; names are never used twice, literals may be."""
    full_names = [f"{forename} {family}" for forename, family in product(_GIVEN, _FAMILY)]
    chance.shuffle(full_names)
    people = iter(full_names)
    by_kind: dict[Kind, list[str]] = {}
    for kind, count in COUNTS.items():
        by_kind[kind] = _names(chance, kind, count, people)
    entities = tuple(Thing(kind, name) for kind, names in by_kind.items() for name in names)
    names_by_kind: dict[str, list[str]] = {**by_kind}
    facts: dict[tuple[str, str], str] = {}
    for entity in entities:
        for relation in BY_KIND[entity.kind]:
            facts[entity.name, relation.name] = _value(
                chance, relation, entity, names_by_kind, people
            )
    return World(entities, facts)


def _names(chance: Random, kind: Kind, count: int, people: Iterator[str]) -> list[str]:
    if kind == "person":
        return [next(people) for _ in range(count)]
    pools: dict[str, list[str]] = {
        "department": [f"the Department of {field}" for field in _FIELDS],
        "site": _HOUSES,
        "project": [f"Project {code}" for code in _CODES],
        "supplier": [f"{family} {trade}" for family, trade in product(_FAMILY, _TRADES)],
        "vessel": [f"the {shade} {bird}" for shade, bird in product(_SHADES, _BIRDS)],
        "incident": [f"the {mishap} at {where}" for mishap, where in product(_MISHAPS, _WATERS)],
        "policy": [f"the {rule} Policy" for rule in _RULES],
    }
    return chance.sample(pools[kind], min(count, len(pools[kind])))


def _value(
    chance: Random, relation: Relation, entity: Thing, names_by_kind: dict[str, list[str]],
    people: Iterator[str],
) -> str:  # fmt: skip
    literals: dict[str, Callable[[], str]] = {
        "town": lambda: chance.choice(_TOWNS),
        "school": lambda: chance.choice(_SCHOOLS),
        "year": lambda: str(chance.randint(*(_FUTURE if relation.name == "ends" else _PAST))),
        "money": lambda: f"{chance.randint(12, 98) * 10} thousand crowns",
        "name": lambda: next(people),
        "product": lambda: chance.choice(_PRODUCTS),
        "cause": lambda: chance.choice(_CAUSES),
        "month": lambda: f"{chance.choice(_MONTHS)} {chance.randint(1991, 2022)}",
    }
    if relation.to in literals:
        return literals[relation.to]()
    candidates = [name for name in names_by_kind[relation.to] if name != entity.name]
    return chance.choice(candidates)
