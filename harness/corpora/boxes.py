"""Boxed answers: where solutions of competition problems have their result."""

from __future__ import annotations

_BOXES = ("\\boxed{", "\\framebox{", "\\fbox{")


def last_box(text: str) -> str | None:
    """What stands in the last box of a text, braces matched; None if no box is closed."""
    start, mark = max((text.rfind(mark), mark) for mark in _BOXES)
    if start < 0:
        return None
    depth, begin = 1, start + len(mark)
    for index in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if not depth:
            return text[begin:index]
    return None
