"""Worlds as data: what is planted, made from a seed, open to JSON."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, Literal

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from harness.core import BadInput, Value, first_fault, read_json
from lab.worlds.grammar import Reader, Words

Role = Literal["cause", "trap", "friend", "habit"]
ROLES: tuple[Role, ...] = ("cause", "trap", "friend", "habit")
FOLDER = Path(__file__).parent
RESERVED_FROM = 1000
"""Seeds below are for tuning; what is reserved in `words.json` occurs from here on."""
STRIKES = 0.95
"""Most often that a wrong action is taken where its condition holds."""
_CHOICE = re.compile(r"\[([^][]*)\]")


class Kind(Value):
    """A kind of task: its name, how conditions name it, and what is asked."""

    name: str
    noun: tuple[str, ...]
    ask: str


class Sign(Value):
    """Something that agents do rightly or wrongly, with what follows from it.

    Attributes:
        name: its object and what is done with it.
        role: a `cause` of failure; a `trap` (a short cut that is praised where it does no harm and
            hurts elsewhere); a `friend` (a false one: its wrong action comes along with a cause and
            does no harm); a `habit` (one of its actions is in nearly all runs, and does nothing).
        objects: its object in several words.
        right: patterns of the right action (see `lab.worlds.grammar`).
        wrong: patterns of the wrong action.
        kinds: kinds of task in which the wrong action does harm; empty for all.
        present: share of tasks whose table holds the object, where that is the condition; else 1.
        strike: chance of the wrong action where the condition holds.
        elsewhere: chance of the wrong action where it does not hold.
        narrated: chance that the right action is told where it is done.
        hidden_by: a cause that, where it strikes, keeps this sign out of the transcript.
        beside: the cause that a false friend comes along with.
        beside_chance: chance of its wrong action where that cause strikes.
    """

    name: str
    role: Role
    objects: tuple[str, ...] = Field(min_length=1)
    right: tuple[str, ...] = Field(min_length=1)
    wrong: tuple[str, ...] = Field(min_length=1)
    kinds: tuple[str, ...] = ()
    present: float = Field(default=1.0, gt=0, le=1)
    strike: float = Field(default=0.0, ge=0, le=1)
    elsewhere: float = Field(default=0.0, ge=0, le=1)
    narrated: float = Field(default=0.0, ge=0, le=1)
    hidden_by: str = ""
    beside: str = ""
    beside_chance: float = Field(default=0.0, ge=0, le=1)

    @property
    def harmful(self) -> bool:
        """True if its wrong action makes attempts fail."""
        return self.role in ("cause", "trap")


class World(Value):
    """Everything that is planted; chances are in [0, 1].

    Attributes:
        seed: of all draws.
        about: for people.
        kinds: of task, equally frequent.
        signs: causes, traps, false friends and habits.
        words: what agents and analysts say.
        noise: attempts that fail for no reason.
        luck: attempts that pass although a cause strikes.
        obeys: that the agent does what a skill says.
        majority: power of the odds of lines that contradict each other.
        distraction: attempts that are spoilt by each 1,000 tokens of a skill.
        steepness: exponent of Zipf's law over wordings.
        conditional: that a lesson names its condition.
        tempted: that the analyst of a failure blames a behaviour that looks wrong and did no harm.
        advised: that it recommends something that was done rightly.
        chatter: that a record has a lesson that says nothing of the task.
        praised: behaviours that the analyst of a success praises on average.
        loose: that a quote is not verbatim.
        missed: that an analyst misses a cause, as a multiple of its error rate; and so on for
            `mixed`, `invented` and `opposite`.
    """

    seed: int
    about: str = ""
    kinds: tuple[Kind, ...] = Field(min_length=1)
    signs: tuple[Sign, ...] = Field(min_length=1)
    words: Words
    noise: float
    luck: float
    obeys: float
    majority: float
    distraction: float
    steepness: float
    conditional: float
    tempted: float
    advised: float
    chatter: float
    praised: float
    loose: float
    missed: float
    mixed: float
    invented: float
    opposite: float

    @model_validator(mode="after")
    def _names_exist(self) -> World:
        signs = {"", *(sign.name for sign in self.signs)}
        kinds = {kind.name for kind in self.kinds}
        for sign in self.signs:
            if missing := ({sign.hidden_by, sign.beside} - signs) | (set(sign.kinds) - kinds):
                raise ValueError(f"sign {sign.name!r} names what is not there: {sorted(missing)}")
        return self

    @cached_property
    def by_name(self) -> Mapping[str, Sign]:
        """Every sign by its name."""
        return {sign.name: sign for sign in self.signs}

    @cached_property
    def roles(self) -> Counter[Role]:
        """Count the signs of each role."""
        return Counter(sign.role for sign in self.signs)

    @cached_property
    def reader(self) -> Reader:
        """Reads lines of skills in the words of this world."""
        parts = {sign.name: (sign.objects, sign.right, sign.wrong) for sign in self.signs}
        return Reader(parts, self.words.irregular)

    def rate(self, sign: Sign) -> float:
        """Share of tasks in which the sign's wrong action is taken where its condition holds."""
        share = len(sign.kinds) / len(self.kinds) if sign.kinds else 1.0
        return sign.strike * share * sign.present


