"""Logs of a lighthouse year: entries signed with initials, and a roster of the crew."""

from __future__ import annotations

from random import Random

from lab.corpora.dossier.page import Page, Question, Section, Sentence, Wording, listed
from lab.corpora.wording import fill_slots

STATIONS = ("Skerry Head", "Pike Rock", "Molly Shoal", "Cutler Point", "Gannet Island", "Far Holm")
CREW = ("Berit Quade", "Ivo Ashgrove", "Thea Hollund", "Wim Jessop", "Orla Dreyer", "Egil Vexley",
        "Rosalie Kvist", "Corin Stavely", "Nuria Cobham", "Ulf Fairlock", "Zita Marlowe",
        "Anselm Yelland")  # fmt: skip
RANKS = ("keeper", "second keeper", "cook", "boatman", "radio operator", "carpenter", "relief")
# What an entry says, and the same in other words, for questions.
EVENTS = (
    ("found a crack in the lantern glass", "discovered that the lantern glass was damaged"),
    ("mended the fog horn", "got the fog signal going again"),
    ("sighted a whale calf to the west", "noticed a young whale"),
    ("took in a sick gannet", "gave shelter to an ill bird"),
    ("painted the oil store", "put new colour on the shed for the oil"),
    ("repaired the boat winch", "made the winch for the boat work again"),
    ("spoke to the schooner by flag", "exchanged signals with the sailing ship"),
    ("slipped on the tower stairs", "had a fall inside the tower"),
    ("caught eleven cod for supper", "went fishing with success"),
    ("stopped the chronometer by mistake", "brought the precise clock to a halt"),
    ("lost the key of the powder room", "mislaid what opens the powder room"),
    ("heard shots from the mainland", "noticed gunfire ashore"),
    ("baked bread from the last flour", "used up the flour"),
    ("replaced the wick of the lesser light", "gave the small lamp a new wick"),
    ("counted ninety seals on the ledge", "took a census of the seals"),
    ("wrote to the board about the damp", "complained to the authorities of moisture"),
)
_ENTRY = ("{time} {sign} {event}.", "{time} {sign} {event}; all else well.",
          "{time} Wind {wind}. {sign} {event}.")  # fmt: skip
_WHO = ("Give the full name of the person who {other}.", "Who, by full name, {other}?")
_BUNK = ("In which room did the person sleep who {other}?", "Which room belonged to the one who "
         "{other}?")  # fmt: skip
_TIME = ("At what time of day was it that someone {other}?", "What time stands beside the entry "
         "on the person who {other}?")  # fmt: skip
_SIGN = ("With which initials is the entry signed on the one who {other}?", "Whose initials stand "
         "where someone {other}?")  # fmt: skip
_DAY = ("On what date was it that someone {other}?", "Which day was it when one of the crew "
        "{other}?")  # fmt: skip
_TALK = listed(
    "{time} {sky}, sea {sea}.|{time} Lamp {lamp}; {chore}.|{time} {sky}. {chore}.|{time} "
    "Passed: {ship}, bound {way}.|{time} Barometer {glass}, {sky}.|{time} {chore}, then "
    "{chore}.|{time} {sign} relieved {sign}|{time} Quiet. {chore}.",
    "|",
)


def initials(name: str) -> str:
    """Return the initials that sign an entry."""
    return "".join(word[0] + "." for word in name.split())


_SLOTS = {
    "{sky}": listed(
        "Haze,thin cloud,clear,rain in showers,sleet,low fog,bright moon,thunder far off,hail,"
        "drizzle"
    ),
    "{sea}": listed("smooth,slight,moderate,rough,confused,high"),
    "{lamp}": listed("burning well,trimmed,smoking a little,steady,turned down"),
    "{chore}": listed(
        "swept the stairs,wound the clockwork,pumped water,aired the bedding,split kindling,"
        "cleaned the lens,salted fish,darned socks,fed the hens,checked the ropes,read to the "
        "others,tarred the boat,washed the windows,sharpened knives"
    ),
    "{ship}": listed(
        "a brig with timber,two luggers,the mail steamer,a barque in ballast,a lone yawl,a "
        "collier,a naval tug,five herring boats"
    ),
    "{way}": ("north", "south", "in", "out"),
    "{sign}": [initials(name) for name in CREW],
}

_ROOMS = ("the east room", "the loft", "the room over the oil", "the watch room", "the annex",
          "the blue room", "the tower room", "the room by the stove")  # fmt: skip


def watch(wording: Wording, number: int) -> Page:
    """A roster, and forty days of entries, sixteen of which are asked about."""
    chance = wording.chance
    year = 1862 + number * 9 + chance.randint(0, 8)
    page = Page(f"Log of the light at {chance.choice(STATIONS)}, {year}")
    crew = chance.sample(CREW, 7)
    signs = {name: initials(name) for name in crew}
    rooms = dict(zip(crew, chance.sample(_ROOMS, len(crew)), strict=True))
    roster = [
        Sentence(f"{name} ({signs[name]}), {rank}, sleeps in {rooms[name]}", f"crew/{name}")
        for name, rank in zip(crew, chance.sample(RANKS, len(crew)), strict=True)
    ]
    page.sections.append(Section("Roster", roster, lines=True))
    days = [f"{day} {month} {year}" for month in ("March", "April") for day in range(5, 25)]
    sections = {day: Section(day, [], f"day/{day}") for day in days}
    page.sections += sections.values()
    for (event, alternative), day in zip(EVENTS, chance.sample(days, len(EVENTS)), strict=True):
        name = chance.choice(crew)
        time = _time(chance)
        text = wording.draw(_ENTRY, time=time, sign=signs[name], event=event, wind="fresh")
        sections[day].body.append(Sentence(text, event))
        ones = [
            Question(wording.draw(_TIME, other=alternative), (time,), (event,)),
            Question(wording.draw(_SIGN, other=alternative), (signs[name],), (event,)),
        ]
        twos = [
            Question(wording.draw(_WHO, other=alternative), (name,), (event, f"crew/{name}")),
            Question(
                wording.draw(_BUNK, other=alternative), (rooms[name],), (event, f"crew/{name}")
            ),
            Question(wording.draw(_DAY, other=alternative), (day,), (f"day/{day}", event)),
        ]
        page.questions += [chance.choice(ones), chance.choice(twos)]
    return page


def small_talk(chance: Random) -> str:
    """An entry that no question needs."""
    text = fill_slots(chance.choice(_TALK), _SLOTS, chance)
    glass = f"{chance.randint(28, 30)}.{chance.randint(10, 99)}"
    return text.replace("{time}", _time(chance)).replace("{glass}", glass)


def _time(chance: Random) -> str:
    return f"{chance.randrange(24):02}:{chance.randrange(12) * 5:02}"
