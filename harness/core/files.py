"""Files that are whole or absent."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from harness.core.errors import BadInput


def write_atomic(path: Path, data: bytes | str) -> None:
    """Replace `path` by `data` in one step: after a kill or a full disk, old or new, never half.

    Raises:
        BadInput: if the folder cannot be written or the disk is full.
    """
    raw = data.encode() if isinstance(data, str) else data
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as stream:
            stream.write(raw)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise BadInput(f"cannot write {str(path)!r}: {error.strerror}") from error
