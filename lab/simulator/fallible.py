"""A simulated analyst that errs: it misses, invents, mixes up and never says a thing the same way.

It knows nothing of the agent's profile: it has its own patterns for what a log shows and its own
wordings, in a file of its own, so that what it teaches is judged by what it says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from harness.core import Value
from lab.simulator.draws import draw


class Symptom(Value):
    """What a log can show, and lessons against it.

    Attributes:
        pattern: regex that matches in the log.
        wordings: lessons that say the same in different words.
    """

    pattern: str
    wordings: tuple[str, ...] = Field(min_length=1)


class Analyst(Value):
    """How the analyst errs.

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
        written = _sentences(log)
        shown = [
            (one, next((part for part in written if re.search(one.pattern, part)), written[0]))
            for one in self.symptoms
            if failed and re.search(one.pattern, log)
        ]
        found: list[tuple[str, str]] = []
        for number, (symptom, quote) in enumerate(shown):
            chance = draw("miss", number, log, self.seed)
            if chance < self.error:
                continue
            blamed = symptom
            if draw("blame", number, log, self.seed) < self.error:
                blamed = _one_of(self.symptoms, "other", number, log, self.seed)
            found.append((quote, _one_of(blamed.wordings, "wording", number, log, self.seed)))
        if draw("invent", log, self.seed) < self.error or not found:
            quote = _one_of(written, "quote", log, self.seed)
            found.append((quote, _one_of(self.idle, "idle", log, self.seed)))
        return found[:3]

    def record(self, log: str, *, failed: bool) -> dict[str, Any]:
        """The record in the form that the analysts' prompts ask for."""
        found = self.lessons(log, failed=failed)
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
                for quote, lesson in found
            ],
        }


def _sentences(log: str) -> list[str]:
    """What the agent wrote, sentence by sentence: an invention quotes one of these at random.

    That is the hardest case for a check of evidence: the quote is real, and often shows a failure.
    """
    written = log.partition("REASONING ")[2] or log
    parts = [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n", written)]
    return [part for part in parts if len(part) >= 8] or [log[:80]]


def _one_of(items: Sequence[Any], *parts: object) -> Any:
    return items[int(draw(*parts) * len(items))]
