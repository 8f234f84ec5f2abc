"""Files in an inspect `.eval` archive, each bounded; deflate, and zstd where installed."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.core import BadInput
from harness.trajectories.lenient import load

MAX_ENTRY = 256 * 2**20
"""Bytes of one sample once unpacked."""
_ZSTD = 93
_LOCAL_HEADER = 30


@contextmanager
def archive(path: Path) -> Generator[zipfile.ZipFile]:
    """An open archive.

    Raises:
        BadInput: if it is no zip archive, or breaks while it is read.
    """
    try:
        with zipfile.ZipFile(path) as opened:
            yield opened
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError) as error:
        raise BadInput(f"{str(path)!r}: expected an inspect log (zip): {error}") from error
    except (NotImplementedError, RuntimeError, OverflowError) as error:
        raise BadInput(f"{str(path)!r}: cannot unpack: {error}") from error


def read_entry(opened: zipfile.ZipFile, name: str) -> Any:
    """The JSON of an entry; None if it is none. Scores that inspect writes as NaN are null.

    Raises:
        BadInput: if the entry is absent or too large, or zstd is needed and not installed.
    """
    try:
        info = opened.getinfo(name)
    except KeyError as error:
        raise BadInput(f"{opened.filename}: expected {name!r} in the archive") from error
    where = f"{opened.filename}: {name}"
    if info.compress_type == _ZSTD:
        return load(_unzstd(opened, info, where), lacking=True)
    with opened.open(info) as handle:
        raw = handle.read(MAX_ENTRY + 1)
    return load(_bounded(raw, where), lacking=True)


def _bounded(raw: bytes, where: str) -> bytes:
    if len(raw) > MAX_ENTRY:
        raise BadInput(f"{where}: more than {MAX_ENTRY:,} bytes unpacked: export it as JSON lines")
    return raw


def _unzstd(opened: zipfile.ZipFile, info: zipfile.ZipInfo, where: str) -> bytes:
    try:
        import zstandard
    except ImportError as error:
        raise BadInput(
            f"{where} is packed with zstd: install the package 'zstandard', or convert the log "
            "with `inspect log convert --to json`"
        ) from error
    with Path(str(opened.filename)).open("rb") as handle:
        handle.seek(info.header_offset)
        # Lengths of name and extra field stand at the end of the local header.
        lengths = struct.unpack("<HH", handle.read(_LOCAL_HEADER)[-4:])
        handle.seek(sum(lengths), 1)
        try:
            with zstandard.ZstdDecompressor().stream_reader(handle) as reader:
                return _bounded(reader.read(MAX_ENTRY + 1), where)
        except zstandard.ZstdError as error:
            raise BadInput(f"{where}: {error}") from error
