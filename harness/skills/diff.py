"""What changed between two skills, as one unified diff over all files."""

from __future__ import annotations

import difflib
import hashlib

from harness.skills.types import Skill


def diff(a: Skill, b: Skill) -> str:
    """Unified diff from `a` to `b`; "" if they are equal. Binary files are named with digests."""
    before, after = a.all_files, b.all_files
    parts: list[str] = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old != new:
            parts.append(_one(path, old, new))
        elif (path in a.executable) != (path in b.executable):
            parts.append(f"mode of {path} changed\n")
    return "".join(parts)


def _one(path: str, old: bytes | None, new: bytes | None) -> str:
    try:
        lines = [(data or b"").decode().splitlines(keepends=True) for data in (old, new)]
    except UnicodeDecodeError:
        return f"binary {path}: {_short(old)} -> {_short(new)}\n"
    names = [
        "/dev/null" if data is None else f"{side}/{path}" for side, data in (("a", old), ("b", new))
    ]
    rows = difflib.unified_diff(lines[0], lines[1], names[0], names[1])
    return "".join(
        row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n" for row in rows
    )


def _short(data: bytes | None) -> str:
    return "absent" if data is None else hashlib.sha256(data).hexdigest()[:12]
