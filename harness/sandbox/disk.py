"""Disk use of a command: files in its work folder, and files that only it still holds."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_SENT_SCANS = 5
"""Looks in a row at which descriptors lie in a socket: no honest program leaves them there."""
_REFUSED_SCANS = 20
"""Looks that a process may refuse: a launcher does until it becomes the command."""


def folder_size(folder: Path) -> tuple[float, int]:
    """Allocated bytes below `folder` (4 KiB for each entry at least), and its largest file.

    A folder that cannot be read (no permission, a path longer than the system takes) is infinitely
    large: what is in there cannot be counted. Links are not followed.
    """
    total: float = 0
    largest = 0
    todo = [str(folder)]
    while todo:
        try:
            entries = list(os.scandir(todo.pop()))
        except (FileNotFoundError, NotADirectoryError):  # it went while the command runs
            continue
        except OSError:
            return float("inf"), largest
        for entry in entries:
            total += 4096
            with suppress(FileNotFoundError):
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    raise
                except OSError:
                    return float("inf"), largest
                total += max(0, status.st_blocks * 512 - 4096)
                if stat.S_ISDIR(status.st_mode):
                    todo.append(entry.path)
                else:
                    largest = max(largest, status.st_size)
    return total, largest


class UnseenFiles:
    """Files that have no name any more, and live as long as a process holds them.

    Args:
        root: process that was started.
        workdir: where files can be made.
        most: bytes to assume for a file whose size cannot be learned.
    """

    def __init__(self, root: int, workdir: Path, most: int) -> None:
        self._root, self._most = root, most
        # The scratch folder is also seen under these names.
        self._places = tuple(os.fsencode(f"{folder}/") for folder in (workdir, "/tmp", "/dev/shm"))
        self._sent_scans = 0
        self._refusals: Counter[int] = Counter()

    def bytes(self, pids: list[int]) -> float:
        """Allocated bytes that these processes and the first one hold by descriptors and mappings.

        Descriptors on their way through a socket belong to no process: if some are found there
        time and again, the answer is infinite. So it is if a process never lets us look.
        """
        sizes: dict[int, int] = {}
        mapped: set[int] = set()
        sent = False
        for pid in [self._root, *pids]:
            try:
                for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
                    with suppress(OSError):  # it ended; where all refuse, the next line notices
                        sent |= self._descriptors(f"/proc/{pid}/task/{thread}", sizes)
                mapped |= self._mapped(pid)
            except PermissionError:
                self._refusals[pid] += pid not in {
                    self._root,
                    *inits(self._root),
                }  # the back end's own
                if self._refusals[pid] >= _REFUSED_SCANS:
                    return float("inf")
            except OSError:  # it ended meanwhile
                continue
        self._sent_scans = self._sent_scans + 1 if sent else 0
        if self._sent_scans >= _SENT_SCANS:
            return float("inf")
        return sum(sizes.values()) + len(mapped - set(sizes)) * self._most

    @staticmethod
    def _descriptors(process: str, sizes: dict[int, int]) -> bool:
        """Add the nameless files among a thread's descriptors; whether a socket holds some, too."""
        sent = False
        for number in os.listdir(f"{process}/fd"):  # noqa: PTH208
            with suppress(FileNotFoundError, ProcessLookupError):
                status = os.stat(f"{process}/fd/{number}")  # noqa: PTH116
                if stat.S_ISREG(status.st_mode) and not status.st_nlink:
                    sizes[status.st_ino] = status.st_blocks * 512
                elif stat.S_ISSOCK(status.st_mode):
                    text = Path(f"{process}/fdinfo/{number}").read_bytes()
                    sent |= b"scm_fds:" in text and b"scm_fds: 0\n" not in text
        return sent

    def _mapped(self, pid: int) -> set[int]:
        """Inodes of deleted files that a process maps: after closing them it shows no size."""
        inodes: set[int] = set()
        for line in read_live(pid, "maps", b"-").splitlines():
            if line.endswith(b" (deleted)"):
                _, _, _, _, inode, path = line.split(maxsplit=5)
                if path.startswith(self._places):
                    inodes.add(int(inode))
        return inodes


def read_live(pid: int, name: str, sign: bytes) -> bytes:
    """Return a file of /proc about a process, read at a thread of it that lives.

    After the main thread has ended, the file of the process itself says nothing.

    Args:
        pid: of the process.
        name: of the file.
        sign: what it holds if it says something.
    """
    data = b""
    for thread in _threads(pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            data = Path(f"/proc/{pid}/task/{thread}/{name}").read_bytes()
        if sign in data:
            return data
    return data


def _threads(pid: int) -> Iterator[int | str]:
    """The main thread, then all: the folder is listed only where that one has ended."""
    yield pid
    yield from os.listdir(f"/proc/{pid}/task")  # noqa: PTH208


def inits(pid: int) -> set[int]:
    """The children of a process that are the first of their process namespace."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        rows = {int(child): Path(f"/proc/{child}/status").read_text() for child in children}
    except OSError:
        return set()
    return {child for child, row in rows.items() if re.search(r"^NSpid:.*\t1$", row, re.MULTILINE)}
