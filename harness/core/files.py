"""Files that are whole, absent or damaged, files that a stranger's program left, and digests.

A *work folder* is one in which code ran that nobody has vouched for. What lies there may be a link
to a key, a pipe that never ends, a file of any size, or folders nested without end: it is read,
written and removed by the functions here alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
import tempfile
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import Any

from harness.core.errors import DISK, BadInput, HarnessError

WORK_FILE_BYTES = 50_000_000
"""The largest file that is read from a work folder."""
MOST_UNPACKED = 1 << 29
"""Bytes of one record or value that lies compressed."""
_LOCAL = threading.local()
OWN_FILE = os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags for opening what must be neither a link nor a pipe that nobody else holds."""
FOREIGN_BYTES = 256 << 20
"""Of a file from elsewhere that is read as a whole."""
STREAMED_BYTES = 1 << 36
"""Of a file that is read piece by piece: weights of models have tens of gigabytes."""
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)


class UnfitFile(ValueError):
    """A file of a work folder that is not read; the message names it and says why."""


_UNENCODABLE = "backslashreplace"  # names that are no UTF-8: JSON reads them as the same name


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
                stream.write(part.encode(errors=_UNENCODABLE) if isinstance(part, str) else part)
            stream.flush()
            os.fsync(stream.fileno())
        # As private as its folder: a run's is its owner's alone.
        Path(temporary).chmod(0o644 & stat.S_IMODE(path.parent.stat().st_mode))
        Path(temporary).replace(path)
    except BaseException as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        remedy = DISK.get(error.errno or 0, "")
        raise BadInput(f"cannot write {str(path)!r}: {error.strerror}{remedy}") from error


def write_json(path: Path, document: Any) -> None:
    """Replace `path` by a JSON document for people to read, in one step."""
    write_atomic(path, json.dumps(document, ensure_ascii=False, indent=1) + "\n")


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
    data = value if isinstance(value, bytes) else canonical_json(value).encode(errors=_UNENCODABLE)
    return hashlib.sha256(data).hexdigest()


def open_foreign(path: Path, most: int = FOREIGN_BYTES) -> BufferedReader:
    """Open a file that may come from elsewhere for reading: an ordinary one of limited size.

    A pipe has no end and a device none either; a sparse file of a tebibyte takes no disk.

    Args:
        path: links are followed.
        most: bytes that it may have.

    Raises:
        BadInput: for another kind of file, or a longer one.
        OSError: if it cannot be opened.
    """
    waiting = getattr(os, "O_NONBLOCK", 0)  # a pipe would be waited for
    descriptor = os.open(path, os.O_RDONLY | waiting | getattr(os, "O_BINARY", 0))
    status = os.fstat(descriptor)
    ordinary = stat.S_ISREG(status.st_mode)
    if ordinary and status.st_size <= most:
        return open(path, "rb", opener=lambda name, flags: descriptor)  # keeps the name
    os.close(descriptor)
    kind = f"{status.st_size:,} bytes" if ordinary else "no ordinary file"
    raise BadInput(
        f"{str(path)!r}: expected an ordinary file of at most {most >> 20:,} MiB, found {kind}"
    )


def read_foreign(path: Path, most: int = FOREIGN_BYTES) -> bytes:
    """Content of a file that may come from elsewhere: see :func:`open_foreign`."""
    with open_foreign(path, most) as handle:
        return handle.read()


def digest_file(path: Path) -> str:
    """SHA-256 of a file's bytes, read in blocks so that its size does not matter."""
    with open_foreign(path, STREAMED_BYTES) as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def digest_tree(root: Path) -> str:
    """Digest of a directory: relative POSIX paths and contents of its files, sorted.

    Names of empty directories, modes and times do not count, nor do links that lead out of it.
    """
    files = sorted(
        path
        for path in root.rglob("*")
        if path.is_file() and (not path.is_symlink() or inside(root, path))
    )
    return digest({path.relative_to(root).as_posix(): digest_file(path) for path in files})


