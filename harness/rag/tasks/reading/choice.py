"""Multiple choice: which letters an answer means."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from harness.core import Task
from harness.rag.tasks.reading.squad import official_normal
from harness.tasks.judged import Judged, choices_of, whole

_ALONE = re.compile(r"\(?([A-Z])\)?[.):]?")
_LETTERS = re.compile(r"\(?[A-Z]\)?(?:(?:\s*,\s*|\s*(?:and|&)\s*|\s+)?\(?[A-Z]\)?)*\.?")
_STATED = re.compile(
    r"(?:answers?|options?|choices?)\s*(?:is|are|:)?\s*:?\s*"
    r"(\(?[A-Z]\)?(?:(?:\s*,\s*|\s*(?:and|&)\s*)?\(?[A-Z]\)?)*)(?![A-Za-z'])",
    re.IGNORECASE,
)
_OPENING = re.compile(r"\(([A-Z])\)|([A-Z])[.):](?=\s|$)")


def chosen_letter(answer: str, choices: Mapping[str, str]) -> str | None:
    """The one letter that an answer chooses, or None where it chooses none or several.

    Understood are a letter alone, "the (correct) answer is (B)" as LongBench v2 asks for, a letter
    with a mark in front ("B. Because ..."), and the text of a choice.

    Args:
        answer: what was said.
        choices: letter -> text; the text may be empty where it is not known.
    """
    letters = chosen_letters(answer, choices)
    return letters if len(letters) == 1 else None


def chosen_letters(answer: str, choices: Mapping[str, str]) -> str:
    """All letters that an answer chooses, in order, each once; "" where it chooses none.

    Args:
        answer: what was said.
        choices: letter -> text; letters outside are no choice.
    """
    text = answer.replace("*", "").strip()
    if match := _ALONE.fullmatch(text):
        return _known(match[1], choices)
    if _LETTERS.fullmatch(text):
        return _known(re.sub(r"\band\b", "", text), choices)
    if stated := _STATED.findall(text):
        return _known(re.sub(r"\band\b", "", stated[-1], flags=re.IGNORECASE).upper(), choices)
    if match := _OPENING.match(text):
        return _known(match[1] or match[2], choices)
    said = official_normal(text)
    same = [
        letter for letter, choice in choices.items() if said and official_normal(choice) == said
    ]
    return same[0] if len(same) == 1 else ""


def judge_choice(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    """Whether the one letter that an answer chooses is right."""
    letter = chosen_letter(answer, choices_of(task))
    return whole(letter in accepted, chosen=letter)


def _known(letters: str, choices: Mapping[str, str]) -> str:
    return "".join(sorted({letter for letter in letters if letter in choices}))
