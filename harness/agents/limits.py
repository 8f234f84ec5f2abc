"""Limits of an attempt, as exceptions that carry the reason."""

from __future__ import annotations


class AttemptEnded(Exception):
    """The attempt ends and is invalid; the message says why."""


class TurnLimit(AttemptEnded):
    """The model used all its turns."""


class TooManyFormatErrors(AttemptEnded):
    """Too many replies in a row could not be read."""


class TimeLimit(AttemptEnded):
    """A command did not end in time."""
