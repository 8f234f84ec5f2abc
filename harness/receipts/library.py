"""Several skills at once: descriptions that load on the same tasks, rules that disagree.

Both checks are lexical and say so: no model reads the skills. What a client really loads is
measured with queries; two rules that disagree in other words are not found.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from harness.core import BadInput, Value
from harness.evolve import Lesson, content_words, contradictions
from harness.receipts.units import cut
from harness.skills import SKILL_FILE, load_skill

COLLISION = 0.5
"""Share of the words of the shorter description that the other one has, too."""
_EMPTY = frozenset(content_words("Use this skill whenever a task or question asks. Answers."))


class Collision(Value):
    """Two skills whose descriptions speak of the same things.

    Attributes:
        overlap: share of the content words of the shorter description that both have.
        words: stems that both have.
    """

    skills: tuple[str, str]
    overlap: float
    words: tuple[str, ...]


class Disagreement(Value):
    """Units of different skills that tell an agent opposite things.

    Attributes:
        one: `skill/SKILL.md:12` of the units that say the one thing.
        two: of those that say the opposite.
        about: the words that they disagree on.
    """

    one: tuple[str, ...]
    two: tuple[str, ...]
    about: str


class LibraryReport(Value):
    """Findings in a folder of skills."""

    skills: tuple[str, ...]
    collisions: tuple[Collision, ...]
    disagreements: tuple[Disagreement, ...]
    same_name: tuple[str, ...]

    @property
    def clear(self) -> bool:
        """True if nothing was found."""
        return not (self.collisions or self.disagreements or self.same_name)


def check_library(folders: Sequence[Path]) -> LibraryReport:
    """Check skills against one another.

    Args:
        folders: skill directories, or folders of them.

    Raises:
        BadInput: if there are fewer than two skills.
    """
    paths = [path for folder in folders for path in skills_in(folder)]
    skills = [load_skill(path) for path in paths]
    if len(skills) < 2:
        raise BadInput(f"expected two skills or more in {', '.join(map(str, folders))!r}")
    words = [frozenset(content_words(skill.description)) - _EMPTY for skill in skills]
    collisions: list[Collision] = []
    for (first, words_first), (second, words_second) in combinations(
        zip(skills, words, strict=True), 2
    ):
        shared = words_first & words_second
        shorter = min(len(words_first), len(words_second))
        overlap = len(shared) / shorter if shorter else 0.0
        if overlap >= COLLISION:
            pair = first.name, second.name
            collisions.append(
                Collision(skills=pair, overlap=round(overlap, 2), words=tuple(sorted(shared)))
            )
    # A lesson comes from a place among the skills, not a name: two may have the same one.
    rules = [
        (f"{skill.name}/{unit.id}", Lesson(title="", text=unit.text, sources=(str(number),)))
        for number, skill in enumerate(skills)
        for unit in cut(skill).units
        if unit.kind in ("rule", "section")
    ]
    names = [skill.name for skill in skills]
    return LibraryReport(
        skills=tuple(names),
        collisions=tuple(sorted(collisions, key=lambda pair: (-pair.overlap, pair.skills))),
        disagreements=tuple(
            Disagreement(
                one=tuple(rules[index][0] for index in pair.one),
                two=tuple(rules[index][0] for index in pair.two),
                about=pair.about,
            )
            for pair in contradictions([lesson for _, lesson in rules])
        ),
        same_name=tuple(sorted({name for name in names if names.count(name) > 1})),
    )


def skills_in(folder: Path) -> list[Path]:
    """Skill directories at a path: the path itself if it is one, else those right below it."""
    if (folder / SKILL_FILE).is_file():
        return [folder]
    return sorted(path.parent for path in folder.glob(f"*/{SKILL_FILE}"))
