"""Append-only record files that survive a kill.

A segment is a sequence of frames: 4 bytes length, 4 bytes CRC-32 (both little-endian), then a
zstd-compressed JSON record. A torn last frame, and zeros in the place of frames at the end, are
dropped on opening and reported; a frame that is damaged in the middle is an error, because records
behind it would be lost silently.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

import zstandard

from harness.core.errors import BadInput
from harness.core.files import (
    OWN_FILE,
    STREAMED_BYTES,
    decoding,
    decompressed,
    open_foreign,
    private_folder,
)

_HEADER = struct.Struct("<II")
_ZSTD = b"\x28\xb5\x2f\xfd"  # begins what is compressed


class SegmentWriter:
    """Appends records to one file; one writer at a time (the run directory holds the lock).

    Attributes:
        dropped_bytes: length of the torn tail that was cut off when the file was opened.
    """

    def __init__(self, path: Path) -> None:
        private_folder(path.parent)
        self._path = path
        end = size = 0
        if path.exists():
            size = path.stat().st_size
            with open_foreign(path, STREAMED_BYTES) as handle:
                end = sum(_HEADER.size + len(payload) for payload in _frames(handle, path))
        self.dropped_bytes = size - end
        # Unbuffered: a buffer would try again to write what did not fit on the disk.
        # No link is followed: what seems torn is cut off, and the file may be anybody's.
        flags = os.O_RDWR | os.O_CREAT | OWN_FILE
        self._handle = os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0)
        self._handle.truncate(end)
        self._handle.seek(end)
        self._end = end
        self._compressor = zstandard.ZstdCompressor(level=3)

    def append(self, record: Any, *, sync: bool = True) -> int:
        """Write one record; its byte offset, for :func:`read_at`.

        Args:
            record: of JSON values.
            sync: wait until it is on the disk; else it survives a kill of this process at once,
                and a loss of power after :meth:`sync`.

        Raises:
            BadInput: if the disk is full; what had been written before stays intact.
        """
        # Half a character, which a check or an agent may write, has no form in UTF-8.
        text = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")
        payload = self._compressor.compress(text)
        frame = _HEADER.pack(len(payload), zlib.crc32(payload)) + payload
        try:
            unwritten = memoryview(frame)
            while unwritten:  # a disk that gets full takes a part
                unwritten = unwritten[self._handle.write(unwritten) :]
            if sync:
                os.fsync(self._handle.fileno())
        except OSError as error:
            os.ftruncate(self._handle.fileno(), self._end)
            self._handle.seek(self._end)
            raise self._full(error) from error
        offset, self._end = self._end, self._end + len(frame)
        return offset

    def sync(self) -> None:
        """Wait until what was written is on the disk; another thread may go on writing.

        Raises:
            BadInput: if the disk is full.
        """
        try:
            os.fsync(self._handle.fileno())
        except OSError as error:
            raise self._full(error) from error

    def _full(self, error: OSError) -> BadInput:
        return BadInput(
            f"cannot write {str(self._path)!r}: {error.strerror}; free space, then resume"
        )

    def close(self) -> None:
        """Close the file."""
        self._handle.close()


def read_segment(path: Path) -> Iterator[Any]:
    """Yield the records of a segment, passing over a torn tail.

    Raises:
        BadInput: if a frame before the last one is damaged.
    """
    return (record for _, record in read_placed(path))


def read_latest(path: Path, name: str) -> Iterator[Any]:
    """The last record of every value of the field `name`, in the order of the file.

    An attempt that was invalid and made again, after a full disk for instance, has left several.
    Records without the field are all there.

    Raises:
        BadInput: if a frame before the last one is damaged.
    """
    latest: dict[Any, int] = {}
    for offset, record in read_placed(path):
        fields = cast("dict[str, Any]", record) if isinstance(record, dict) else {}
        label = fields.get(name)
        latest[str(label) if label else offset] = offset
    return (read_at(path, offset) for offset in sorted(latest.values()))


def read_placed(path: Path, start: int = 0) -> Iterator[tuple[int, Any]]:
    """Read a segment like :func:`read_segment`, with the byte offsets for :func:`read_at`.

    Args:
        path: the segment.
        start: offset of the first record that is read: where an earlier reading ended.

    Raises:
        BadInput: if a frame before the last one is damaged.
    """
    if not path.exists():
        return
    with open_foreign(path, STREAMED_BYTES) as handle:
        handle.seek(start)
        for payload in _frames(handle, path):
            with decoding(f"{path}, byte {start}"):
                record = json.loads(decompressed(payload))
            yield start, record
            start += _HEADER.size + len(payload)


def read_at(path: Path, offset: int) -> Any:
    """The record whose frame begins at byte `offset`.

    Raises:
        BadInput: if no whole record lies there.
    """
    with open_foreign(path, STREAMED_BYTES) as handle:
        handle.seek(offset)
        for payload in _frames(handle, path):
            with decoding(f"{path}, byte {offset}"):
                return json.loads(decompressed(payload))
    raise BadInput(f"{str(path)!r} is damaged at byte {offset}")


def only_writer(folder: Path) -> TextIO:
    """Take the writer's lock of a folder, which the system gives back however the process ends.

    Raises:
        BadInput: if another process holds it, or the folder cannot be written.
    """
    try:
        private_folder(folder)
        lock = os.open(folder / "writer.lock", os.O_RDWR | os.O_CREAT | OWN_FILE, 0o600)
        guard = os.fdopen(lock, "r+")
    except OSError as error:
        raise BadInput(f"cannot write the folder {str(folder)!r}: {error.strerror}") from error
    try:
        fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        guard.close()
        raise BadInput(f"another process is writing {str(folder)!r}: wait or stop it") from error
    return guard


def _frames(handle: BinaryIO, path: Path) -> Iterator[bytes]:
    while len(header := handle.read(_HEADER.size)) == _HEADER.size:
        length, crc = _HEADER.unpack(header)
        if length > os.fstat(handle.fileno()).st_size - handle.tell():
            begun = handle.read(len(_ZSTD))
            if not _ZSTD.startswith(begun) and begun.strip(b"\0"):
                raise BadInput(f"{str(path)!r} is damaged at byte {handle.tell() - len(begun)}")
            return
        payload = handle.read(length)
        if not length or zlib.crc32(payload) != crc:  # no record is empty
            offset = handle.tell() - length
            # What was not synced at a loss of power may be there as zeros.
            if not any(piece.strip(b"\0") for piece in iter(lambda: handle.read(1 << 20), b"")):
                return
            raise BadInput(f"{str(path)!r} is damaged at byte {offset}")
        yield payload
