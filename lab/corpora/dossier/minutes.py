"""Minutes of a council's year: grants that are decided, and changed at a later meeting."""

from __future__ import annotations

from random import Random

from lab.corpora.dossier.page import Page, Question, Section, Sentence, Wording, listed
from lab.corpora.wording import capital, fill_slots

PLACES = ("Askeby", "Cray Mills", "Orrin Bay", "Stellby", "Tidwell", "Ullenport")
OFFICES = ("treasurer", "librarian", "harbour master", "town clerk", "surveyor", "head gardener",
           "school inspector", "fire warden")  # fmt: skip
NAMES = ("Berit Quade", "Ivo Ashgrove", "Thea Hollund", "Wim Jessop", "Orla Dreyer", "Egil Vexley",
         "Rosalie Kvist", "Corin Stavely", "Nuria Cobham", "Ulf Fairlock", "Zita Marlowe",
         "Anselm Yelland", "Hedda Tarnquist", "Cosmo Elvestad")  # fmt: skip
TOPICS = ("the footbridge", "the bandstand", "street lamps on the quay", "a new ferry landing",
          "the school roof", "the swimming steps", "a shelter for the bus stop", "the town clock",
          "benches along the canal", "the fire engine", "the market drains", "the museum cellar",
          "a kiosk in the park", "the weather station", "nest boxes for swifts",
          "the old weighbridge")  # fmt: skip
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
          "October", "November", "December")  # fmt: skip
GRANTED = ("For {topic} {sum} crowns were set aside.", "Nobody spoke against spending {sum} crowns "
           "on {topic}.", "It was resolved that {topic} may cost {sum} crowns.")  # fmt: skip
CHARGED = ("The {office} was told to see {topic} through.", "{topic}: the {office} takes it from "
           "here.", "Whoever has questions on {topic} should turn to the {office}.")  # fmt: skip
CHANGED = ("On second thoughts, {sum} crowns were judged right for {topic}.", "The figure for "
           "{topic} was opened again and fixed at {sum} crowns.", "A new vote on {topic} ended "
           "with {sum} crowns.")  # fmt: skip
_FIRST = ("How many crowns did the council grant at first for {topic}?", "What was the original "
          "amount for {topic}, in crowns?")  # fmt: skip
_LAST = ("What amount, in crowns, was finally approved for {topic}?", "After the revision, how "
         "much money did {topic} get, in crowns?")  # fmt: skip
_DIFFERENCE = ("By how many crowns did the amount for {topic} change at the later meeting?",
               "What is the difference, in crowns, between the first and the final amount for "
               "{topic}?")  # fmt: skip
_PERSON = ("Give the name of the person who has to look after {topic}.", "Who, by name, is "
           "responsible for {topic}?")  # fmt: skip
_DATE = ("On what day was the first amount for {topic} approved?", "At the meeting of which date "
         "did the council first vote money for {topic}?")  # fmt: skip
_TALK = listed(
    "{who} asked {what}, and {who} replied {how}.|There was a long exchange about {matter}.|"
    "{matter} was put off {until}.|{who} read a letter on {matter}; it was noted.|The chair "
    "thanked {who} {how}.|A petition on {matter} bore {count} names.|{who} left the room "
    "{until}.|Nothing new was heard of {matter}.|{who} recalled that {matter} had come up "
    "{count} years ago.|The council heard {who} on {matter} and moved on.|Laughter followed "
    "when {who} mentioned {matter}.|{who} proposed a working group on {matter}; {count} "
    "hands went up.|Before the break, {who} showed slides of {matter}.|It was agreed {how} "
    "to say no more of {matter}.|{who} wondered {what} {until}.",
    "|",
)
_SLOTS = {
    "{who}": listed(
        "a member for the north ward,the youngest member,the deputy chair,a guest from the "
        "county,the member for the islands,one of the shopkeepers,the chair of the rowing club,a "
        "resident of Mill Lane,the member on the left,the vicar"
    ),
    "{matter}": listed(
        "dogs on the beach,the noise of the saw mill,parking on Sundays,the price of mooring,the "
        "smell from the cannery,the new hymn,stray bicycles,the colour of the post boxes,late "
        "trains,the rat catcher's fee,fireworks,the choir's keys,snow on the steps,the width of "
        "carts,lost hats"
    ),
    "{what}": listed(
        "whether the rules still hold,what had become of the survey,who pays in the end,why the "
        "clock strikes twice,how long it would take,whether anyone had measured it"
    ),
    "{how}": listed("at length,in one word,with some warmth,without a smile,by heart,politely"),
    "{until}": listed(
        "until the autumn,for the time being,after supper,until the map is found,while the count "
        "was taken,for good"
    ),
}


