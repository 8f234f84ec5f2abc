"""A skill cut into units that can be taken out one by one, and rendered with any subset of them.

A unit is a list item or table row (rule), a paragraph (section), a block of code or whatever
stands under a heading that speaks of examples (example), a file under `references/` (reference) or
`scripts/` (script). What is left out takes along what only leads to it: a heading whose content is
gone, an introduction that ends in a colon, a sentence that names a file which is out. Frontmatter,
the first heading and all other files stay. Numbers of list items stay, too: others may cite them.

A segment of a text is shown if it needs no unit, or if any of those that it needs is in the skill.
With all units the concatenation of the segments is the text as it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from harness.core import Value
from harness.receipts.blocks import Block, blocks, sentences
from harness.skills import (
    SKILL_FILE,
    Explanation,
    Skill,
    count_tokens,
    dangling,
    explain_file,
    load_skill,
    matching,
    mentions,
    orphans,
    provenance_path,
    read_provenance,
    read_sources,
    sections,
)

UnitKind = Literal["section", "rule", "example", "reference", "script"]
ALWAYS: frozenset[int] = frozenset()
FOLDERS: dict[str, UnitKind] = {"references": "reference", "scripts": "script"}
_KINDS: dict[str, UnitKind] = {"item": "rule", "row": "rule", "code": "example"}
_MARKER = re.compile(r"^ *(?:[-*+]|\d+[.)]) +")


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


class Origin(Value):
    """Origin of a unit, as the provenance beside the skill tells.

    Attributes:
        trajectory: id of a trajectory that an edit of the unit's lines was learned from.
        steps: its steps that the analyst quoted.
    """

    trajectory: str
    steps: tuple[int, ...] = ()


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
        needs = [piece.needs for piece in self.pieces]
        return ALWAYS if ALWAYS in needs else ALWAYS.union(*needs)


@dataclass(frozen=True)
class Cut:
    """A skill and its units.

    Attributes:
        texts: Markdown files of which parts may go: path -> segments, and the blank lines behind.
    """

    skill: Skill
    units: tuple[Unit, ...]
    texts: Mapping[str, tuple[tuple[Segment, ...], tuple[str, ...]]]

    def render(self, numbers: Collection[int]) -> Skill:
        """The skill with these units only; with all of them it is the skill itself."""
        if len(set(numbers)) == len(self.units):
            return self.skill
        gone = {p for unit in self.units if unit.number not in numbers for p in unit.files}
        files = {path: data for path, data in self.skill.files.items() if path not in gone}
        for path in self.texts.keys() & files.keys():
            files[path] = self.text(path, numbers).encode()
        body = self.text(SKILL_FILE, numbers)
        if not body.strip():
            body = f"\n# {self.skill.name.replace('-', ' ').capitalize()}\n"
        part = replace(
            self.skill, body=body, files=files, executable=self.skill.executable & files.keys()
        )
        return _repaired(self.skill, part)

    def text(self, path: str, numbers: Collection[int]) -> str:
        """A Markdown file of the skill with these units only."""
        segments, behind = self.texts[path]
        lines: list[str] = []
        gap: tuple[str, ...] = ()
        for segment in segments:
            gap = max(gap, segment.gap, key=len)
            pieces = [p for p in segment.pieces if not p.needs or p.needs & set(numbers)]
            if not pieces:
                continue
            text = segment.marker + "".join(piece.text for piece in pieces)
            if pieces[-1] is not segment.pieces[-1]:
                text = text.rstrip()
            lines += [*gap, *text.split("\n")]
            gap = ()
        return "\n".join([*lines, *(behind or ("",))])


def cut(skill: Skill) -> Cut:
    """Cut a skill into its units, in the order of SKILL.md, then of its files."""
    groups = _file_groups(skill)
    lines = skill.body.split("\n")
    body = blocks(lines)
    offset = skill.header.count("\n")
    units: list[Unit] = []
    owners: dict[int, int] = {}
    for index, block in enumerate(body):
        if _leads(body, index) or all(_named(piece, groups) for piece in _pieces(block)):
            continue
        owners[index] = len(units)
        first, last = offset + block.start + 1, offset + block.end
        example = "example" in block.heading.casefold()
        units.append(
            Unit(
                number=len(units),
                id=f"{SKILL_FILE}:{first}" + (f"-{last}" if last > first else ""),
                kind="example" if example else _KINDS.get(block.kind, "section"),
                file=SKILL_FILE,
                lines=(first, last),
                heading=block.heading,
                text=block.text,
                tokens=count_tokens(block.text),
            )
        )
    needs: dict[str, frozenset[int]] = {}
    for group in sorted(set(groups.values())):
        needs |= dict.fromkeys(group, frozenset({len(units)}))
        texts = [skill.file_text(path) or "" for path in group]
        units.append(
            Unit(
                number=len(units),
                id=group[0],
                kind=FOLDERS[group[0].partition("/")[0]],
                file=group[0],
                lines=(1, max(1, len(texts[0].removesuffix("\n").split("\n")))),
                text="\n".join(texts),
                tokens=sum(map(count_tokens, texts)),
                files=group,
            )
        )
    parts = {SKILL_FILE: _segments(lines, body, owners, needs)}
    for path in skill.files:
        text = skill.file_text(path) if path.endswith(".md") else None
        elsewhere = {file: need for file, need in needs.items() if file != path}
        if text is not None and any(mentions(text, file) for file in elsewhere):
            rows = text.split("\n")
            parts[path] = _segments(rows, blocks(rows), None, elsewhere)
    return Cut(skill, tuple(units), parts)


def _leads(body: list[Block], index: int) -> bool:
    """Return True for a block that only leads others: headings, heads of tables, introductions."""
    block = body[index]
    if block.kind in ("heading", "comment", "ruler", "head"):
        return True
    behind = body[index + 1].kind if index + 1 < len(body) else "heading"
    introduces = block.text.rstrip().rstrip("*_").endswith(":")
    return block.kind == "paragraph" and introduces and behind in ("item", "code", "row", "head")


def _pieces(block: Block) -> list[str]:
    """Sentences of a paragraph or of a list item without its marker; others are one piece."""
    text = block.text
    if block.kind not in ("item", "paragraph") or "```" in text or "~~~" in text:
        return [text]
    marker = _MARKER.match(text) if block.kind == "item" else None
    return sentences(text[marker.end() :] if marker else text) or [text]


def _file_groups(skill: Skill) -> dict[str, tuple[str, ...]]:
    """Path -> the files that go with it: those that one sentence names together."""
    paths = [path for path in skill.files if path.partition("/")[0] in FOLDERS and "/" in path]
    group = {path: {path} for path in paths}
    for file in skill.all_files:
        text = skill.body if file == SKILL_FILE else skill.file_text(file)
        if text is None or not file.endswith(".md"):
            continue
        for block in blocks(text.split("\n")):
            for piece in _pieces(block):
                together = [path for path in _named(piece, group) if path != file]
                merged = set[str]().union(*(group[path] for path in together))
                for path in merged:
                    group[path] = merged
    return {path: tuple(sorted(members)) for path, members in group.items()}


def _named(piece: str, paths: Iterable[str]) -> list[str]:
    return [path for path in paths if mentions(piece, path)]


def _segments(
    lines: list[str],
    body: list[Block],
    owners: Mapping[int, int] | None,
    needs: Mapping[str, frozenset[int]],
) -> tuple[tuple[Segment, ...], tuple[str, ...]]:
    """Segments of a text, and the lines behind the last; without owners only files are needed."""
    segments: list[Segment] = []
    before = 0
    for index, block in enumerate(body):
        needed = frozenset({owners[index]}) if owners and index in owners else ALWAYS
        marker = _MARKER.match(block.text) if block.kind == "item" else None
        pieces = tuple(
            Piece(piece, ALWAYS.union(*(needs[path] for path in _named(piece, needs))) or needed)
            for piece in _pieces(block)
        )
        undivided = len(pieces) == 1 and pieces[0].text == block.text
        mark = marker.group() if marker and not undivided else ""
        segments.append(Segment(tuple(lines[before : block.start]), mark, pieces))
        before = block.end
    if owners is not None:
        _give_leaders_needs(lines, body, segments)
    return tuple(segments), tuple(lines[before:])


def _give_leaders_needs(lines: list[str], body: list[Block], segments: list[Segment]) -> None:
    """Give blocks that only lead to others the needs of what they lead to."""
    ends = {section.start: section.end for section in sections(lines)}
    first = next((i for i, block in enumerate(body) if block.kind == "heading"), -1)
    for index in reversed(range(len(body))):
        block = body[index]
        if index == first or not _leads(body, index) or block.kind in ("comment", "ruler"):
            continue
        if block.kind == "heading":
            led = [i for i, b in enumerate(body) if block.end <= b.start < ends[block.start]]
        else:
            led = _run(body, index)
        needed = [segments[i].needs for i in led]
        if not needed or ALWAYS in needed:
            continue
        needs = ALWAYS.union(*needed)
        pieces = tuple(replace(piece, needs=needs) for piece in segments[index].pieces)
        segments[index] = replace(segments[index], pieces=pieces)


def _run(body: list[Block], index: int) -> list[int]:
    """Numbers of the blocks behind an introduction or head of a table that are of one kind."""
    led = [index + 1] if index + 1 < len(body) else []
    if led and body[led[0]].kind == "head":
        led.append(index + 2)
    if not led or body[led[-1]].kind not in ("item", "row"):
        return led
    for later in range(led[-1] + 1, len(body)):
        if body[later].kind != body[led[-1]].kind:
            break
        led.append(later)
    return led


def _repaired(original: Skill, part: Skill) -> Skill:
    """Without links that lead nowhere and files that nothing names, where the skill has none."""
    broken = {path for _, _, path in dangling(original)}
    for file, _, path in dangling(part):
        if path in broken:
            continue
        name = re.escape(path)
        text = part.file_text(file) or ""
        text = re.sub(rf"\[([^\]]*)\]\(\s*<?(?:\./)?{name}[^)]*\)", r"\1", text)
        text = re.sub(rf"(?<![\w./-]){name}", path.rpartition("/")[2], text)
        if file == SKILL_FILE:
            part = replace(part, body=text.removeprefix(part.header))
        else:
            part = replace(part, files={**part.files, file: text.encode()})
    lost = [path for path in orphans(part) if path not in set(orphans(original))]
    if lost:
        rows = "".join(f"\nSee {path}.\n" for path in lost)
        part = replace(part, body=part.body.rstrip("\n") + "\n" + rows)
    return part


def origins_of(skill: Path, units: Iterable[Unit]) -> dict[str, tuple[Origin, ...]]:
    """Unit id -> trajectories of the edits that wrote its lines; {} without a provenance.

    Raises:
        BadInput: if the provenance beside the skill is damaged.
    """
    skill = skill.resolve()
    if not any(p.is_file() for p in (provenance_path(skill), skill.parent / "provenance.json")):
        return {}
    value, provenance, sources = load_skill(skill), read_provenance(skill), read_sources(skill)
    files: dict[str, tuple[Explanation, ...]] = {}
    origins: dict[str, tuple[Origin, ...]] = {}
    for unit in units:
        if unit.file not in files:
            files[unit.file] = explain_file(provenance, value, unit.file)
        first, last = unit.lines
        edits = [line.edit for line in files[unit.file][first - 1 : last]]
        ids = dict.fromkeys(id_ for edit in edits if edit is not None for id_ in edit.sources)
        if ids:
            origins[unit.id] = tuple(
                Origin(
                    trajectory=source.trajectory_id,
                    steps=tuple(sorted({q.step for q in source.quotes if q.step is not None})),
                )
                for source in matching(sources, ids)
            )
    return origins
