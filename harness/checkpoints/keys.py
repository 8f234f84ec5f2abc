"""Keys of rows: numbers that follow from what the row holds."""

from __future__ import annotations

import hashlib

MASK = (1 << 61) - 1
"""Keys have 61 bits, so that a reference (twice a key plus one) is an SQLite integer."""

CheckpointKey = tuple[str, str, str]
"""Thread, namespace, checkpoint id."""


def blob_key(kind: str, data: bytes | bytearray) -> int:
    """Of a serialised value; two values of one key are told apart when they are stored."""
    digest = hashlib.blake2b(data, digest_size=8, person=kind.encode()[:16]).digest()
    return int.from_bytes(digest, "big") & MASK or 1


def node_key(parent: int, blob: int) -> int:
    """Of the list `parent` with `blob` appended."""
    return blob_key("node", b"%d,%d" % (parent, blob))


def head_key(key: CheckpointKey) -> int:
    """Of a checkpoint, for its writes."""
    return blob_key("head", "\0".join(key).encode())
