"""A skill with any subset of its units; `cutting` says what they are.

A segment of a text is shown if it needs no unit, or if any of those that it needs is in the skill.
With all units the concatenation of the segments is the text as it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from harness.core import Value
from harness.skills import SKILL_FILE, Skill, dangling, orphans

UnitKind = Literal["section", "rule", "example", "reference", "script"]
ALWAYS: frozenset[int] = frozenset()


class Unit(Value):
    """One part of a skill whose effect is estimated.

    Attributes:
        number: place in the design, from 0.
        id: `SKILL.md:12` or `SKILL.md:12-15`, or the path of a file.
        lines: first and last line, from 1; of SKILL.md with its frontmatter.
        heading: the heading that it is under, "" for none.
        tokens: of its text, by :data:`harness.skills.TOKENIZER`.
        files: paths that go with it; more than one where one sentence names them together.
    """

    number: int
    id: str
    kind: UnitKind
    file: str
    lines: tuple[int, int]
    heading: str = ""
    text: str
    tokens: int
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Piece:
    """A text that is shown if it needs no unit, or if any of those that it needs is in."""

    text: str
    needs: frozenset[int]


@dataclass(frozen=True)
class Segment:
    """A block as it is rendered: a list marker, pieces, and the blank lines before it."""

    gap: tuple[str, ...]
    marker: str
    pieces: tuple[Piece, ...]

    @property
    def needs(self) -> frozenset[int]:
        """Units of which any one shows the block; none if it is always shown."""
        if any(piece.needs == ALWAYS for piece in self.pieces):
            return ALWAYS
        return frozenset[int]().union(*(piece.needs for piece in self.pieces))


@dataclass(frozen=True)
class Cut:
    """A skill and its units.

    Attributes:
        texts: Markdown files of which parts may go: path -> segments, and the blank lines behind.
    """

    skill: Skill
    units: tuple[Unit, ...]
    texts: Mapping[str, tuple[tuple[Segment, ...], tuple[str, ...]]]

    def render(self, chosen: Collection[int]) -> Skill:
        """The skill with these units only; with all of them it is the skill itself."""
        if len(set(chosen)) == len(self.units):
            return self.skill
        gone = {p for unit in self.units if unit.number not in chosen for p in unit.files}
        files = {path: data for path, data in self.skill.files.items() if path not in gone}
        for path in self.texts.keys() & files.keys():
            files[path] = self.text(path, chosen).encode()
        body = self.text(SKILL_FILE, chosen)
        if not body.strip():
            body = f"\n# {self.skill.name.replace('-', ' ').capitalize()}\n"
        kept = replace(
            self.skill, body=body, files=files, executable=self.skill.executable & files.keys()
        )
        return _repaired(self.skill, kept)

    def text(self, path: str, chosen: Collection[int]) -> str:
        """A Markdown file of the skill with these units only."""
        segments, behind = self.texts[path]
        lines: list[str] = []
        gap: tuple[str, ...] = ()
        for segment in segments:
            gap = max(gap, segment.gap, key=len)
            shown = [one for one in segment.pieces if not one.needs or one.needs & set(chosen)]
            if not shown:
                continue
            text = segment.marker + "".join(one.text for one in shown)
            lines += [
                *gap,
                *(text if shown[-1] is segment.pieces[-1] else text.rstrip()).split("\n"),
            ]
            gap = ()
        return "\n".join([*lines, *(behind or ("",))])


def _repaired(whole: Skill, part: Skill) -> Skill:
    """Without links that lead nowhere and files that nothing names, where the whole has none."""
    known = {path for _, _, path in dangling(whole)}
    for file, _, path in dangling(part):
        if path in known:
            continue
        name = re.escape(path)
        text = part.file_text(file) or ""
        text = re.sub(rf"\[([^\]]*)\]\(\s*<?(?:\./)?{name}[^)]*\)", r"\1", text)
        text = re.sub(rf"(?<![\w./-]){name}", path.rpartition("/")[2], text)
        if file == SKILL_FILE:
            part = replace(part, body=text.removeprefix(part.header))
        else:
            part = replace(part, files={**part.files, file: text.encode()})
    before = set(orphans(whole))
    lost = [path for path in orphans(part) if path not in before]
    if lost:
        rows = "".join(f"\nSee {path}.\n" for path in lost)
        part = replace(part, body=part.body.rstrip("\n") + "\n" + rows)
    return part
