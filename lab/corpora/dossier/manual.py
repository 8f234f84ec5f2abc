"""Manuals: parts of a machine with their limits and tools, and a table of codes at the end."""

from __future__ import annotations

from random import Random

from lab.corpora.dossier.page import Page, Question, Section, Sentence, Wording, listed
from lab.corpora.wording import capital, fill_slots

MACHINES = ("ferry Lindholm", "ice press", "dredger Mole II", "cable winch", "kelp dryer",
            "paper mill", "lock gate", "cider plant")  # fmt: skip
PARTS = ("bilge pump", "feed hopper", "main bearing", "oil cooler", "brake drum", "steam trap",
         "drive chain", "air receiver", "gearbox", "seal housing", "control valve", "flywheel",
         "heat exchanger", "tension roller", "lift cylinder", "suction filter")  # fmt: skip
TOOLS = ("27 mm ring spanner", "strap wrench", "brass drift", "torque bar", "pin punch",
         "hook spanner", "feeler gauge", "bearing puller", "circlip pliers",
         "slotted key")  # fmt: skip
COLOURS = ("yellow", "violet", "white", "orange", "brown", "turquoise", "pink", "grey")
FLUIDS = ("seal oil", "glycol", "rapeseed oil", "lithium grease", "distilled water",
          "hydraulic fluid", "graphite paste")  # fmt: skip
SYMPTOMS = ("a knocking noise", "a sweet smell", "no movement", "white smoke", "a slow start",
            "a hissing sound", "shaking at half load", "a sudden stop")  # fmt: skip
TOLD = {
    "bar": ("Never let the {part} go above {value} bar.", "{value} bar is all that the {part} "
            "will bear.", "The {part} gives way beyond {value} bar."),
    "hours": ("Look at the {part} every {value} running hours.", "After {value} hours in use, the "
              "{part} is due again.", "The {part} should not run longer than {value} hours "
              "unattended."),
    "tool": ("Have the {value} at hand before you open the {part}.", "Without the {value} nobody "
             "gets into the {part}.", "The cover of the {part} comes off with the {value}."),
    "number": ("A new {part} is ordered as {value}.", "In the catalogue the {part} is listed under "
               "{value}.", "Ask the maker for {value} if the {part} is beyond repair."),
    "colour": ("Hoses that lead to the {part} are {value}.", "Follow the {value} lines to find the "
               "{part}.", "Whatever is painted {value} belongs to the {part}."),
    "fluid": ("Fill the {part} with {value} only.", "The {part} runs in {value}.",
              "Anything but {value} ruins the {part}."),
}  # fmt: skip
ASKED = {
    "bar": ("What is the highest pressure, in bar, that is allowed in {x}?", "How many bar can "
            "{x} withstand?"),
    "hours": ("What is the maintenance interval of {x}, in hours?", "How many hours may pass "
              "between two inspections of {x}?"),
    "tool": ("Which tool does one need for {x}?", "With what is {x} dismantled?"),
    "number": ("What is the spare part number of {x}?", "Which code does one give when "
               "purchasing a replacement for {x}?"),
    "colour": ("How are the pipes of {x} marked?", "Which colour stands for {x}?"),
    "fluid": ("Which lubricant or liquid goes into {x}?", "What does one pour into {x}?"),
}  # fmt: skip
_TALK = listed(
    "Keep {thing} {how}, above all {when}.|Operators who {act} rarely regret it.|If in doubt,"
    " {order}, then {order}.|{thing} may look harmless {when}; it is not.|Older machines had "
    "{thing} elsewhere.|Make a note {when}, and {order}.|A second person should {order}.|"
    "Wear gloves {when}.|Where {thing} is concerned, {order}.|It is good practice to {order} "
    "{when}.|Nothing is gained if you {act} {when}.|Dust on {thing} is wiped off {how}.|The "
    "drawing on the next page shows {thing}.|Some crews {act}, which is not forbidden.|"
    "Before you {order}, make sure that {thing} is {how}.|The warranty ends when people "
    "{act}.",
    "|",
)
_SLOTS = {
    "{thing}": listed(
        "the ladder,the lamp over the door,the warning plate,the hand rail,the spare key,the "
        "drip tray,the logbook shelf,the floor drain,the emergency handle,the cable duct,the "
        "tool board,the ventilation flap,the dust sheet,the drain cock,the rear hatch,the sight "
        "glass"
    ),
    "{how}": listed("dry,clean,closed,well lit,free of grease,within reach,out of the sun"),
    "{when}": listed(
        "in frost,after a long break,at the end of the shift,during the first week,when the hall "
        "is crowded,in damp weather,before the inspector comes,on the night shift,after a power "
        "cut"
    ),
    "{act}": listed(
        "hurry,work alone,read this chapter twice,skip the checks,whistle for help,lean on the "
        "rail,trust their ears,leave the door open,count the bolts"
    ),
    "{order}": listed(
        "stop the machine,ring the bell,call the foreman,wait for a minute,sweep the floor,check "
        "the light,sign the sheet,listen for a while,turn the switch,fetch a cloth,shut the hatch"
    ),
}


