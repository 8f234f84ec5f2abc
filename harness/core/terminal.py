"""Text from elsewhere, as it may reach a terminal: it moves no cursor and hides nothing.

Models, skills, documents and logs may hold control characters, escapes among them, and marks that
turn the direction of writing. All of them are shown as codes; only lines and tabs stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

KNOWN = 3
"""Items that say how long the next ones take."""
_CONTROL = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
    "|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


class Shown(str):
    """Text whose foreign parts are printable already: escapes in it are ours."""

    __slots__ = ()


def printable(text: str) -> str:
    """A text with control characters as codes such as `\\x1b`; one that is `Shown` stays."""

    def code(match: re.Match[str]) -> str:
        number = ord(match[0])
        return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"

    return text if isinstance(text, Shown) else _CONTROL.sub(code, text)


def printable_json(text: str) -> str:
    """JSON in which such characters are written as JSON's own escapes."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def hyperlink(text: str, uri: str) -> Shown:
    """A text that opens a URI where the terminal can do that (OSC 8)."""
    return Shown(f"\x1b]8;;{printable(uri)}\x1b\\{printable(text)}\x1b]8;;\x1b\\")


def shown(parts: Iterable[str], separator: str = "\n") -> Shown:
    """Parts, each printable, as one text."""
    return Shown(separator.join(map(printable, parts)))


def dollars(cost_usd: float | None) -> str:
    """A cost for people; None is unknown, which is not nothing."""
    return "unknown" if cost_usd is None else f"${cost_usd:.4f}"


def span(seconds: float) -> str:
    """A time as people say it: `40 s`, `12 min`, `2 h 5 min`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def time_left(seconds: float, done: int, total: int) -> str:
    """`3 min left` once that is known, at the end the time used, "" before."""
    if done == total:
        return span(seconds)
    return f"{span(seconds / done * (total - done))} left" if done >= KNOWN else ""
