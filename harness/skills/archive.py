"""A skill as one zip, the same bytes every time."""

from __future__ import annotations

import io
import zipfile

from harness.skills.types import Skill
from harness.skills.write import strict

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can hold


def pack(skill: Skill, folder: bool = True) -> bytes:
    """The zip of a skill: sorted names, fixed times and modes.

    Args:
        skill: the skill.
        folder: names lie under `<name>/`, as `.skill` files have them; else at the root.
    """
    prefix = f"{skill.name}/" if folder else ""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, data in strict(skill).all_files.items():
            entry = zipfile.ZipInfo(f"{prefix}{path}", _EPOCH)
            entry.create_system = 3  # Unix, so that modes count on every machine
            entry.external_attr = (0o100755 if path in skill.executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return buffer.getvalue()
