"""A skill cut into units that can be taken out one by one, and rendered with any subset of them.

A unit is a list item or table row (rule), a paragraph (section), a block of code or whatever
stands under a heading that speaks of examples (example), a file under `references/` (reference) or
`scripts/` (script). What is left out takes along what only leads to it: a heading whose content is
gone, an introduction that ends in a colon, a sentence that names a file which is out. Frontmatter,
the first heading and all other files stay. Numbers of list items stay, too: others may cite them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from harness.receipts.segments import Block, blocks, is_introduction, sentences
from harness.receipts.units import ALWAYS, Cut, Piece, Segment, Unit, UnitKind
from harness.skills import SKILL_FILE, Skill, count_tokens, mentions, sections

FOLDERS: dict[str, UnitKind] = {"references": "reference", "scripts": "script"}
_KINDS: dict[str, UnitKind] = {"item": "rule", "row": "rule", "code": "example"}
_MARKER = re.compile(r"^ *(?:[-*+]|\d+[.)]) +")


def cut(skill: Skill) -> Cut:
    """Cut a skill into its units, in the order of SKILL.md, then of its files."""
    groups = _file_groups(skill)
    lines = skill.body.split("\n")
    found = blocks(lines)
    offset = skill.header.count("\n")
    units: list[Unit] = []
    owners: dict[int, int] = {}
    for index, block in enumerate(found):
        text = block.text(lines)
        pieces = _pieces(block, text)
        if _leads(found, index, text) or all(_named(piece, groups) for piece in pieces):
            continue
        owners[index] = len(units)
        units.append(_unit(len(units), block, text, offset))
    of_file: dict[str, int] = {}
    for group in sorted(set(groups.values())):
        of_file |= dict.fromkeys(group, len(units))
        units.append(_file_unit(skill, len(units), group))
    needs = {path: frozenset({number}) for path, number in of_file.items()}
    texts = {SKILL_FILE: _segments(lines, found, owners, needs)}
    for path in skill.files:
        text = skill.file_text(path) if path.endswith(".md") else None
        if text is not None and any(mentions(text, other) for other in needs if other != path):
            rows = text.split("\n")
            others = {other: need for other, need in needs.items() if other != path}
            texts[path] = _segments(rows, blocks(rows), None, others)
    return Cut(skill, tuple(units), texts)


def _leads(found: list[Block], index: int, text: str) -> bool:
    """Whether a block only stands there for others: headings, heads of tables, introductions."""
    block = found[index]
    if block.kind in ("heading", "comment", "ruler", "head"):
        return True
    behind = found[index + 1].kind if index + 1 < len(found) else "heading"
    return block.kind == "paragraph" and is_introduction(text) and behind in _LED


_LED = ("item", "code", "row", "head")


def _pieces(block: Block, text: str) -> list[str]:
    if block.kind not in ("item", "paragraph") or "```" in text or "~~~" in text:
        return [text]
    marker = _MARKER.match(text) if block.kind == "item" else None
    return sentences(text[marker.end() :] if marker else text) or [text]


def _unit(number: int, block: Block, text: str, offset: int) -> Unit:
    first, last = offset + block.start + 1, offset + block.end
    kind = "example" if "example" in block.heading.casefold() else _KINDS.get(block.kind, "section")
    return Unit(
        number=number,
        id=f"{SKILL_FILE}:{first}" + (f"-{last}" if last > first else ""),
        kind=kind,
        file=SKILL_FILE,
        lines=(first, last),
        heading=block.heading,
        text=text,
        tokens=count_tokens(text),
    )


def _file_unit(skill: Skill, number: int, group: tuple[str, ...]) -> Unit:
    texts = [skill.file_text(path) or "" for path in group]
    return Unit(
        number=number,
        id=group[0],
        kind=FOLDERS[group[0].partition("/")[0]],
        file=group[0],
        lines=(1, max(1, len(texts[0].removesuffix("\n").split("\n")))),
        text="\n".join(texts),
        tokens=sum(map(count_tokens, texts)),
        files=group,
    )


def _file_groups(skill: Skill) -> dict[str, tuple[str, ...]]:
    """Path -> the files that go with it: those that one sentence names together."""
    paths = [path for path in skill.files if path.partition("/")[0] in FOLDERS and "/" in path]
    group = {path: {path} for path in paths}
    for file in skill.all_files:
        text = skill.body if file == SKILL_FILE else skill.file_text(file)
        if text is None or not file.endswith(".md"):
            continue
        lines = text.split("\n")
        for block in blocks(lines):
            for piece in _pieces(block, block.text(lines)):
                together = [path for path in _named(piece, group) if path != file]
                merged = set[str]().union(*(group[path] for path in together))
                for path in merged:
                    group[path] = merged
    return {path: tuple(sorted(members)) for path, members in group.items()}


def _named(piece: str, paths: Iterable[str]) -> list[str]:
    return [path for path in paths if mentions(piece, path)]


def _segments(
    lines: list[str],
    found: list[Block],
    owners: Mapping[int, int] | None,
    needs: Mapping[str, frozenset[int]],
) -> tuple[tuple[Segment, ...], tuple[str, ...]]:
    """Segments of a text, and the lines behind the last; without owners only files are needed."""
    made: list[Segment] = []
    before = 0
    for index, block in enumerate(found):
        text = block.text(lines)
        own = frozenset({owners[index]}) if owners and index in owners else ALWAYS
        marker = _MARKER.match(text) if block.kind == "item" else None
        pieces = [
            Piece(piece, frozenset[int]().union(*(needs[p] for p in _named(piece, needs))) or own)
            for piece in _pieces(block, text)
        ]
        whole = len(pieces) == 1 and pieces[0].text == text
        made.append(
            Segment(
                tuple(lines[before : block.start]),
                marker.group() if marker and not whole else "",
                tuple(pieces),
            )
        )
        before = block.end
    if owners is not None:
        _lead(lines, found, made)
    return tuple(made), tuple(lines[before:])


def _lead(lines: list[str], found: list[Block], made: list[Segment]) -> None:
    """Give blocks that only lead to others the needs of what they lead to."""
    ends = {one.start: one.end for one in sections(lines)}
    first = next((i for i, block in enumerate(found) if block.kind == "heading"), -1)
    for index in reversed(range(len(found))):
        block = found[index]
        if index == first or not _leads(found, index, block.text(lines)):
            continue
        if block.kind == "heading":
            led = [i for i, one in enumerate(found) if block.end <= one.start < ends[block.start]]
        elif block.kind in ("comment", "ruler"):
            led = []
        else:
            led = _run(found, index)
        needed = [made[i].needs for i in led]
        if not needed or ALWAYS in needed:
            continue
        needs = frozenset[int]().union(*needed)
        pieces = tuple(replace(piece, needs=needs) for piece in made[index].pieces)
        made[index] = replace(made[index], pieces=pieces)


def _run(found: list[Block], index: int) -> list[int]:
    """Numbers of the blocks behind an introduction or head of a table that are of one kind."""
    led = [index + 1] if index + 1 < len(found) else []
    if led and found[led[0]].kind == "head":
        led.append(index + 2)
    if not led or found[led[-1]].kind not in ("item", "row"):
        return led
    for later in range(led[-1] + 1, len(found)):
        if found[later].kind != found[led[-1]].kind:
            break
        led.append(later)
    return led
