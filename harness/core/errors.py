"""Errors with exit codes.

A message says what was expected, what was found, where, and what to do. Anything that is not a
:class:`HarnessError` is a fault of ours (exit code 1).
"""

from __future__ import annotations


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