def files_below(folder: Path, follow_links: bool = False) -> tuple[list[Path], int]:
    """Visible files below a folder, sorted, and how many links to files were left out.

    A link in a folder from elsewhere may lead to any file; one to a folder is never followed.
    """
    visible = (path for path in folder.rglob("*") if "/." not in f"/{path.relative_to(folder)}")
    files = sorted(path for path in visible if path.is_file())
    ordinary = [path for path in files if follow_links or not path.is_symlink()]
    return ordinary, len(files) - len(ordinary)


def inside(folder: Path, path: Path) -> Path | None:
    """The real path of what a stranger names in a folder, or None where that leads out of it.

    Args:
        folder: all that the stranger may name.
        path: as it would be opened: with the folder in front of a name that is relative to it.
            Links count by what they point to.
    """
    try:
        root, real = (Path(os.path.realpath(entry)) for entry in (folder, path))
    except (OSError, ValueError):  # no possible name
        return None
    return real if real.is_relative_to(root) else None


@contextmanager
def decoding(source: object) -> Generator[None]:
    """Name the file in whatever a decoder raises on damaged bytes.

    For decoding alone: what it does not know to be a fault of the file, it calls one.

    Raises:
        BadInput: in place of every error that is not one of ours.
    """
    try:
        yield
    except HarnessError:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {error}"[:300]
        raise BadInput(f"{str(source)!r} is damaged: {why}") from error


def decompressed(data: bytes) -> bytes:
    """Decompress zstd to a limited size: few bytes may stand for gigabytes.

    Raises:
        ValueError: if it has more than :data:`MOST_UNPACKED` bytes.
        zstandard.ZstdError: if it is damaged.
    """
    import zstandard

    if zstandard.frame_content_size(data) > MOST_UNPACKED:
        raise ValueError(f"it unpacks to more than {MOST_UNPACKED:,} bytes")
    if not hasattr(_LOCAL, "decompress"):  # threads must not share one
        _LOCAL.decompress = zstandard.ZstdDecompressor().decompress
    return _LOCAL.decompress(data, max_output_size=MOST_UNPACKED)


def cache_root() -> Path:
    """`HARNESS_CACHE`, else `agent-skill-harness` in the user's cache folder (XDG)."""
    override = os.environ.get("HARNESS_CACHE")
    if override:
        return Path(override)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "agent-skill-harness"


def private_folder(folder: Path) -> None:
    """Make a folder for its owner alone (0700), and those above it; one that exists stays as it is.

    Raises:
        OSError: if it cannot be made, or is no folder.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def temporary_work_folder(prefix: str, within: Path | None = None) -> Generator[Path]:
    """A new work folder (0700), resolved, which is removed after the block whatever is in it.

    Args:
        prefix: of its name.
        within: folder in which it is made; default that for temporary files.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=within)).resolve()
    try:
        yield folder
    finally:
        remove_tree(folder)


def read_work_file(folder: Path, name: str, limit: int = WORK_FILE_BYTES) -> bytes:
    """The bytes of a file in a work folder.

    No link is followed, neither as the file nor as a folder on the way.

    Args:
        folder: the work folder.
        name: path of the file in it.
        limit: bytes that it may have.

    Raises:
        FileNotFoundError: if there is no such file.
        UnfitFile: if it is a link, a folder or a special file, has a second name or another owner,
            or is larger than the limit.
    """
    with _folder_of(folder, name) as (parent, last):
        try:
            descriptor = os.open(last, os.O_RDONLY | OWN_FILE, dir_fd=parent)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise UnfitFile(f"{name} is a link or cannot be opened") from error
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
                raise UnfitFile(f"{name} is no ordinary file with one name")
            if status.st_uid != os.geteuid():
                raise UnfitFile(f"{name} belongs to another user")
            if status.st_size > limit:
                raise UnfitFile(f"{name} has {status.st_size:,} bytes, more than {limit:,}")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return file.read(limit)
        finally:
            os.close(descriptor)


