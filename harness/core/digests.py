"""Content digests: the identity of everything that a run depends on."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


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
