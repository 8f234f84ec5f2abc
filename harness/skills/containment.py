"""Which files of a skill a patch may touch."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from harness.core import Edit
from harness.skills.document import Withhold
from harness.skills.types import SKILL_FILE

# Text that clients read. Scripts are code that runs: no patch writes one.
EXTENSIONS = frozenset({".md", ".txt", ".csv", ".json", ".yaml", ".yml"})
FOLDERS = frozenset({"references", "assets"})
_PROTECTED = re.compile(r"(?i)^(?:licen[cs]e|notice|copying|provenance)\b.*$")
_PART = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")


def contained(edit: Edit, existing: frozenset[str]) -> str:
    """The path of the file to edit, normalised.

    Raises:
        Withhold: if the path leaves the skill, is protected or of a kind no patch may write.
    """
    path = edit.file.strip().removeprefix("./")
    parts = path.split("/")
    if not all(_PART.match(part) for part in parts):
        raise Withhold(f"path {edit.file!r} is not a plain path inside the skill")
    if path == SKILL_FILE:
        if edit.op in ("create", "delete_file"):
            raise Withhold("SKILL.md is protected: it can be neither created nor deleted")
        return path
    if path.casefold() == SKILL_FILE.casefold() or _PROTECTED.match(parts[-1]):
        raise Withhold(f"{path!r} is protected")
    if PurePosixPath(path).suffix.lower() not in EXTENSIONS:
        raise Withhold(f"{path!r}: patches write {', '.join(sorted(EXTENSIONS))} only")
    if edit.op != "create":
        if path not in existing:
            raise Withhold(f"no file {path!r} in the skill")
        return path
    if len(parts) != 2 or parts[0] not in FOLDERS:
        raise Withhold(f"{path!r}: new files lie directly under references/ or assets/")
    clash = next((o for o in existing if o != path and o.casefold() == path.casefold()), None)
    if clash:
        raise Withhold(f"{path!r} differs from {clash!r} by case only")
    return path
