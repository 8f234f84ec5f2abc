"""The files that workers need, as one value that is sent to every node once."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.core import BadInput, inside, read_foreign

MOST_BYTES = 256 << 20
"""Of all trees of a run, before compression; more belongs on a disk that all nodes share."""


@dataclass(frozen=True)
class Tree:
    """Files that workers need.

    Attributes:
        root: folder.
        only: paths below it that count; None takes all.
    """

    root: Path
    only: tuple[str, ...] | None = None


def pack(trees: Mapping[str, Tree]) -> bytes:
    """Trees as one archive.

    Raises:
        BadInput: if they hold more than :data:`MOST_BYTES`, or a file cannot be read.
    """
    room, packed = MOST_BYTES, io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
        for name, tree in trees.items():
            root = tree.root.absolute()
            folder = tarfile.TarInfo(f"{name}/{root.name or 'root'}")
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(folder)
            paths = sorted(path for path in root.rglob("*") if path.is_file())
            if tree.only is not None:
                inner = (Path(name) for name in tree.only)
                paths = [root / path for path in inner if ".." not in path.parts]
            for path in paths:
                if inside(root, path) is None:  # a link that leads out, or a path elsewhere
                    continue
                try:
                    content, mode = read_foreign(path), path.stat().st_mode & 0o777
                except OSError as error:
                    raise BadInput(f"cannot read {str(path)!r} for the workers: {error}") from error
                room -= len(content)
                if room < 0:
                    raise BadInput(
                        f"the files under {str(root)!r} are more than {MOST_BYTES >> 20} MB, too "
                        "much to send to every node: keep the suite in a folder of its own"
                    )
                file = tarfile.TarInfo(f"{folder.name}/{path.relative_to(root).as_posix()}")
                file.size, file.mode = len(content), mode
                archive.addfile(file, io.BytesIO(content))
    return packed.getvalue()


def unpack(packed: bytes, into: Path) -> dict[str, Path]:
    """Write trees below a fresh folder; the root of each, by its name."""
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(into, filter="data")
    return {folder.name: next(folder.iterdir()) for folder in into.iterdir()}