class Range(Value):
    """Range from which a number of a world is drawn, and the reason for it."""

    low: float
    high: float
    log: bool = False
    why: str = ""

    def number(self, chance: Random) -> float:
        """A number of the range."""
        if self.log:
            return float(self.low * (self.high / self.low) ** chance.random())
        return chance.uniform(self.low, self.high)

    def count(self, chance: Random) -> int:
        """A whole number of the range."""
        return chance.randint(int(self.low), int(self.high))


Ranges = dict[str, Range]


def load_ranges(path: Path | None = None) -> Ranges:
    """The ranges of `ranges.json`, with those of a file in their place.

    Raises:
        BadInput: if the file is malformed or names a range that there is not.
    """
    ranges = _ranges(FOLDER / "ranges.json")
    if path is not None:
        overrides = _ranges(path)
        if unknown := sorted(overrides.keys() - ranges.keys()):
            raise BadInput(f"{path}: no such ranges: {unknown}; expected some of {sorted(ranges)}")
        ranges |= overrides
    return ranges


def _ranges(path: Path) -> Ranges:
    data: dict[str, Any] = read_json(path)
    data.pop("about", None)
    try:
        return TypeAdapter(Ranges).validate_python(data)
    except ValidationError as error:
        raise BadInput(f"{path}: {first_fault(error)}") from error


def load_world(path: Path) -> World:
    """A world that was dumped as JSON, and perhaps edited.

    Raises:
        BadInput: if it is malformed.
    """
    try:
        return World.model_validate(read_json(path))
    except ValidationError as error:
        raise BadInput(f"{path}: {first_fault(error)}") from error


def make_world(seed: int, ranges: Ranges | None = None, words: Path | None = None) -> World:
    """The world of a seed.

    Args:
        seed: the same seed, ranges and words give the same world.
        ranges: what numbers are drawn from; default :func:`load_ranges`.
        words: frames, signs and wordings, in the form of `words.json`, which is the default.
    """
    ranges, chance = ranges or load_ranges(), Random(f"world {seed}")
    data: dict[str, Any] = read_json(words or FOLDER / "words.json")
    data.pop("about", None)
    frames, entries = data.pop("frames"), data.pop("signs")
    rows = chance.sample(data.pop("kinds"), ranges["kinds"].count(chance))
    kinds = [Kind(name=row["name"], noun=row["noun"].split("|"), ask=row["ask"]) for row in rows]
    roles: list[Role] = [role for role in ROLES for _ in range(ranges[f"{role}s"].count(chance))]
    reserved = data.pop("reserved", {})
    if seed < RESERVED_FROM:
        entries = [entry for entry in entries if not entry.get("reserved")]
    else:
        data |= {name: [*data[name], *texts] for name, texts in reserved.items()}
    selected = draw_entries(entries, len(roles), ranges["kinship"].low, chance)
    chance.shuffle(selected)
    signs: list[Sign] = []
    for role, entry in zip(roles, selected, strict=True):
        frame = frames[entry["frame"]]
        numbers = draw_numbers(role, kinds, bool(frame.get("abstract")), ranges, chance)
        if role == "friend":
            causes = [sign.name for sign in signs if sign.role == "cause"]
            numbers["beside"] = chance.choice(causes)
        signs.append(sign_of(entry, frame, chance, role=role, **numbers))
    signs = with_hiding(signs, ranges["hiding"].count(chance), chance)
    for name in ("prefixes", "by_kind", "by_object", "suffixes", "asides", "titles", "idle"):
        chance.shuffle(data[name])
    for frames_of_sentences in (*data["lessons"].values(), *data["log"].values()):
        chance.shuffle(frames_of_sentences)
    drawn: dict[str, Any] = {name: ranges[name].number(chance) for name in _PLAIN}
    return World(
        seed=seed, kinds=tuple(kinds), signs=tuple(signs), words=Words.model_validate(data), **drawn
    )


