"""Files for workers that do not share the driver's disk: packed once, unpacked by each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ormsgpack
import zstandard

from harness.core import BadInput, digest
from harness.fleet.types import Tree

MOST_BYTES = 256 << 20
"""Of all trees of a run, before compression; more belongs on a disk that all nodes share."""


def pack(trees: Mapping[str, Tree]) -> bytes:
    """Trees as one value.

    Raises:
        BadInput: if they hold more than :data:`MOST_BYTES`, or a file cannot be read.
    """
    room, packed = MOST_BYTES, dict[str, Any]()
    for name, tree in sorted(trees.items()):
        root = tree.root.absolute()
        files = dict[str, tuple[int, bytes]]()
        if tree.only is None:
            paths = sorted(path for path in root.rglob("*") if path.is_file())
        else:
            names = [Path(name) for name in tree.only]
            paths = [
                root / name for name in names if not (name.is_absolute() or ".." in name.parts)
            ]
        for path in paths:
            try:
                content, mode = path.read_bytes(), path.stat().st_mode & 0o777
            except OSError as error:
                raise BadInput(f"cannot read {str(path)!r} for the workers: {error}") from error
            room -= len(content)
            if room < 0:
                raise BadInput(
                    f"the files under {str(root)!r} are more than {MOST_BYTES >> 20} MB, too much "
                    "to send to every node: keep the suite in a folder of its own"
                )
            files[path.relative_to(root).as_posix()] = (mode, content)
        packed[name] = {"folder": root.name or "root", "files": files}
    return zstandard.compress(ormsgpack.packb(packed), 3)


def unpack(packed: bytes, into: Path) -> dict[str, Path]:
    """Write trees below a fresh folder; the root of each, by its name."""
    trees: dict[str, Any] = ormsgpack.unpackb(zstandard.decompress(packed))
    roots = dict[str, Path]()
    for name, tree in trees.items():
        root = into / digest(name)[:8] / str(tree["folder"])
        root.mkdir(parents=True)
        for relative, (mode, content) in tree["files"].items():
            path = root / str(relative)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(mode)
        roots[str(name)] = root
    return roots
