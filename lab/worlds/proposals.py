"""Planted proposals: towns, keepers and buildings, with models that know the script.

Every good question asks for the birthplace of the keeper of a building; each fault is of a kind
that the task factory must name. The models are functions: nothing here says anything about a real
model, only about the factory.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal, cast

from harness.models import Message, Sampling
from lab.worlds.models import Decide

Fault = Literal[
    "good", "leaked search", "duplicate", "unanswerable", "ambiguous", "in question", "wrong gold",
    "suite leak", "repeated search",
]  # fmt: skip
EXPECTED: dict[Fault, tuple[str, str]] = {
    "leaked search": ("ssp", "a search holds the answer"),
    "duplicate": ("duplicate", "duplicate of"),
    "unanswerable": ("evidence", "unanswerable"),
    "ambiguous": ("evidence", "ambiguous"),
    "in question": ("ssp", "the question holds its answer"),
    "wrong gold": ("evidence", "wrong gold"),
    "suite leak": ("leak", "leak: it is task"),
    "repeated search": ("ssp", "a search was repeated"),
}
"""Fault -> validator that must decide, and how its reason begins."""
_SYLLABLES = ("bar", "cor", "del", "fen", "gor", "hal", "jun", "kel", "lor", "mar", "nor", "pel",
              "quin", "ros", "sel", "tar", "ul", "ves", "wen", "yor")  # fmt: skip
_SIDES = ("North", "South", "East", "West", "Upper", "Lower")
_KEEPER = re.compile(r"keeper of (\w+) is (\w+)")
_BORN = re.compile(r"birthplace of (\w+) is ([\w ]+)\.")
_ASKED = re.compile(r"(\w+) of the person who is the keeper of the building called (\w+)")


@dataclass(frozen=True)
class House:
    """A building, its keeper and the keeper's birthplace, which is the answer."""

    building: str
    keeper: str
    town: str
    fault: Fault


def question(building: str, relation: str = "birthplace") -> str:
    """The question about a building, in words that the scripted checker can read."""
    return f"In the register, what is the {relation} of the person who is the keeper of the building called {building}?"  # noqa: E501


class World:
    """Documents, and a script for proposer and checker.

    Attributes:
        houses: one for each answer, by town.

    Args:
        faults: fault -> how many houses have it; `duplicate` is asked again of good ones.
        seed: of names and order.
    """

    def __init__(self, faults: dict[Fault, int], seed: int = 7) -> None:
        rng = Random(seed)
        words = [
            f"{a}{b}{c}"
            for a in _SYLLABLES
            for b in _SYLLABLES
            for c in ("an", "ek", "is", "om", "ud")
        ]
        rng.shuffle(words)
        names = iter(word.capitalize() for word in words)
        self.duplicates = faults.get("duplicate", 0)
        kinds: list[Fault] = [
            kind for kind, n in faults.items() for _ in range(n) if kind != "duplicate"
        ]
        rng.shuffle(kinds)
        self.houses: dict[str, House] = {}
        self._texts: list[str] = []
        for kind in kinds:
            building, keeper, town = next(names), next(names), f"{rng.choice(_SIDES)} {next(names)}"
            self.houses[town] = House(building, keeper, town, kind)
            self._fact(building, keeper, town)
            if kind in ("ambiguous", "wrong gold"):
                second, namesake, elsewhere = next(names), next(names), next(names)
                self._fact(building if kind == "ambiguous" else second, namesake, elsewhere)
        self._second = {
            house.town: self._texts[index + 2].split()[3]
            for index, house in self._places()
            if house.fault == "wrong gold"
        }

    def _fact(self, building: str, keeper: str, town: str) -> None:
        self._texts += [f"The keeper of {building} is {keeper}.",
                        f"The birthplace of {keeper} is {town}."]  # fmt: skip

    def _places(self) -> list[tuple[int, House]]:
        index, rows = 0, list[tuple[int, House]]()
        for house in self.houses.values():
            rows.append((index, house))
            index += 4 if house.fault in ("ambiguous", "wrong gold") else 2
        return rows

    def write(self, folder: Path) -> None:
        """Write `documents.jsonl`, and `suite.jsonl` with the tasks that must not leak."""
        folder.mkdir(parents=True, exist_ok=True)
        rows = [{"id": f"d{n:04d}", "text": text} for n, text in enumerate(self._texts)]
        (folder / "documents.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
        leaks = [house for house in self.houses.values() if house.fault == "suite leak"]
        tasks = [
            {"id": f"t{n}", "prompt": question(house.building).upper(), "answer": house.town}
            for n, house in enumerate(leaks)
        ]
        (folder.parent / "suite.jsonl").write_text("".join(json.dumps(t) + "\n" for t in tasks))

    def propose(self, messages: list[Message], sampling: Sampling | None) -> str:
        """Reply as the proposer: two searches, then the question of the planted kind."""
        system = str(messages[0]["content"])
        match = re.search(r"^The answer: (.*)$", system, re.MULTILINE)
        house = self.houses.get(match[1]) if match else None
        if house is None:
            return "<question>Nothing can be asked of this.</question>"
        searches = [f"keeper of {house.building}", f"birthplace of {house.keeper}"]
        if house.fault == "leaked search":
            searches[1] = f"who was born in {house.town}"
        if house.fault == "repeated search":
            searches[1] = f"Keeper of {house.building}!"
        turn = sum(message["role"] == "assistant" for message in messages)
        if turn < len(searches):
            return f"<search>{searches[turn]}</search>"
        text = question(house.building)
        if house.fault == "unanswerable":
            text = question(house.building, "favourite song")
        if house.fault == "in question":
            text += f" Is it {house.town}?"
        if house.fault == "wrong gold":
            text = question(self._second[house.town])
        return f"<question>{text}</question>"

    def checker(self, error: float = 0.0, seed: int = 7) -> Decide:
        """Reply as the checker: every answer that the passages of its prompt give.

        Args:
            error: share of replies that are wrong (no answer, or another one), drawn by the prompt.
            seed: of the errors.
        """

        def answer(messages: list[Message], sampling: Sampling | None) -> str:
            prompt = str(messages[-1]["content"])
            rng = Random(f"{seed} {prompt}")
            if rng.random() < error:
                return rng.choice(["Answer: none", "Answer: Nowhere"])
            if "[[YES]]" in prompt:
                return "They differ. [[NO]]"
            match = _ASKED.search(prompt)
            if match is None or match[1] != "birthplace":
                return "Answer: none"
            born = dict(cast("list[tuple[str, str]]", _BORN.findall(prompt)))
            keepers = [name for building, name in _KEEPER.findall(prompt) if building == match[2]]
            lacking = [name for name in keepers if name not in born]
            if lacking and "Search: " in prompt:
                return "\n".join(f"Search: birthplace of {name}" for name in lacking[:3])
            towns = dict.fromkeys(born[name] for name in keepers if name in born)
            return "\n".join(f"Answer: {town}" for town in towns) or "Answer: none"

        return answer
