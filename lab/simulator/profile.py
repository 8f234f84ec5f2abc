"""Profiles: which failure modes are planted in a simulated model, and what cures them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

from pydantic import Field, ValidationError, field_validator

from harness.core import BadInput, Value, first_fault
from lab.simulator.draws import draw
from lab.simulator.entailment import check_patterns
from lab.simulator.orders import OrderMode, Slip

Defect = Literal["sentence", "unit", "no_final_line", "first_row", "stale_values", "wrong_sheet"]
# What may be set behind the name of a profile.
SETTINGS = ("seed", "noise", "blindness", "error")
_FOLDER = Path(__file__).parent / "profiles"


class Symptom(Value):
    """Symptom that a log can show, and lessons against it.

    Attributes:
        pattern: regex that matches in the log.
        wordings: lessons that say the same in different words.
    """

    pattern: str
    wordings: tuple[str, ...] = Field(min_length=1)


class Analyst(Value):
    """An analyst that errs: it misses, invents, mixes up and never says a thing the same way.

    It knows nothing of the agent's profile: it has its own patterns for what a log shows and its
    own wordings, so that what it teaches is judged by what it says.

    Attributes:
        symptoms: what it can recognise.
        idle: plausible lessons that are not worth anything, or hurt.
        error: rate of each kind of error: a symptom missed, a symptom blamed on another, and a
            lesson that nothing in the log supports.
        seed: of the draws.
    """

    symptoms: tuple[Symptom, ...]
    idle: tuple[str, ...] = Field(min_length=1)
    error: float = Field(default=0.0, ge=0, le=1)
    seed: int = 41

    def lessons(self, log: str, *, failed: bool) -> list[tuple[str, str]]:
        """(quote from the log, lesson) for what the analyst believes to see; at most three."""
        # What the agent wrote, sentence by sentence: an invention quotes one of these at random.
        # That is the hardest case for a check of evidence: the quote is real, and often shows a
        # failure.
        text = log.partition("REASONING ")[2] or log
        parts = [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n", text)]
        written = [part for part in parts if len(part) >= 8] or [log[:80]]
        lessons: list[tuple[str, str]] = []
        visible = [
            symptom for symptom in self.symptoms if failed and re.search(symptom.pattern, log)
        ]
        for number, symptom in enumerate(visible):
            matching = (part for part in written if re.search(symptom.pattern, part))
            quote = next(matching, written[0])
            chance = draw("miss", number, log, self.seed)
            if chance < self.error:
                continue
            blamed = symptom
            if draw("blame", number, log, self.seed) < self.error:
                blamed = _one_of(self.symptoms, "other", number, log, self.seed)
            lessons.append((quote, _one_of(blamed.wordings, "wording", number, log, self.seed)))
        if draw("invent", log, self.seed) < self.error or not lessons:
            quote = _one_of(written, "quote", log, self.seed)
            lessons.append((quote, _one_of(self.idle, "idle", log, self.seed)))
        return lessons[:3]

    def record(self, log: str, *, failed: bool) -> dict[str, Any]:
        """The record in the form that the analysts' prompts ask for."""
        return {
            "analyst_type": "error" if failed else "success",
            "root_cause" if failed else "success_surface": "what the quotes show",
            "memory_items": [
                {
                    "title": " ".join(lesson.split()[:4]),
                    "lesson": lesson,
                    "generalization": "",
                    "evidence": [quote],
                }
                for quote, lesson in self.lessons(log, failed=failed)
            ],
        }


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

    _compiles = field_validator("trigger", "symptom", "remedy", "cause")(check_patterns)

    def strikes(self, task: str, skill: str, seed: int) -> bool:
        """Return True if the failure shows in an attempt at `task` with `skill` in view."""
        if draw("mode", self.name, task, seed) >= self.prevalence:
            return False
        if not _matches(self.trigger, task):
            return False
        lines = skill.splitlines()
        if self.cause and not any(_matches(cause, line) for cause in self.cause for line in lines):
            return False
        cured = any(all(_matches(part, line) for part in self.remedy) for line in lines)
        return not (self.remedy and cured)


class Profile(Value):
    """A simulated model.

    Attributes:
        name: reported as `simulated-<name>`.
        seed: of the draws that decide which tasks have which failure.
        noise: share of requests that go wrong for no reason, drawn from the request and its seed.
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
    modes: tuple[FailureMode, ...] = ()
    orders: tuple[OrderMode, ...] = ()
    opens_skills: bool = False
    blindness: float = Field(default=0.0, ge=0, le=1)
    analyst: Analyst | None = None

    def slips(self, task: str, skill: str, applicable: tuple[Slip, ...]) -> set[Slip]:
        """List the slips at the order desk in an attempt at `task` with `skill` in view."""
        modes = {mode.name: mode for mode in self.orders if mode.slip in applicable}
        cured = {
            name
            for name, mode in modes.items()
            if (mode.remedy and mode.remedy.entailed_by(skill))
            or draw("mode", name, task, self.seed) >= mode.prevalence
            or (mode.cause and not mode.cause.entailed_by(skill))
        }
        return {
            mode.slip
            for name, mode in modes.items()
            if name not in cured and not (set(mode.requires) & modes.keys()) - cured
        }

    def defects(self, task: str, skill: str) -> set[Defect]:
        """List the defects of an attempt at `task` with the text `skill` in view."""
        return {mode.defect for mode in self.modes if mode.strikes(task, skill, self.seed)}


def load_profile(name: str) -> Profile:
    """Load a packaged profile by name, or one of the user's by the path of its JSON file.

    Behind a question mark, `seed`, `noise`, `blindness` and the analyst's `error` may be set, so
    that a sweep needs one file: `orders-analyst?error=0.1&seed=7`.

    Raises:
        BadInput: if there is none, or it is malformed.
    """
    name, _, query = name.partition("?")
    path = Path(name) if name.endswith(".json") else _FOLDER / f"{name}.json"
    if not path.is_file():
        names = ", ".join(sorted(file.stem for file in _FOLDER.glob("*.json")))
        raise BadInput(
            f"no simulated profile {name!r}; expected one of {names}, or the path of a .json file"
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
        if key in ("seed", "noise", "blindness"):
            data = {**data, key: value}
        if key in ("seed", "error") and data.get("analyst"):
            data = {**data, "analyst": {**data["analyst"], key: value}}
        if key not in SETTINGS:
            expected = ", ".join(SETTINGS)
            raise ValueError(f"expected one of {expected} behind the question mark, got {key!r}")
    return data


def _one_of(items: Sequence[Any], *parts: object) -> Any:
    return items[int(draw(*parts) * len(items))]


def _matches(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None
