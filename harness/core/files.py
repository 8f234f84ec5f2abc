"""Files that are whole or absent, digests of what a run depends on, and the cache folder."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.core.errors import BadInput


def write_atomic(path: Path, data: bytes | str | Iterable[str]) -> None:
    """Replace `path` by `data` in one step: after a kill or a full disk, old or new, never half.

    Parts of a long text are written as they come.

    Raises:
        BadInput: if the folder cannot be written or the disk is full.
    """
    parts = (data,) if isinstance(data, (bytes, str)) else data
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as stream:
            for part in parts:
                stream.write(part.encode() if isinstance(part, str) else part)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        raise BadInput(f"cannot write {str(path)!r}: {error.strerror}") from error


def canonical_json(value: Any) -> str:
    """Render `value` as JSON with sorted keys and no spaces, the same bytes every time.

    Raises:
        TypeError: if `value` holds something JSON has no form for.
        ValueError: if `value` holds NaN or an infinity.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def digest(value: Any) -> str:
    """SHA-256 of a JSON value (or of raw bytes) as 64 hexadecimal characters."""
    data = value if isinstance(value, bytes) else canonical_json(value).encode()
    return hashlib.sha256(data).hexdigest()


def digest_file(path: Path) -> str:
    """SHA-256 of a file's bytes, read in blocks so that its size does not matter."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def digest_tree(root: Path) -> str:
    """Digest of a directory: relative POSIX paths and contents of its files, sorted.

    Names of empty directories, modes and times do not count.
    """
    files = sorted(path for path in root.rglob("*") if path.is_file())
    return digest({path.relative_to(root).as_posix(): digest_file(path) for path in files})


def cache_root() -> Path:
    """`HARNESS_CACHE`, else `agent-skill-harness` in the user's cache folder (XDG)."""
    chosen = os.environ.get("HARNESS_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "agent-skill-harness"
