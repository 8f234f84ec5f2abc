"""The numeric layer: values of a claim that no value of the document could be."""

from __future__ import annotations

import re
from dataclasses import replace

from harness.rag.check.numbers import Agreement, Mention, Quantity, agreement, read

Sizes = dict[tuple[object, ...], Mention]
_DIGIT = re.compile(r"\d")


def sizes(text: str) -> Sizes:
    """Values of a text without sign and bound, each once, by what makes them the same."""
    found: Sizes = {}
    for one in map(_size, read(text)):
        found.setdefault(_key(one), one)
    return found


def missing_values(claim: str, known: Sizes) -> list[Mention]:
    """Values written in digits that agree with none of a document's, by size alone.

    Signs and bounds are left out: "reduced to below 5" and "under 5" are the same number, and
    which of two wordings is right is no question of numbers. Numbers in words are left out too: a
    summary counts what its document lists.

    Args:
        claim: its text.
        known: :func:`sizes` of the document.
    """
    return [one for one in read(claim) if _DIGIT.search(one.text) and _missing(_size(one), known)]


def _missing(size: Mention, known: Sizes) -> bool:
    if _key(size) in known:  # comparing with hundreds of others takes a while
        return False
    return all(agreement(size, other) is not Agreement.SAME for other in known.values())


def _key(size: Mention) -> tuple[object, ...]:
    return (size.value, size.high, size.unit) if isinstance(size, Quantity) else (size.text,)


def _size(mention: Mention) -> Mention:
    if not isinstance(mention, Quantity):
        return mention
    low, high = mention.value, mention.high
    ends = sorted((abs(low), abs(high))) if high is not None else [abs(low)]
    return replace(
        mention,
        value=ends[0],
        high=ends[1] if high is not None else None,
        bound="",
        signed=False,
        others=tuple(one for one in map(_size, mention.others) if isinstance(one, Quantity)),
    )
