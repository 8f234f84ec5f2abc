"""Intermediates of an evolution under the names and in the form of the official code."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.core import BadInput, Edit, Patch, Value, first_fault, read_json

_FIELDS = (
    "file",
    "op",
    "target_section",
    "target_text",
    "content",
    "old_text",
    "after_section",
)
_NUMBER = re.compile(r"(\d+)$")


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
    files = sorted((folder / "map_patches").glob("patch_*.json"), key=_number)
    if not files:
        raise BadInput(f"{str(folder)!r}: expected map_patches/patch_0001.json and so on")
    levels = [tuple(_read(file) for file in files)]
    merges = [path for path in folder.glob("merge_level_*") if path.is_dir()]
    levels += [
        tuple(_read(file) for file in sorted(merge.glob("merged_*.json"), key=_number))
        for merge in sorted(merges, key=_number)
    ]
    diffs = folder / "applied_diffs.patch"
    return OfficialPatches(
        levels=tuple(levels),
        final=_optional(folder / "final_patch.json"),
        translated=_optional(folder / "translated_final_patch.json"),
        diffs=diffs.read_text("utf-8", errors="replace") if diffs.is_file() else "",
    )


def write_official_patches(patches: OfficialPatches, folder: Path) -> None:
    """Write a folder of intermediates, swapped in as a whole.

    An edit has exactly the official fields, and `sources` and `support` where it has sources.
    """
    files: dict[str, str] = {}
    for name, patch in (
        ("final_patch.json", patches.final),
        ("translated_final_patch.json", patches.translated),
    ):
        if patch is not None:
            files[name] = _text(patch)
    for level, found in enumerate(patches.levels):
        stem = f"merge_level_{level}/merged" if level else "map_patches/patch"
        for number, patch in enumerate(found, start=1):
            files[f"{stem}_{number:04d}.json"] = _text(patch)
    if patches.diffs:
        files["applied_diffs.patch"] = patches.diffs
    _swap_in(files, folder)


def _swap_in(files: dict[str, str], folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".writing-") as scratch:
        built = Path(scratch) / "built"
        built.mkdir()
        for name, text in files.items():
            path = built / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8"))
        if folder.exists():
            folder.rename(Path(scratch) / "old")
        shutil.move(built, folder)


def _optional(path: Path) -> Patch | None:
    return _read(path) if path.is_file() else None


def _read(path: Path) -> Patch:
    try:
        return Patch.model_validate(read_json(path))
    except ValidationError as error:
        raise BadInput(f"{str(path)!r}: {first_fault(error)}: expected a patch") from error


def _number(path: Path) -> tuple[int, str]:
    found = _NUMBER.search(path.stem)
    return (int(found[1]) if found else 0, path.name)


def _text(patch: Patch) -> str:
    plain = patch.model_dump(mode="json", exclude={"edits"})
    plain = {"reasoning": plain.pop("reasoning"), "edits": _edits(patch.edits), **plain}
    return json.dumps(plain, ensure_ascii=False, indent=2)


def _edits(edits: Sequence[Edit]) -> list[dict[str, Any]]:
    return [
        edit.model_dump(
            mode="json", include={*_FIELDS, *(("sources", "support") * bool(edit.sources))}
        )
        for edit in edits
    ]
