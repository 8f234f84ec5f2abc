"""Errors with exit codes.

A message says what was expected, what was found, where, and what to do. Anything that is not a
:class:`HarnessError` is a fault of ours (exit code 1).
"""

from __future__ import annotations

import errno
import resource
from collections.abc import Iterable
from difflib import get_close_matches


class HarnessError(Exception):
    """Base of every error a user can act on.

    Attributes:
        exit_code: what the command line exits with.
    """

    exit_code: int = 1


class BadInput(HarnessError):
    """A file, option or value that cannot be used (exit code 2)."""

    exit_code = 2


class LimitReached(HarnessError):
    """A budget or limit stopped the work; what was done is kept (exit code 3)."""

    exit_code = 3


class Unreachable(HarnessError):
    """A model endpoint did not answer, or refused the key (exit code 4)."""

    exit_code = 4


class Refused(HarnessError):
    """The work ran well and the answer is no: check failed, gate refused (exit code 5)."""

    exit_code = 5


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a hint in brackets at the one of some names that was probably meant, or ""."""
    spellings = {known.casefold(): known for known in names}
    close = get_close_matches(name.casefold(), spellings, 1)
    return f" (did you mean {spellings[close[0]]!r}?)" if close else ""


def last_words(output: str, limit: int = 400) -> str:
    """Return the end of a failed program's output: its last line, below it the lines that led
    there.

    Args:
        output: what it wrote.
        limit: characters in all, about; lines that came earlier are left out, not cut.
    """
    *earlier, last = [line.rstrip() for line in output.splitlines() if line.strip()] or [""]
    last = last.strip()[-limit:]
    room, tail = limit - len(last), list[str]()
    while earlier and (room := room - len(earlier[-1]) - 1) >= 0:
        tail.insert(0, earlier.pop())
    return "\n".join([last, *tail])


DISK = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), ": make room, then resume"),
    **dict.fromkeys((errno.EROFS, errno.EACCES), ": let it be written, or name another folder"),
}
"""Error of a disk -> how to go on."""


def shortage(error: BaseException) -> str | None:
    """Name the resource that ran out, and what to do about it; None for another error."""
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EMFILE:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return f"this process may have {most} open files: raise `ulimit -n`, or lower --concurrency"
    if number == errno.ENFILE:
        return "the machine has no more open files: end something, or lower --concurrency"
    if number in (errno.EAGAIN, errno.EWOULDBLOCK) or "start new thread" in str(error):
        return "no more processes or threads: raise `ulimit -u`, or lower --concurrency"
    if isinstance(error, MemoryError) or number == errno.ENOMEM:
        return "out of memory: free some, or lower --concurrency"
    if isinstance(error, RecursionError) and "decoding a JSON" in str(error):
        return "a JSON document that was given is nested too deeply"
    if isinstance(error, OSError) and number in DISK:
        file = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{file}{DISK[number]}"
    return None
