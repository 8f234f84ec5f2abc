"""Intermediates of an evolution under the names and in the form of the official code."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import ValidationError

from harness.core import BadInput, Edit, Patch, Value, first_fault, read_json

_START, _END = "===== PATCH START =====", "===== PATCH END ====="
_MARK = re.compile(
    r"^\s*(?:\[ITEM_\d+_(START|END)\]|#{1,6}\s*\[?ITEM[_ ]?\d+\]?)\s*:?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_PART = re.compile(r"^\s*(?:#+\s*)?(Reasoning|Changelog|Items):[ \t]*", re.MULTILINE)
_FIELD = re.compile(
    r"^[ \t]*(?:[-*][ \t]+)?\**(Target File|Edit Intent|Location Hint|Change Instruction)\**:\**",
    re.IGNORECASE | re.MULTILINE,
)
_CREATES = re.compile(r"\b(?:create|new file|new reference)\b", re.IGNORECASE)


class OfficialPatches(Value):
    """The patches of an evolution.

    Attributes:
        levels: the map patches, then every merge level; each in the order of its file numbers.
        final: the patch that all were merged into, if there is one.
        translated: the same with exact anchors, if the evolution translated it.
        diffs: `applied_diffs.patch`, "" if absent.
    """

    levels: tuple[tuple[Patch, ...], ...]
    final: Patch | None = None
    translated: Patch | None = None
    diffs: str = ""


def read_official_patches(folder: Path) -> OfficialPatches:
    """Read a folder of intermediates.

    Raises:
        BadInput: if there are no map patches, or a file is no patch (it is named).
    """

    def number(path: Path) -> tuple[int, str]:
        digits = re.search(r"\d+$", path.stem)
        return (int(digits[0]) if digits else 0, path.name)

    def patch_in(path: Path) -> Patch:
        try:
            return Patch.model_validate(read_json(path))
        except ValidationError as error:
            raise BadInput(f"{str(path)!r}: {first_fault(error)}: expected a patch") from error

    files = [sorted((folder / "map_patches").glob("patch_*.json"), key=number)]
    if not files[0]:
        raise BadInput(f"{str(folder)!r}: expected map_patches/patch_0001.json and so on")
    merges = (path for path in folder.glob("merge_level_*") if path.is_dir())
    files += [
        sorted(merge.glob("merged_*.json"), key=number) for merge in sorted(merges, key=number)
    ]
    single = {name: folder / f"{name}_patch.json" for name in ("final", "translated_final")}
    final, translated = (patch_in(path) if path.is_file() else None for path in single.values())
    diffs = folder / "applied_diffs.patch"
    return OfficialPatches(
        levels=tuple(tuple(map(patch_in, level)) for level in files),
        final=final,
        translated=translated,
        diffs=diffs.read_text("utf-8", errors="replace") if diffs.is_file() else "",
    )


def read_semantic_patch(text: str) -> Patch:
    """One patch of the official Markdown pipeline: its contents are instructions in words.

    An item that names several files gives one edit for the first, and for every other file a
    link to the first. A file that the item creates becomes `create`, all else an addition to the
    section that the location hint names.

    Raises:
        BadInput: if the marks of a patch are missing, or an item lacks its file or instruction.
    """
    text = text.replace("\r\n", "\n")
    start, end = text.find(_START), text.rfind(_END)
    if start < 0 or end < start:
        raise BadInput(f"expected a patch between {_START!r} and {_END!r}, got {text[:60]!r}")
    body = text[start + len(_START) : end]
    marks = list(_MARK.finditer(body))
    ends = [mark.start() for mark in marks[1:]] + [len(body)]
    edits: list[Edit] = []
    for mark, stop in zip(marks, ends, strict=True):
        if (mark[1] or "").upper() == "END":
            continue
        item = body[mark.end() : stop]
        fields = _pieces(_FIELD, item)
        names = [name.strip(" `*") for name in fields.get("target file", "").split(",")]
        files = list(filter(None, names))
        instruction = fields.get("change instruction", "")
        if not files or not instruction:
            expected = "expected an item with 'Target File' and 'Change Instruction'"
            raise BadInput(f"{expected}, got {item.strip()[:80]!r}")
        hint, (first, *linking) = fields.get("location hint", ""), files
        creates = linking or _CREATES.search(fields.get("edit intent", ""))
        op, section = ("append_to_section", hint)
        if first != "SKILL.md" and creates:
            op, section = ("create", "")
        edits.append(Edit(file=first, op=op, target_section=section, content=instruction))
        link = {"op": "append_to_section", "content": f"- See [{first}]({first})."}
        edits += [
            Edit.model_validate({"file": name, "target_section": hint, **link}) for name in linking
        ]
    parts = _pieces(_PART, body[: marks[0].start()] if marks else body)
    changes = [line.strip().lstrip("-* ") for line in parts.get("changelog", "").split("\n")]
    return Patch(
        reasoning=parts.get("reasoning", ""),
        edits=tuple(edits),
        changelog_entries=tuple(filter(None, changes)),
    )


def _pieces(pattern: re.Pattern[str], text: str) -> dict[str, str]:
    """The text after each heading up to the next; the first of a name counts."""
    marks = list(pattern.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    pieces: dict[str, str] = {}
    for mark, end in zip(marks, ends, strict=True):
        pieces.setdefault(mark[1].lower(), text[mark.end() : end].strip())
    return pieces
