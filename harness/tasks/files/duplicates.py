"""Prompts that are nearly the same: an interval is too narrow if it takes each for independent."""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST_COMPARED = 500
"""Prompts that are compared with each other; of more, so many spread over all of them."""
ALIKE = 0.6
"""Share of common words (Jaccard) from which two prompts are near-duplicates."""
Alike = tuple[int, int] | tuple[int, int, str]
"""Prompts that have a near-duplicate, all that were looked at, and two of the former."""
_WORD = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)*")


def near_duplicates(prompts: Sequence[str]) -> Alike:
    """Count prompts that have a near-duplicate, numbers apart, and all that were looked at; quote
    the first two of them.

    Lines that all prompts share, such as instructions, are left out where each has others.
    """
    step = max(1, -(-len(prompts) // MOST_COMPARED))
    lines = [prompt.splitlines() for prompt in prompts[::step]]
    shared = set(lines[0]).intersection(*lines) if len(lines) > 1 else set[str]()
    if shared and all(set(rows) - shared for rows in lines):
        lines = [[row for row in rows if row not in shared] for rows in lines]
    texts = ("\n".join(rows).casefold() for rows in lines)
    words = [
        frozenset("0" if word[0].isdigit() else word for word in _WORD.findall(text))
        for text in texts
    ]
    alike, quoted = set[int](), ""
    for first, left in enumerate(words):
        for second in range(first + 1, len(words)):
            if first in alike and second in alike:
                continue
            right, common = words[second], len(left & words[second])
            if common and common >= ALIKE * (len(left) + len(right) - common):
                quoted = quoted or " and ".join(
                    repr(" ".join(" ".join(lines[n]).split())[:60]) for n in (first, second)
                )
                alike |= {first, second}
    return len(alike), len(words), quoted