def minutes(wording: Wording, number: int) -> Page:
    """Twelve meetings, 16 grants, and a list of officers at the front."""
    chance = wording.chance
    year = 1981 + number * 7 + chance.randint(0, 6)
    page = Page(f"Minutes of the council of {chance.choice(PLACES)}, {year}")
    people: dict[str, str] = dict(zip(OFFICES, chance.sample(NAMES, len(OFFICES)), strict=True))
    rows = [Sentence(f"- {office}: {name}", f"office/{office}") for office, name in people.items()]
    page.sections.append(Section("Officers of the year", rows, lines=True))
    dates = [f"{chance.randint(2, 28)} {month} {year}" for month in MONTHS]
    meetings = [Section(f"Meeting of {date}", [], f"date/{date}") for date in dates]
    page.sections += meetings
    for topic in TOPICS:
        first, later = sorted(chance.sample(range(12), 2))
        page.questions += _topic(wording, topic, people, meetings[first], meetings[later])
    for meeting in meetings:
        chance.shuffle(meeting.body)
    return page


def small_talk(chance: Random) -> str:
    """A sentence that no question needs."""
    text = fill_slots(chance.choice(_TALK), _SLOTS, chance)
    return capital(text.replace("{count}", str(chance.randint(3, 60))))


def _topic(
    wording: Wording, topic: str, people: dict[str, str], first: Section, later: Section
) -> list[Question]:
    """Write a grant, who sees to it and how it changed; one question of one place, one of two."""
    chance = wording.chance
    office = chance.choice(OFFICES)
    start, end = (amount * 50 for amount in chance.sample(range(7, 180), 2))
    sums = {"first": f"{start:,}", "last": f"{end:,}"}
    first.body.append(Sentence(wording.draw(GRANTED, topic=topic, sum=sums["first"]), f"{topic}/1"))
    charged = chance.choice((first, later))
    charged.body.append(Sentence(wording.draw(CHARGED, topic=topic, office=office), f"{topic}/who"))
    later.body.append(Sentence(wording.draw(CHANGED, topic=topic, sum=sums["last"]), f"{topic}/2"))
    date = first.heading.removeprefix("Meeting of ")
    ones = [
        Question(wording.draw(_FIRST, topic=topic), _amounts(start), (f"{topic}/1",)),
        Question(wording.draw(_LAST, topic=topic), _amounts(end), (f"{topic}/2",)),
    ]
    twos = [
        Question(
            wording.draw(_DIFFERENCE, topic=topic), _amounts(abs(start - end)),
            (f"{topic}/1", f"{topic}/2"),
        ),
        Question(
            wording.draw(_PERSON, topic=topic), (people[office],),
            (f"{topic}/who", f"office/{office}"),
        ),
        Question(wording.draw(_DATE, topic=topic), (date,), (first.fact, f"{topic}/1")),
    ]  # fmt: skip
    return [chance.choice(ones), chance.choice(twos)]


def _amounts(value: int) -> tuple[str, ...]:
    return (f"{value:,}", f"{value:,} crowns")
