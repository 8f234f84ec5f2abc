"""Patches of the official Markdown pipeline: items in words, with brackets or headings as marks."""

from __future__ import annotations

import re

from harness.core import BadInput, Edit, Patch

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


def read_semantic_patch(text: str) -> Patch:
    """One Markdown patch as a patch whose contents are the instructions in words.

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
    mark = _MARK.search(body)
    parts = _pieces(_PART, body[: mark.start()] if mark else body)
    changes = [line.strip().lstrip("-* ") for line in parts.get("changelog", "").split("\n")]
    return Patch(
        reasoning=parts.get("reasoning", ""),
        edits=tuple(edit for item in _items(body) for edit in _edits(item)),
        changelog_entries=tuple(filter(None, changes)),
    )


def _items(body: str) -> list[str]:
    marks = list(_MARK.finditer(body))
    ends = [mark.start() for mark in marks[1:]] + [len(body)]
    pairs = zip(marks, ends, strict=True)
    return [body[m.end() : end] for m, end in pairs if (m[1] or "").upper() != "END"]


def _pieces(pattern: re.Pattern[str], text: str) -> dict[str, str]:
    """The text after each heading up to the next; the first of a name counts."""
    marks = list(pattern.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    found: dict[str, str] = {}
    for mark, end in zip(marks, ends, strict=True):
        found.setdefault(mark[1].lower(), text[mark.end() : end].strip())
    return found


def _edits(item: str) -> list[Edit]:
    fields = _pieces(_FIELD, item)
    files = [name.strip(" `*") for name in fields.get("target file", "").split(",")]
    files = [name for name in files if name]
    instruction = fields.get("change instruction", "")
    if not files or not instruction:
        raise BadInput(
            "expected an item with 'Target File' and 'Change Instruction', got "
            f"{item.strip()[:80]!r}"
        )
    hint = fields.get("location hint", "")
    first, *others = files
    created = bool(others) or bool(_CREATES.search(fields.get("edit intent", "")))
    op = "create" if created and first != "SKILL.md" else "append_to_section"
    section = "" if op == "create" else hint
    edits = [Edit(file=first, op=op, target_section=section, content=instruction)]
    link = f"- See [{first}]({first})."
    return edits + [
        Edit(file=name, op="append_to_section", target_section=hint, content=link)
        for name in others
    ]
