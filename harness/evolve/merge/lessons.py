"""From Markdown to single lessons: the unit that support is counted for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from harness.core import Edit, Value
from harness.evolve.types import Discarded

LESSON_OPS = ("append_to_section", "add_section")
REFUSAL = re.compile(r"(?:^|, )(?:never|avoid|do not|don't)\b", re.IGNORECASE)
"""The cue of a clause that forbids something."""
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
_BULLET = re.compile(r"^(\s*)(?:[-*+]|\d+[.)])\s+(.*)$")
_BOLD = re.compile(r"^\*\*(.+?)\*\*\s*:?\s*(.*)$", re.DOTALL)
_NUMBERING = re.compile(
    r"^(?:\d+(?:\.\d+)*[.)]?|Lesson \d+:|Step \d+:|Rule \d+:)\s*", re.IGNORECASE
)
# Labels that name the part of a lesson, not what it is about.
_LABELS = {"issue", "rule", "lesson", "generalization", "problem", "solution", "principle", "fix"}
_SKIPPED = {"issue", "problem", "example", "pattern example", "example pattern", "evidence"}
_GENERIC = re.compile(
    r"^(?:trace[- ]derived )?(?:lessons?|learned patterns?|operational procedures|notes?)$", re.I
)


class Lesson(Value):
    """One rule with what it was learned from.

    Attributes:
        title: what it is about, in a few words; may be "".
        text: the rule, one or two sentences, Markdown without line breaks.
        section: heading that the analyst filed it under, "" if that says nothing.
        sources: trajectory ids.
        code: a fenced block that belongs to it, "" if none.
    """

    title: str
    text: str
    section: str = ""
    sources: tuple[str, ...] = ()
    code: str = ""

    @property
    def wording(self) -> str:
        """Title and rule as one text: what similarity is measured on."""
        return f"{self.title}. {self.text}" if self.title else self.text

    def markdown(self) -> str:
        """The lesson as a bullet with its title, which is read back from it."""
        head = f"- **{self.title}**: {self.text}" if self.title else f"- {self.text}"
        return f"{head}\n\n{self.code}" if self.code else head

    def for_readers(self) -> str:
        """The bullet without its title; what it refuses stands in capitals: `AVOID`, `NEVER`."""
        first, mark, later = self.text.partition(". ")
        first = REFUSAL.sub(lambda match: match[0].upper(), first, count=1)
        update = {"title": "", "text": f"{first}{mark}{later}"}
        return self.model_copy(update=update).markdown()


def support(sources: Iterable[str], tasks: Mapping[str, str]) -> int:
    """Number of distinct tasks among trajectories; an unknown trajectory is its own task."""
    return len({tasks.get(source, source) for source in sources})


@dataclass(frozen=True)
class Lessons:
    """The lessons that are merged, by their number.

    Attributes:
        rows: the lessons.
        tasks: trajectory id -> task id.
        quotes: what each lesson quotes of what varies between runs.
        praise: whether each says what passed runs did well.
        confirmed: wordings whose claims hold: running outweighs votes.
        general: numbers and codes that belong to no single task.
        confusions: of each lesson, what its runs confused, "" where they did not; none where no
            agent chooses among a few answers.
    """

    rows: Sequence[Lesson]
    tasks: Mapping[str, str]
    quotes: Sequence[tuple[str, ...]]
    praise: Sequence[bool]
    confirmed: frozenset[str] = frozenset()
    general: frozenset[str] = frozenset()
    confusions: Sequence[str] = ()

    def sources(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """The trajectories that taught these lessons."""
        return tuple(sorted({source for n in numbers for source in self.rows[n].sources}))

    def taught_by(self, sources: Iterable[str]) -> frozenset[str]:
        """The tasks of trajectories."""
        return frozenset(self.tasks.get(source, source) for source in sources)

    def support(self, numbers: Iterable[int]) -> int:
        """Number of distinct tasks that taught these lessons."""
        return support(self.sources(numbers), self.tasks)

    def by_wording(self, numbers: Iterable[int]) -> dict[str, list[int]]:
        """Wording -> the lessons that have it."""
        same: dict[str, list[int]] = defaultdict(list)
        for number in numbers:
            same[self.rows[number].wording].append(number)
        return same

    def discarded(self, numbers: Iterable[int], reason: str, rule: str = "") -> list[Discarded]:
        """One row for each distinct wording."""
        return [
            Discarded(
                content=wording,
                reason=reason,
                sources=self.sources(group),
                support=self.support(group),
                rule=rule,
            )
            for wording, group in self.by_wording(numbers).items()
        ]


def of_edit(edit: Edit) -> list[Lesson]:
    """The lessons in an edit that adds text to SKILL.md; empty for every other edit."""
    if edit.op not in LESSON_OPS or edit.file != "SKILL.md":
        return []
    return [
        Lesson(title=title, text=text, section=section, sources=edit.sources, code=code)
        for title, text, section, code in split(edit.content, edit.target_section)
    ]


def split(content: str, section: str = "") -> list[tuple[str, str, str, str]]:
    """(title, text, section, code) of every lesson in a Markdown text.

    A bullet at the margin, or a paragraph, is a lesson; nested bullets and continuation lines
    belong to it. A heading above plain bullets is their title if there is only one of them.
    """
    lessons: list[tuple[str, str, str, str]] = []
    heading, local = heading_name(section), ""
    for kind, text in _blocks(content):
        if kind == "heading":
            level, _, name = text.partition(" ")
            local = heading_name(name)
            if len(level) <= 2 and local:
                heading = local
        elif kind == "code":
            if lessons:
                title, words, heading_of, code = lessons[-1]
                lessons[-1] = (title, words, heading_of, f"{code}\n\n{text}".strip())
        else:
            title, words = local if local != heading else "", text
            if bold := _BOLD.match(text):
                label, words = bold[1].strip(" :"), bold[2].strip()
                if label.casefold() in _SKIPPED:
                    continue
                if label.casefold() not in _LABELS:
                    title, words = _NUMBERING.sub("", label), words or label
            if words:
                lessons.append((title, words, heading or local, ""))
    return lessons


def heading_name(heading: str) -> str:
    """A heading without marks and numbering; "" if it is generic."""
    name = _NUMBERING.sub("", heading.strip().lstrip("#").strip()).strip("*: ")
    return "" if _GENERIC.match(name) else name


def _blocks(content: str) -> Iterator[tuple[str, str]]:
    """(kind, text) with kind heading, code or text; lines of one lesson joined by spaces."""
    pending: list[str] = []
    lines = iter(content.splitlines())
    for line in lines:
        stripped = line.strip()
        fence, heading = stripped.startswith("```"), _HEADING.match(stripped)
        bullet = _BULLET.match(line)
        # "**Check**: After saving, look at:" and the plain items below it are one lesson.
        introduced = pending and pending[0].startswith("**") and pending[0].endswith(":")
        item = bullet and (len(bullet[1]) > 1 or (introduced and not bullet[2].startswith("**")))
        if pending and (not stripped or fence or heading or (bullet and not item)):
            yield "text", " ".join(pending)
            pending = []
        if fence:
            code = takewhile(lambda later: not later.strip().startswith("```"), lines)
            yield "code", "\n".join([stripped, *(later.rstrip() for later in code), "```"])
        elif heading:
            yield "heading", f"{heading[1]} {heading[2]}"
        elif stripped:
            if bullet and pending and pending[-1][-1] not in ".:;!?":
                pending[-1] += ";"  # items of a nested list must not run into one another
            pending.append(bullet[2].strip() if bullet else stripped)
    if pending:
        yield "text", " ".join(pending)


@dataclass(frozen=True)
class Cause:
    """Lessons that name one cause, and the wording that it gets as a rule.

    Attributes:
        number: of the cause.
        members: numbers of its lessons, the most central first.
        wording: as a lesson.
        sources: trajectories that taught them.
        praise: whether they say what passed runs did well.
    """

    number: int
    members: Sequence[int]
    wording: Lesson
    sources: tuple[str, ...]
    praise: bool


def best_supported_first(lessons: Lessons, causes: Iterable[Cause]) -> list[Cause]:
    """Causes that blame before those that praise; each by distinct tasks, then by lessons."""

    def place(cause: Cause) -> tuple[object, ...]:
        quotes = sorted(quote for number in cause.members for quote in lessons.quotes[number])
        tasks = support(cause.sources, lessons.tasks)
        return cause.praise, -tasks, -len(cause.members), cause.wording.wording, quotes

    return sorted(causes, key=place)
