"""Intermediates of an evolution under the names and in the form of the official code."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import to_json

from harness.core import BadInput, Patch, Value, first_fault, read_foreign, read_json

# Fields of an official edit.
OFFICIAL_FIELDS = {
    "file", "op", "target_section", "target_text", "content", "old_text", "after_section",
}  # fmt: skip


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
        diffs=read_foreign(diffs).decode("utf-8", errors="replace") if diffs.is_file() else "",
    )


def write_official_patches(patches: OfficialPatches, folder: Path) -> None:
    """Write a folder of intermediates as the official code does, swapped in as a whole.

    An edit has exactly the official fields, and `sources` and `support` where it has sources.
    """
    files: dict[str, Patch | None] = {
        "final_patch.json": patches.final,
        "translated_final_patch.json": patches.translated,
    }
    for level, merged in enumerate(patches.levels):
        stem = f"merge_level_{level}/merged" if level else "map_patches/patch"
        files |= {f"{stem}_{number:04d}.json": patch for number, patch in enumerate(merged, 1)}
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".writing-") as scratch:
        built = Path(scratch) / "built"
        built.mkdir()
        for name, patch in files.items():
            if patch is None:
                continue
            edits = [
                edit.model_dump(
                    mode="json",
                    include=OFFICIAL_FIELDS | ({"sources", "support"} if edit.sources else set()),
                )
                for edit in patch.edits
            ]
            fields = patch.model_dump(mode="json", exclude={"edits"})
            document = {"reasoning": fields.pop("reasoning"), "edits": edits, **fields}
            (built / name).parent.mkdir(exist_ok=True)
            (built / name).write_bytes(to_json(document, indent=2))  # ten times as fast as json
        if patches.diffs:
            (built / "applied_diffs.patch").write_bytes(patches.diffs.encode("utf-8"))
        if folder.exists():
            folder.rename(Path(scratch) / "old")
        shutil.move(built, folder)