def manual(wording: Wording, number: int) -> Page:
    """A manual with 16 parts, six facts each, and a table of fault codes."""
    chance = wording.chance
    page = Page(f"Operating manual: {chance.choice(MACHINES)}, edition {number + 2}")
    values_of = {
        part: {
            "bar": str(chance.randint(2, 90)),
            "hours": str(chance.randint(5, 160) * 10),
            "tool": chance.choice(TOOLS),
            "number": f"{chance.choice('KLMPRT')}{chance.randint(1000, 9999)}-"
            f"{chance.randint(1, 9)}",
            "colour": chance.choice(COLOURS),
            "fluid": chance.choice(FLUIDS),
        }
        for part in PARTS
    }
    # Intervals name a part in questions of two places: no two parts may share one.
    intervals = chance.sample(range(5, 160), len(values_of))
    for values, interval in zip(values_of.values(), intervals, strict=True):
        values["hours"] = str(interval * 10)
    codes = chance.sample(range(11, 99), len(PARTS))
    table: list[Sentence] = []
    for part, code in zip(chance.sample(PARTS, len(PARTS)), codes, strict=True):
        body = [
            Sentence(wording.draw(TOLD[kind], part=part, value=value), f"{part}/{kind}")
            for kind, value in values_of[part].items()
        ]
        chance.shuffle(body)
        page.sections.append(Section(f"The {part}", body))
        row = f"| E-{code} | {chance.choice(SYMPTOMS)} | {part} |"
        table.append(Sentence(row, f"code/{part}"))
        page.questions += _questions(wording, part, values_of, f"E-{code}")
    table.sort(key=lambda row: row.text)
    head = [Sentence("| code | what one notices | part |"), Sentence("|---|---|---|")]
    page.sections.append(Section("Appendix: codes on the display", [*head, *table], lines=True))
    return page


def small_talk(chance: Random) -> str:
    """A sentence that no question needs."""
    return capital(fill_slots(chance.choice(_TALK), _SLOTS, chance))


def _questions(
    wording: Wording, part: str, values_of: dict[str, dict[str, str]], code: str
) -> list[Question]:
    """One question of one place and one of two, about one part."""
    single, double = wording.chance.sample([kind for kind in ASKED if kind != "hours"], 2)
    single_question = Question(
        wording.draw(ASKED[single], x=f"the {part}"),
        (values_of[part][single],),
        (f"{part}/{single}",),
    )
    if wording.chance.random() < 0.5:
        x, first = f"the part that code {code} points to", f"code/{part}"
    else:
        hours = values_of[part]["hours"]
        x, first = f"the part that is checked every {hours} hours", f"{part}/hours"
    double_question = Question(
        wording.draw(ASKED[double], x=x), (values_of[part][double],), (first, f"{part}/{double}")
    )
    return [single_question, double_question]
