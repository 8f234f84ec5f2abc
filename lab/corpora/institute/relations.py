"""Relations that documents state, and questions about them in other words."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

Kind = Literal[
    "person", "department", "site", "project", "supplier", "vessel", "incident", "policy"
]
Literally = Literal["town", "school", "year", "money", "name", "product", "cause", "month", "count"]


class Relation(NamedTuple):
    """One fact that every thing of a kind has.

    Attributes:
        name: of the relation.
        of: kind of the thing.
        to: kind of the other thing, or of the literal value.
        told: sentences in the document of the thing; {it} and {value}.
        told_there: sentences in the document of the other thing; {it} is that one, {name} ours.
        phrase: noun phrases for the value, given the thing {x}.
        asked: questions for the value.
    """

    name: str
    of: Kind
    to: Kind | Literally
    told: tuple[str, ...]
    told_there: tuple[str, ...]
    phrase: tuple[str, ...]
    asked: tuple[str, ...]


def _relation(
    name: str,
    of: Kind,
    to: Kind | Literally,
    told_by_subject: str,
    told_by_object: str,
    phrase: str,
    question: str,
) -> Relation:
    parts = [
        tuple(filter(None, text.split("|")))
        for text in (told_by_subject, told_by_object, phrase, question)
    ]
    return Relation(name, of, to, *parts)


RELATIONS = (
    _relation(
        "birthplace", "person", "town",
        "{it} grew up in {value}.|{value} is where {it} was raised.|A native of {value}, {it} "
        "still visits every summer.|{it} spent a childhood in {value}.",
        "",
        "the home town of {x}|the place where {x} was born",
        "Which town does {x} come from?|In which town was {x} born?|What is the home town of {x}?",
    ),
    _relation(
        "school", "person", "school",
        "{it} holds a degree from {value}.|Before that, {it} read physics at {value}.|{value} "
        "trained {it}.|{it} graduated from {value} with honours.",
        "",
        "the school that {x} attended",
        "Where did {x} study?|Which school educated {x}?|At what college was {x} a student?",
    ),
    _relation(
        "joined", "person", "year",
        "{it} has been on the staff since {value}.|The first contract of {it} dates from {value}.|"
        "{it} was hired in {value}.",
        "",
        "the year in which {x} arrived",
        "When did {x} start working here?|In which year did {x} join?|Since when has {x} been "
        "employed?",
    ),
    _relation(
        "mentor", "person", "person",
        "{it} learned the trade from {value}.|{value} showed {it} the ropes.|Much of what {it} "
        "knows goes back to {value}.",
        "{it} took {name} under a wing.|{name} was for years the pupil of {it}.",
        "the mentor of {x}|the teacher of {x}",
        "Who was the mentor of {x}?|Who taught {x}?|Who guided {x} at the beginning?",
    ),
    _relation(
        "head", "department", "person",
        "{value} runs {it}.|At the top of {it} stands {value}.|{it} answers to {value}.|"
        "{value} has the last word in {it}.",
        "{it} is the director of {name}.|Since the reform, {name} has been in the hands of {it}.",
        "the head of {x}|the person in charge of {x}",
        "Who is the head of {x}?|Who is in charge of {x}?|Who manages {x}?",
    ),
    _relation(
        "seat", "department", "site",
        "{it} has its rooms in {value}.|Visitors find {it} in {value}.|{value} houses {it}.",
        "{it} is home to {name}.|Two of the floors of {it} belong to {name}.",
        "the building where {x} sits|the premises of {x}",
        "In which building is {x}?|Where does {x} have its offices?|Which building does {x} use?",
    ),
    _relation(
        "founded", "department", "year",
        "{it} was set up in {value}.|The charter of {it} was signed in {value}.|{it} goes back to "
        "{value}.",
        "",
        "the year in which {x} was created",
        "When was {x} created?|In which year did {x} come into being?|Since when has {x} existed?",
    ),
    _relation(
        "budget", "department", "money",
        "{it} may spend {value} a year.|A yearly sum of {value} is set aside for {it}.|{value} "
        "go to {it} every January.",
        "",
        "the annual budget of {x}",
        "How large is the annual budget of {x}?|What does {x} get per annum?|How much money has "
        "{x} at its disposal each year?",
    ),
    _relation(
        "town", "site", "town",
        "{it} stands in {value}.|{value} lies around {it}.|One reaches {it} on foot from the "
        "station of {value}.",
        "",
        "the town of {x}",
        "In which town is {x}?|What town does one travel to for {x}?|Where is {x} located?",
    ),
    _relation(
        "opened", "site", "year",
        "{it} took in its first users in {value}.|The doors of {it} were unlocked in {value}.|"
        "{it} has been in use since {value}.",
        "",
        "the opening year of {x}",
        "When was {x} opened?|In which year was {x} inaugurated?|What is the opening year of {x}?",
    ),
    _relation(
        "architect", "site", "name",
        "{value} drew the plans of {it}.|{it} is the work of {value}.|The sketches for {it} came "
        "from {value}.",
        "",
        "the architect of {x}",
        "Who designed {x}?|Who was the architect of {x}?|Whose design is {x}?",
    ),
    _relation(
        "caretaker", "site", "person",
        "{value} keeps the keys of {it}.|Whatever breaks in {it} is mended by {value}.|{value} "
        "looks after {it}.",
        "{it} holds the keys of {name}.|Repairs in {name} are the business of {it}.",
        "the caretaker of {x}",
        "Who is the caretaker of {x}?|Who maintains {x}?|Whom does one call for repairs at {x}?",
    ),
    _relation(
        "lead", "project", "person",
        "{value} steers {it}.|{it} is led by {value}.|The day-to-day decisions of {it} are taken "
        "by {value}.",
        "{it} spends most weeks on {name}, as its coordinator.|{name} owes its pace to {it}, who "
        "directs it.",
        "the leader of {x}|the principal investigator of {x}",
        "Who leads {x}?|Who is the principal investigator of {x}?|Who is responsible for {x}?",
    ),
    _relation(
        "owner", "project", "department",
        "{it} is paid for by {value}.|{value} carries the costs of {it}.|On paper, {it} belongs to "
        "{value}.",
        "{it} finances {name}.|Among the undertakings of {it} is {name}.",
        "the department behind {x}|the department that funds {x}",
        "Which department funds {x}?|Which department is behind {x}?|Whose project is {x}?",
    ),
    _relation(
        "supplier", "project", "supplier",
        "{it} buys its parts from {value}.|{value} delivers what {it} needs.|The hardware of {it} "
        "comes from {value}.",
        "{it} equips {name}.|A framework agreement ties {it} to {name}.",
        "the company that equips {x}|the supplier of {x}",
        "Which company equips {x}?|Who is the supplier of {x}?|From which firm does {x} order?",
    ),
    _relation(
        "ends", "project", "year",
        "{it} is due to finish in {value}.|The grant of {it} runs out in {value}.|{it} closes its "
        "books in {value}.",
        "",
        "the final year of {x}",
        "When does {x} end?|What is the final year of {x}?|Until which year does {x} go on?",
    ),
    _relation(
        "director", "supplier", "name",
        "{value} owns and directs {it}.|Letters to {it} are answered by {value} in person.|{it} "
        "was taken over by {value}, who still runs it.",
        "",
        "the director of {x}",
        "Who is the boss of {x}?|Who is the director of {x}?|Who heads {x}?",
    ),
    _relation(
        "works", "supplier", "town",
        "The workshops of {it} are in {value}.|{it} has always produced in {value}.|{value} lives "
        "off {it}.",
        "",
        "the town where {x} manufactures",
        "In which town does {x} manufacture?|Where is the factory of {x}?|What is the location of "
        "{x}?",
    ),
    _relation(
        "product", "supplier", "product",
        "{it} is known for {value}.|Half of the turnover of {it} is {value}.|{it} makes {value}.",
        "",
        "the main product of {x}",
        "What does {x} manufacture?|What is the main product of {x}?|What kind of goods does {x} "
        "sell?",
    ),
    _relation(
        "home", "vessel", "site",
        "{it} is moored behind {value}.|Between voyages {it} lies at {value}.|{value} has the "
        "berth of {it}.",
        "The quay of {it} is the berth of {name}.|{name} lies at {it} when not at sea.",
        "the home port of {x}|the station of {x}",
        "At which building is {x} stationed?|Where is {x} based?|Which station is the home of {x}?",
    ),
    _relation(
        "builder", "vessel", "supplier",
        "The hull of {it} was laid down by {value}.|{value} built {it}.|{it} left the slipway of "
        "{value}.",
        "{it} constructed {name}.|The best-known hull of {it} is {name}.",
        "the builder of {x}|the shipyard of {x}",
        "Which company constructed {x}?|Who was the builder of {x}?|What shipyard made {x}?",
    ),
    _relation(
        "skipper", "vessel", "person",
        "{value} commands {it}.|At the wheel of {it} stands {value}.|{it} obeys {value}.",
        "{it} is the master of {name}.|On board of {name}, the word of {it} is law.",
        "the captain of {x}|the skipper of {x}",
        "Who is the captain of {x}?|Who skippers {x}?|Whose command is {x} under?",
    ),
    _relation(
        "launched", "vessel", "year",
        "{it} first touched water in {value}.|{it} was christened in {value}.|The maiden voyage of "
        "{it} was in {value}.",
        "",
        "the launch year of {x}",
        "When was {x} launched?|In which year did {x} enter service?|What is the launch year of "
        "{x}?",
    ),
    _relation(
        "struck", "incident", "vessel",
        "{value} was out of service for weeks after {it}.|{it} cost {value} a rudder.|Only {value} "
        "was damaged in {it}.",
        "Some of the scars of {it} come from {name}.|{it} was badly hit in {name}.",
        "the vessel damaged in {x}|the ship involved in {x}",
        "Which vessel was damaged in {x}?|Which ship did {x} concern?|What vessel was involved in "
        "{x}?",
    ),
    _relation(
        "reporter", "incident", "person",
        "{value} wrote the account of {it}.|The alarm in {it} was raised by {value}.|{it} was "
        "first noticed by {value}.",
        "{it} raised the alarm in {name}.|The file on {name} was written by {it}.",
        "the person who reported {x}|the witness of {x}",
        "Who reported {x}?|Who was the witness of {x}?|From whom did the report on {x} come?",
    ),
    _relation(
        "cause", "incident", "cause",
        "Afterwards {it} was put down to {value}.|{value} had led to {it}.|The board blamed "
        "{value} for {it}.",
        "",
        "the cause of {x}",
        "What caused {x}?|What was the reason for {x}?|How did {x} come about?",
    ),
    _relation(
        "month", "incident", "month",
        "{it} fell into {value}.|The log has {it} under {value}.|It was in {value} that {it} "
        "happened.",
        "",
        "the month of {x}",
        "In what month was {x}?|When did {x} occur?|What is the date of {x}?",
    ),
    _relation(
        "author", "policy", "person",
        "{value} drafted {it}.|The wording of {it} is due to {value}.|{it} bears the signature of "
        "{value}.",
        "{it} drafted {name}.|Colleagues know {it} for {name}, every line of it.",
        "the author of {x}",
        "Who is the author of {x}?|Who wrote {x}?|Whose text is {x}?",
    ),
    _relation(
        "guardian", "policy", "department",
        "{value} sees to it that {it} is kept.|Breaches of {it} go before {value}.|{it} is watched "
        "over by {value}.",
        "{it} enforces {name}.|Exceptions from {name} are granted by {it} alone.",
        "the department that enforces {x}",
        "Which department enforces {x}?|Who ensures that people comply with {x}?|Which department "
        "is responsible for {x}?",
    ),
    _relation(
        "since", "policy", "year",
        "{it} has been in force since {value}.|Nobody could ignore {it} after {value}.|{it} took "
        "effect in {value}.",
        "",
        "the year in which {x} became binding",
        "When did {x} become binding?|From which year on is {x} valid?|In what year was {x} "
        "introduced?",
    ),
)  # fmt: skip
BY_KIND = {
    kind: tuple(relation for relation in RELATIONS if relation.of == kind)
    for kind in get_args(Kind)
}
EARLIER = {  # relation -> questions which of two things came first
    "founded": ("Which was created first, {a} or {b}?", "Which is the older one, {a} or {b}?"),
    "opened": ("Which was opened earlier, {a} or {b}?", "Which is older, {a} or {b}?"),
    "launched": ("Which was launched first, {a} or {b}?", "Which is the older ship, {a} or {b}?"),
    "joined": ("Who started here first, {a} or {b}?", "Who has been here longer, {a} or {b}?"),
    "ends": ("Which ends sooner, {a} or {b}?", "Which will be over first, {a} or {b}?"),
}