def write_work_file(folder: Path, name: str, content: bytes) -> None:
    """Write a file into a work folder, in place of whatever has its name there.

    Links and files that stand where a folder of its path must be give way to a folder.

    Raises:
        BadInput: if the name leads out of the folder.
    """
    with _folder_of(folder, name, make=True) as (parent, last):
        _remove_entry(parent, last)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | OWN_FILE
        with os.fdopen(os.open(last, flags, 0o666, dir_fd=parent), "wb") as file:
            file.write(content)


def work_files(folder: Path) -> list[str]:
    """Paths of the ordinary files below a work folder, sorted; links are passed over.

    So are names that are not UTF-8, and folders that cannot be read.
    """
    names: list[str] = []
    todo = [""]
    while todo:
        above = todo.pop()
        with suppress(OSError):
            for entry in os.scandir(folder / above):
                name = f"{above}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    todo.append(f"{name}/")
                elif entry.is_file(follow_symlinks=False) and name.isprintable():
                    names.append(name)
    return sorted(names)


def remove_tree(path: Path) -> None:
    """Remove a file, a link, or a folder with all that is in it, however deep; absent is fine.

    What the system does not let us remove stays, without an error.
    """
    with suppress(OSError):
        parent = os.open(path.parent, _FOLDER | os.O_CLOEXEC)
        try:
            _remove_entry(parent, path.name)
        finally:
            os.close(parent)


def _remove_entry(parent: int, name: str) -> None:
    """Remove what has a name in the folder of a descriptor.

    Folders inside are moved up to the top before they are emptied, so that neither the depth of
    the tree nor the length of its paths matters.
    """
    try:
        os.unlink(name, dir_fd=parent)
        return
    except FileNotFoundError:
        return
    except OSError:
        if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            raise
    top = _unlocked(name, parent)
    try:
        todo, mark, count = [""], secrets.token_hex(4), 0
        while todo:
            child = todo.pop()
            folder = _unlocked(child, top) if child else os.dup(top)
            try:
                for entry in list(os.scandir(folder)):
                    if not entry.is_dir(follow_symlinks=False):
                        os.unlink(entry.name, dir_fd=folder)
                        continue
                    os.close(_unlocked(entry.name, folder))
                    count += 1
                    moved = f".{mark}-{count}"
                    os.rename(entry.name, moved, src_dir_fd=folder, dst_dir_fd=top)
                    todo.append(moved)
            finally:
                os.close(folder)
            if child:
                os.rmdir(child, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=parent)


def _unlocked(name: str, parent: int) -> int:
    """A descriptor of a folder in another one, made readable and writable for us first."""
    try:
        descriptor = os.open(name, _FOLDER | OWN_FILE, dir_fd=parent)
    except PermissionError:
        try:
            os.chmod(name, 0o700, dir_fd=parent, follow_symlinks=False)
        except ValueError as error:  # so Python says that it has become a link meanwhile
            raise OSError(f"{name!r} is a link") from error
        descriptor = os.open(name, _FOLDER | OWN_FILE, dir_fd=parent)
    if os.fstat(descriptor).st_mode & 0o700 != 0o700:
        os.fchmod(descriptor, 0o700)
    return descriptor


@contextmanager
def _folder_of(folder: Path, name: str, *, make: bool = False) -> Generator[tuple[int, str]]:
    """A descriptor of the folder that a path below `folder` names, and the last part of the path.

    Raises:
        FileNotFoundError: if a part is missing (unless `make`).
        UnfitFile: if a part is a link or no folder (unless `make`).
        BadInput: if the path leads out of `folder`.
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
        raise BadInput(f"sandbox: expected a file inside the work folder, found {name!r}.")
    current = os.open(folder, _FOLDER | os.O_CLOEXEC)
    try:
        for part in path.parts[:-1]:
            try:
                below = os.open(part, _FOLDER | OWN_FILE, dir_fd=current)
            except OSError as error:
                if not make:
                    if isinstance(error, FileNotFoundError):
                        raise
                    raise UnfitFile(f"{name}: {part} is a link or no folder") from error
                _remove_entry(current, part)
                os.mkdir(part, dir_fd=current)
                below = os.open(part, _FOLDER | OWN_FILE, dir_fd=current)
            os.close(current)
            current = below
        yield current, path.name
    finally:
        os.close(current)