_PLAIN = (
    "noise", "luck", "obeys", "majority", "distraction", "steepness", "conditional", "tempted",
    "advised", "chatter", "praised", "loose", "missed", "mixed", "invented", "opposite",
)  # fmt: skip


def draw_entries(
    entries: Sequence[dict[str, Any]], count: int, kinship: float, chance: Random
) -> list[dict[str, Any]]:
    """Signs for a world, some of which share frames and objects."""
    drawn: list[dict[str, Any]] = []
    while len(drawn) < count:
        free = [entry for entry in entries if entry not in drawn]
        used = {entry[key] for entry in drawn for key in ("frame", "object")}
        kin = [entry for entry in free if {entry["frame"], entry["object"]} & used]
        drawn.append(chance.choice(kin if kin and chance.random() < kinship else free))
    return drawn


def draw_numbers(
    role: Role, kinds: Sequence[Kind], abstract: bool, ranges: Ranges, chance: Random
) -> dict[str, Any]:
    """Condition and chances of a sign."""
    if role == "habit":
        rate_name = "strike" if chance.random() < ranges["blamed_habits"].low else "narrated"
        return {rate_name: ranges["habit_rate"].number(chance)}
    narrated = ranges["narrated"].number(chance)
    if role == "friend":
        return {
            "narrated": narrated,
            "strike": ranges["friend_alone"].number(chance),
            "beside_chance": ranges["friend_with"].number(chance),
        }
    rate = ranges["rate" if role == "cause" else "trap_rate"].number(chance)
    reach = 1.0
    if role == "trap":
        reach = ranges["trap_reach"].number(chance)
    elif chance.random() >= ranges["everywhere"].low:
        reach = Range(low=rate / STRIKES, high=1.0, log=True).number(chance)
    numbers: dict[str, Any] = {"narrated": narrated}
    share = 1.0
    if reach < 1 and (abstract or chance.random() < 0.5):
        least = math.ceil(reach * len(kinds))
        some = chance.sample(kinds, chance.randint(least, len(kinds)))
        numbers["kinds"] = tuple(kind.name for kind in some)
        share = len(some) / len(kinds)
    if abstract:
        reach = share
    numbers["present"] = reach / share
    numbers["strike"] = rate / reach
    if role == "trap":
        numbers["elsewhere"] = ranges["trap_shown"].number(chance)
    elif reach < 1 and chance.random() < ranges["elsewhere"].low:
        numbers["elsewhere"] = numbers["strike"]
    return numbers


def sign_of(
    entry: Mapping[str, Any], frame: Mapping[str, Any], chance: Random, **more: Any
) -> Sign:
    """A sign of the vocabulary in a role; its preferred wordings are the world's own."""
    values = {key: shuffled(entry[key].split("|"), chance) for key in _SLOTS if key in entry}
    actions = {
        side: tuple(filled(pattern, values) for pattern in shuffled(frame[side], chance))
        for side in ("right", "wrong")
    }
    target = (entry.get("right") or entry.get("scope", "")).split("|")[0]
    name = f"{entry['object'].split('|')[0]} / {entry['frame']} / {target}"
    objects = tuple(shuffled(entry["object"].split("|"), chance))
    return Sign(name=name, objects=objects, **actions, **more)


_SLOTS = ("right", "wrong", "scope", "base")


def shuffled(options: Sequence[str], chance: Random) -> list[str]:
    """The options in an order of this world: the first is preferred."""
    return chance.sample(options, len(options))


def filled(pattern: str, values: Mapping[str, Sequence[str]]) -> str:
    """The pattern with its slots filled: `[ from <scope>|]` becomes `[ from a| from b|]`."""

    def choice(match: re.Match[str]) -> str:
        options = match[1].split("|")
        for slot, words in values.items():
            options = [
                option.replace(f"<{slot}>", word)
                for option in options
                for word in (words if f"<{slot}>" in option else [""])
            ]
        return f"[{'|'.join(options)}]"

    text = _CHOICE.sub(choice, pattern)
    for slot, words in values.items():
        text = text.replace(f"<{slot}>", f"[{'|'.join(words)}]")
    return text


def with_hiding(signs: Sequence[Sign], count: int, chance: Random) -> list[Sign]:
    """The signs, some causes hidden by others."""
    causes = [sign.name for sign in signs if sign.role == "cause"]
    hidden: dict[str, str] = {}
    for _ in range(min(count, len(causes) // 2)):
        name, by = chance.sample([cause for cause in causes if cause not in hidden], 2)
        if hidden.get(by) != name:
            hidden[name] = by
    return [
        sign.model_copy(update={"hidden_by": hidden[sign.name]}) if sign.name in hidden else sign
        for sign in signs
    ]
