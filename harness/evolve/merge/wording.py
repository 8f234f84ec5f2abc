"""The wording that a group of lessons is kept in: central, short, and free of the benchmark."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.core import Trajectory
from harness.evolve.merge.lessons import Lesson

MIN_WORDS, MAX_WORDS, TITLE_WORDS = 3, 36, 6
SHARED = 5
"""Tasks that must share a label before it counts as the benchmark's."""
_ASIDE = re.compile(r"\s*\((?:e\.g\.|i\.e\.|like|such as|for example)[^()]*(?:\([^()]*\)[^()]*)*\)")
_PATH = re.compile(
    r"(?:^|[\s`'\"(])(?:/[\w.-]+){2,}|[A-Za-z]:\\|\b\w+_path\b|\b[\w-]+\.(?:xlsx|xlsm|xls|csv)\b"
)
_JUDGING = re.compile(
    r"\b(?:test cases?|(?:test )?evaluation criteria|verification tests?|evaluators?|graders?)\b",
    re.I,
)
_NUMBER = re.compile(r"\b\d+-\d+\b|\b\d{3,}\b")
_CELLS = re.compile(r"\$?[A-Z]{1,3}\$?\d+(?::\$?[A-Z]{1,3}\$?\d+)?")
_DANGLING = re.compile(r"(?:[:,]|\b(?:either by|as follows|such as))\.?$", re.IGNORECASE)
_PADDING = re.compile(
    r"\s+(?:Patterns?|Protocols?|Strategy|Strategies|Best Practices?|Guidelines?|Workflows?"
    r"|Considerations?|Awareness|First)$"
)
# Wordings that tell an agent nothing to do.
_VAGUE = re.compile(
    r"\b(?:may (?:require|need|not)|require careful|be aware|be cautious|does not guarantee)\b",
    re.I,
)
_LABEL = re.compile(r"^(?:Issue|Rule|Lesson|Note|Example|Generalization)$", re.I)


class TermCounter:
    """Finds the words that belong to the task set and not to the skill.

    These are names of the fields that describe a task (those with an underscore), and labels with
    a hyphen or space that at least five tasks share (a task type), lower-cased.
    """

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._labels: dict[str, int] = {}

    def add(self, trajectory: Trajectory) -> None:
        """Take one trajectory into account."""
        task = trajectory.harness.get("task")
        for key, value in task.items() if isinstance(task, dict) else ():
            if "_" in key:
                self._names.add(key.casefold())
            if isinstance(value, str) and len(value) < 40 and re.search(r"\w[- ]\w", value):
                label = value.casefold()
                self._labels[label] = self._labels.get(label, 0) + 1

    def found(self) -> frozenset[str]:
        """The terms."""
        shared = {label for label, count in self._labels.items() if count >= SHARED}
        return frozenset(self._names | shared)


def residue(text: str, terms: frozenset[str] = frozenset()) -> str:
    """The first trace of one particular task or benchmark in a text, or ""."""
    folded = text.casefold()
    for term in sorted(terms):
        if re.search(rf"(?<!\w){re.escape(term)}(?!\w)", folded):
            return term
    for pattern in (_PATH, _JUDGING, _NUMBER, _CELLS):
        match = pattern.search(text)
        if match:
            return match.group().strip()
    return ""


def compact(lesson: Lesson) -> Lesson:
    """The lesson without asides, padding in its title, and with a full stop."""
    text = _ASIDE.sub("", lesson.text)
    text = re.sub(r"\s+", " ", text).strip(" -")
    text = re.sub(r"\s+([.,;:])", r"\1", text)
    if text and text[0].islower() and not text.startswith(("pd.", "wb.", "ws.", "openpyxl")):
        text = text[0].upper() + text[1:]
    if text and text[-1] not in ".!?`:":
        text += "."
    title = lesson.title
    while _PADDING.search(title) and len(title.split()) > 2:
        title = _PADDING.sub("", title)
    if _LABEL.match(title):
        title = ""
    return lesson.model_copy(update={"title": title, "text": _shortened(text)})


def _shortened(text: str) -> str:
    """Whole sentences up to the limit; the first one always."""
    kept: list[str] = []
    for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`])", text):
        if kept and len(" ".join([*kept, sentence]).split()) > MAX_WORDS:
            break
        kept.append(sentence)
    return " ".join(kept)


def usable(lesson: Lesson, terms: frozenset[str]) -> bool:
    """Whether a lesson can stand in a skill as it is."""
    words = len(lesson.text.split())
    return (
        MIN_WORDS <= words <= MAX_WORDS + 8
        and not _DANGLING.search(lesson.text.rstrip())
        and lesson.text.count("`") % 2 == 0
        and not residue(f"{lesson.title} {lesson.text}", terms)
    )


def best_wording(
    lessons: Sequence[Lesson], central: Sequence[int], terms: frozenset[str]
) -> Lesson | None:
    """The most central lesson that is usable once compacted, or None if none is.

    Among the central third, one with a short title that says what to do is preferred.

    Args:
        lessons: all lessons.
        central: indices of a group, most central first.
        terms: words of the benchmark.
    """
    candidates = [compact(lessons[index]) for index in central]
    good = [lesson for lesson in candidates if usable(lesson, terms)]
    near = good[: max(3, len(good) // 3)]
    clear = [one for one in near if one.title and not _VAGUE.search(one.text)]
    short = [one for one in clear if len(one.title.split()) <= TITLE_WORDS]
    return (short or clear or near or [None])[0]
