"""Compression of stored bytes, where it saves something."""

from __future__ import annotations

import threading

import zstandard

SMALLEST = 160
"""Bytes; shorter values are stored as they are."""


class _Local(threading.local):
    """zstd contexts must not be shared by threads."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=1)
        self.decompressor = zstandard.ZstdDecompressor()


_local = _Local()


def pack(data: bytes) -> tuple[bool, bytes]:
    """`data` compressed if that saves a tenth of it, and whether it was."""
    if len(data) < SMALLEST:
        return False, data
    packed = _local.compressor.compress(data)
    return (True, packed) if len(packed) * 10 < len(data) * 9 else (False, data)


def unpack(data: bytes) -> bytes:
    """What :func:`pack` compressed."""
    return _local.decompressor.decompress(data)
