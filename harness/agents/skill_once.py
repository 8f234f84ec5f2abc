"""A skill that many attempts use, read once."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from harness.core import digest_tree
from harness.skills import Skill, load_skill

Stamp = tuple[tuple[str, int, int, int], ...]


class SkillOnce(NamedTuple):
    """A skill directory as it was read, with its digest."""

    skill: Skill
    digest: str


def skill_at(folder: Path) -> SkillOnce:
    """The skill in a folder; read again where the time, size or number of a file has changed.

    Raises:
        BadInput: as :func:`harness.skills.load_skill`.
    """
    return _read(folder, _stamp(folder))


def _stamp(folder: Path) -> Stamp:
    found: list[tuple[str, int, int, int]] = []
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            facts = path.lstat()
            found.append((str(path), facts.st_mtime_ns, facts.st_size, facts.st_ino))
    return tuple(sorted(found))


@lru_cache(maxsize=8)
def _read(folder: Path, stamp: Stamp) -> SkillOnce:
    return SkillOnce(load_skill(folder), digest_tree(folder))
