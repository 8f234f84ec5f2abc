"""Invented names. None refers to a real company, person or product."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

COMPANIES = (
    "Bramblewick Traders",
    "Oskar & Finn Supplies",
    "Quillhaven Co-operative",
    "Tarnbeck Foods",
    "Velder Workshops",
    "Northmere Garden Goods",
    "Pell & Dray Logistics",
    "Sundrop Instruments",
)
FIRST_NAMES = (
    "Ada",
    "Bruno",
    "Cilla",
    "Dario",
    "Edda",
    "Falk",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Kaja",
    "Levin",
    "Mira",
    "Nils",
    "Oda",
    "Piet",
    "Runa",
    "Silas",
    "Tove",
    "Ugo",
)
LAST_NAMES = (
    "Aldervale",
    "Birkmoor",
    "Castelow",
    "Dunnefjord",
    "Eskelby",
    "Farrowin",
    "Grimsdale",
    "Holtquist",
    "Ingelrood",
    "Jarnholm",
    "Kesterton",
    "Lundmarsh",
    "Mossgrave",
    "Norrbrook",
    "Ostervane",
    "Plimwell",
    "Quarnby",
    "Rothmuir",
)
PRODUCTS = (
    "clay pot",
    "copper kettle",
    "cork board",
    "desk lamp",
    "felt slipper",
    "hand saw",
    "linen apron",
    "maple tray",
    "oak stool",
    "paper lantern",
    "rain barrel",
    "slate coaster",
    "spice rack",
    "tin whistle",
    "wool blanket",
    "zinc bucket",
)
REGIONS = ("Eastmark", "Fenland", "Highmoor", "Lakeshire", "Southport", "Westvale")
DEPARTMENTS = ("Accounts", "Dispatch", "Kitchen", "Repairs", "Sales", "Stores")
CITIES = ("Alderby", "Brennick", "Corvale", "Dunmere", "Elsholm", "Farwick", "Gildern")
STREETS = ("Mill Lane", "Harbour Road", "Quarry Hill", "Station Walk", "Tannery Row", "Weir Street")
_FIRST_DAY = datetime(2025, 1, 6)


def person(rng: Random) -> tuple[str, str]:
    """First and last name."""
    return rng.choice(FIRST_NAMES), rng.choice(LAST_NAMES)


def day(rng: Random, span: int = 500) -> datetime:
    """A date within `span` days."""
    return _FIRST_DAY + timedelta(days=rng.randrange(span))


def money(rng: Random, low: int = 500, high: int = 250_000) -> float:
    """An amount with two decimals; bounds in hundredths."""
    return rng.randrange(low, high) / 100


def product_code(rng: Random) -> str:
    """A code such as `KX-417`."""
    return f"{rng.choice('ABDEGHKLMPRSTVXZ')}{rng.choice('AEIOUXYZ')}-{rng.randrange(100, 1000)}"


def spaced(rng: Random, text: str) -> str:
    """`text` with stray spaces around it, two times out of three."""
    return rng.choice((text, f" {text}", f"{text}  "))
