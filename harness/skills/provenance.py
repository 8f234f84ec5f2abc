"""Which trajectories each line of a skill comes from. Kept beside the skill, never in its text.

A line is known by its digest and its occurrence, not its number, so that moving lines around does
not lose their origin.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from harness.core import BadInput, Edit, write_atomic
from harness.core.values import Value
from harness.skills.io import load_skill
from harness.skills.sources import Source, matching, read_sources
from harness.skills.types import SKILL_FILE, ApplyResult, Skill


class LineOrigin(Value):
    """Lines of one file that one edit wrote.

    Attributes:
        lines: (digest of the line, occurrence of that line in the file from 0), in order.
    """

    file: str
    edit: int
    lines: tuple[tuple[str, int], ...]


class Provenance(Value):
    """The origin of a skill's lines.

    Attributes:
        skill: digest of the skill directory that it describes.
        parent: digest of the skill that the edits were applied to first.
        edits: every edit that wrote a line, with `sources` and `support`.
        gate: what a gate said of the skill on tasks that no analyst saw: `accepted`, `refused`,
            `none` where no gate was run or it could not tell; "" where nobody noted it.
    """

    skill: str
    parent: str
    edits: tuple[Edit, ...] = ()
    origins: tuple[LineOrigin, ...] = ()
    gate: Literal["", "accepted", "refused", "none"] = ""


class Explanation(Value):
    """What is known of one line.

    Attributes:
        line: in `file`, from 1.
        edit: None for text of the skill before any patch.
        records: of the analysts, for each source of the edit.
    """

    file: str
    line: int
    text: str
    edit: Edit | None = None
    records: tuple[Source, ...] = ()


def provenance_of(
    result: ApplyResult, parent: Skill, earlier: Provenance | None = None
) -> Provenance:
    """The origin of every line of `result.skill`; `earlier` is that of `parent`, carried over."""
    edits = list(earlier.edits) if earlier else []
    numbers: dict[int, int] = {}
    for one in result.applied:
        if one.changed:
            numbers[one.index] = len(edits)
            edits.append(one.edit)
    known = _by_line(earlier) if earlier else {}
    rows: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for file in result.skill.all_files:
        text = result.skill.file_text(file)
        owners = result.lines.get(file, ())
        for index, key in enumerate([] if text is None else _keys(text)):
            owner = owners[index] if index < len(owners) else None
            number = numbers.get(owner) if owner is not None else known.get((file, key))
            if number is not None:
                rows.setdefault((file, number), []).append(key)
    origins = [
        LineOrigin(file=file, edit=number, lines=tuple(keys))
        for (file, number), keys in sorted(rows.items())
    ]
    return Provenance(
        skill=result.skill.digest,
        parent=earlier.parent if earlier else parent.digest,
        edits=tuple(edits),
        origins=tuple(origins),
    )


def explain(provenance: Provenance, skill: Skill, file: str, line: int) -> Explanation:
    """Where line `line` (from 1) of `file` comes from.

    Raises:
        BadInput: if there is no such file or line.
    """
    lines = explain_file(provenance, skill, file)
    if not 1 <= line <= len(lines):
        raise BadInput(f"{file} has lines 1 to {len(lines)}, not {line}")
    return lines[line - 1]


def explain_file(provenance: Provenance, skill: Skill, file: str) -> tuple[Explanation, ...]:
    """Where every line of `file` comes from, in order.

    Raises:
        BadInput: if there is no such file.
    """
    text = skill.file_text(file)
    if text is None:
        raise BadInput(f"no text file {file!r} in skill {skill.name!r}")
    written, keys = _by_line(provenance), _keys(text)
    numbers = [written.get((file, key)) for key in keys]
    return tuple(
        Explanation(
            file=file,
            line=at,
            text=line,
            edit=None if number is None else provenance.edits[number],
        )
        for at, (line, number) in enumerate(
            zip(text.removesuffix("\n").split("\n"), numbers, strict=True), start=1
        )
    )


def provenance_path(skill: Path) -> Path:
    """Where the provenance of the skill directory `skill` lies: beside it."""
    return skill.parent / f"{skill.name}.provenance.json"


def write_provenance(provenance: Provenance, skill: Path) -> Path:
    """Write `<skill>.provenance.json` beside the skill directory."""
    path = provenance_path(skill)
    value = provenance.model_dump(mode="json")
    write_atomic(path, json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n")
    return path


def read_provenance(skill: Path) -> Provenance:
    """Read the provenance that lies beside a skill directory (or `provenance.json` there).

    Raises:
        BadInput: if there is none, or it is damaged.
    """
    for path in (provenance_path(skill), skill.parent / "provenance.json"):
        if path.is_file():
            try:
                return Provenance.model_validate_json(path.read_bytes())
            except ValidationError as error:
                reason = error.errors()[0]["msg"]
                raise BadInput(f"{str(path)!r} is no provenance file: {reason}") from error
    raise BadInput(f"no provenance beside {str(skill)!r}: was it written by `harness evolve`?")


def _keys(text: str) -> list[tuple[str, int]]:
    """(digest, occurrence) of every line of a file's text."""
    seen: Counter[str] = Counter()
    keys: list[tuple[str, int]] = []
    for line in text.removesuffix("\n").split("\n"):
        tag = hashlib.sha256(line.strip().encode()).hexdigest()[:16]
        keys.append((tag, seen[tag]))
        seen[tag] += 1
    return keys


def _by_line(provenance: Provenance) -> dict[tuple[str, tuple[str, int]], int]:
    return {
        (origin.file, key): origin.edit for origin in provenance.origins for key in origin.lines
    }


def explain_place(place: str) -> Explanation:
    """Explain `path/to/skill/FILE:LINE`: its edit, the analysts' records, the steps they quote.

    The provenance lies beside the skill, the records where :func:`read_sources` looks.

    Raises:
        BadInput: if the place is malformed, in no skill, or there is no provenance.
    """
    name, _, number = place.rpartition(":")
    if not name or not number.isdecimal():
        raise BadInput(f"expected FILE:LINE, got {place!r}")
    path = Path(name).resolve()
    root = next((one for one in path.parents if (one / SKILL_FILE).is_file()), None)
    if root is None:
        raise BadInput(f"{name!r} lies in no skill directory (no SKILL.md above it)")
    file = path.relative_to(root).as_posix()
    found = explain(read_provenance(root), load_skill(root), file, int(number))
    if found.edit is None:
        return found
    records = matching(read_sources(root), found.edit.sources)
    return found.model_copy(update={"records": records})
