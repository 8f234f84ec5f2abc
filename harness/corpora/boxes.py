"""Boxed answers: where solutions of competition problems have their result."""

from __future__ import annotations

import re

_BRACES = re.compile(r"(\\(?:boxed|framebox|fbox)\s*\{)|(?<!\\)\\[{}]|[{}]")
"""A box that begins, a brace that is a character (skipped), or one that groups."""
_BARE = re.compile(r"\\(?:boxed|framebox|fbox)[ \t]+([^\s{$][^\n$]*)")
"""`\\boxed 5$`: up to the end of the formula or the line, as MATH's own evaluation reads it."""
_FORMULA_ENDS = re.compile(r"\\[\])]")


def last_box(text: str) -> str | None:
    """What stands in the last closed box of a text, braces matched.

    Where no box has braces, one without counts. None if there is neither.
    """
    open_at: list[int | None] = []  # where the inside of a box begins; None for other braces
    last = (-1, 0)
    for found in _BRACES.finditer(text):
        if found[1] or found[0] == "{":
            open_at.append(found.end() if found[1] else None)
        elif found[0] == "}" and open_at and (begin := open_at.pop()) is not None:
            last = max(last, (begin, found.start()))
    if last[0] >= 0:
        return text[slice(*last)]
    bare = [_FORMULA_ENDS.split(one)[0].strip() for one in _BARE.findall(text)]
    return bare[-1] or None if bare else None
