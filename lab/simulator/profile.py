"""Profiles: which failure modes are planted in a simulated model, and what cures them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

from pydantic import Field, ValidationError, field_validator

from harness.core import BadInput, Value, first_fault
from lab.simulator.draws import draw
from lab.simulator.fallible import Analyst
from lab.simulator.orders import OrderMode, Slip

Defect = Literal["sentence", "unit", "no_final_line", "first_row", "stale_values", "wrong_sheet"]
SETTINGS = ("seed", "noise", "distraction", "blindness", "error")
"""What may be set behind the name of a profile."""
_FOLDER = Path(__file__).parent / "profiles"


class FailureMode(Value):
    """One planted failure.

    Attributes:
        name: for reports.
        defect: what goes wrong: the answer is a `sentence`, carries a `unit` nobody asked for, has
            `no_final_line`; a spreadsheet script handles the `first_row` as data, writes
            `stale_values` (formulas nobody computed) or writes to the `wrong_sheet`.
        prevalence: share of tasks that have it, drawn by a hash of the task.
        trigger: regex that the task must match.
        remedy: regexes that must all match in one line of the skill to switch it off.
        cause: regexes one of which must match in a line of the skill to switch it on at all: a
            line that hurts. Empty for a failure that is there without any skill.
        symptom: regex by which the simulated analyst recognises it in the log of a failed run.
        lesson: what the simulated analyst then proposes.
    """

    name: str
    defect: Defect
    prevalence: float = Field(ge=0, le=1)
    trigger: str = ""
    remedy: tuple[str, ...] = ()
    cause: tuple[str, ...] = ()
    symptom: str = ""
    lesson: str = ""

    @field_validator("trigger", "symptom", "remedy", "cause")
    @classmethod
    def _compiles(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        for pattern in (value,) if isinstance(value, str) else value:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"no regular expression: {pattern!r} ({error})") from error
        return value

    def strikes(self, task: str, skill: str, seed: int) -> bool:
        """Whether the failure shows in an attempt at `task` with the text `skill` in view."""
        if draw("mode", self.name, task, seed) >= self.prevalence:
            return False
        if not _found(self.trigger, task):
            return False
        lines = skill.splitlines()
        if self.cause and not any(_found(cause, line) for cause in self.cause for line in lines):
            return False
        cured = any(all(_found(part, line) for part in self.remedy) for line in lines)
        return not (self.remedy and cured)


class Profile(Value):
    """A simulated model.

    Attributes:
        name: reported as `simulated-<name>`.
        seed: of the draws that decide which tasks have which failure.
        noise: share of requests that go wrong for no reason, drawn from the request and its seed.
        distraction: chance that one rule which cures nothing spoils an attempt at the order desk.
        modes: the planted failures.
        orders: planted failures of the order desk.
        opens_skills: open a skill of a catalogue that the task names or shares words with.
        blindness: share of tasks on which descriptions of a catalogue are not looked at.
        analyst: how the model errs as an analyst; None for one that finds every symptom of
            `modes`.
    """

    name: str
    about: str = ""
    seed: int = 41
    noise: float = Field(default=0.0, ge=0, le=1)
    distraction: float = Field(default=0.0, ge=0, le=1)
    modes: tuple[FailureMode, ...] = ()
    orders: tuple[OrderMode, ...] = ()
    opens_skills: bool = False
    blindness: float = Field(default=0.0, ge=0, le=1)
    analyst: Analyst | None = None

    def slips(self, task: str, skill: str, applicable: tuple[Slip, ...]) -> set[Slip]:
        """What goes wrong at the order desk in an attempt at `task` with `skill` in view."""
        there = {one.name: one for one in self.orders if one.slip in applicable}
        cured = {
            name
            for name, one in there.items()
            if (one.remedy and one.remedy.entailed_by(skill))
            or draw("mode", name, task, self.seed) >= one.prevalence
            or (one.cause and not one.cause.entailed_by(skill))
        }
        return {
            one.slip
            for name, one in there.items()
            if name not in cured and not (set(one.requires) & there.keys()) - cured
        }

    def distracts(self, skill: str) -> float:
        """Chance that the useless rules of a skill spoil an attempt at the order desk.

        A rule is a bullet; it is useless if it entails no remedy.
        """
        if not self.distraction:
            return 0.0
        rules = [line for line in skill.splitlines() if line.lstrip().startswith(("- ", "* "))]
        useless = sum(
            not any(one.remedy and one.remedy.said_in(rule) for one in self.orders)
            for rule in rules
        )
        return 1 - (1 - self.distraction) ** useless

    def defects(self, task: str, skill: str) -> set[Defect]:
        """What goes wrong in an attempt at `task` with the text `skill` in view."""
        return {mode.defect for mode in self.modes if mode.strikes(task, skill, self.seed)}


def load_profile(name: str) -> Profile:
    """Load a packaged profile by name, or one of the user's by the path of its JSON file.

    Behind a question mark, `seed`, `noise`, `distraction`, `blindness` and the analyst's `error`
    may be set, so that a sweep needs one file: `orders-analyst?error=0.1&seed=7`.

    Raises:
        BadInput: if there is none, or it is malformed.
    """
    name, _, query = name.partition("?")
    path = Path(name) if name.endswith(".json") else _FOLDER / f"{name}.json"
    if not path.is_file():
        known = ", ".join(sorted(found.stem for found in _FOLDER.glob("*.json")))
        raise BadInput(
            f"no simulated profile {name!r}; expected one of {known}, or the path of a .json file"
        )
    try:
        data: dict[str, Any] = json.loads(path.read_bytes())
        return Profile.model_validate(_with(data, query))
    except ValidationError as error:
        got = f"{error.errors()[0]['input']!r:.80}"
        raise BadInput(f"{path}: {first_fault(error, 'profile')}, got {got}") from error
    except (ValueError, TypeError) as error:
        raise BadInput(f"{path}: no profile: {error}") from error


def _with(data: dict[str, Any], query: str) -> dict[str, Any]:
    """The profile with the settings of a query."""
    for key, value in parse_qsl(query):
        if key in ("seed", "noise", "distraction", "blindness"):
            data = {**data, key: value}
        if key in ("seed", "error") and data.get("analyst"):
            data = {**data, "analyst": {**data["analyst"], key: value}}
        if key not in SETTINGS:
            expected = ", ".join(SETTINGS)
            raise ValueError(f"expected one of {expected} behind the question mark, got {key!r}")
    return data


def _found(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None
