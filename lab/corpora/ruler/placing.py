"""Putting needles between sentences, with the offsets at which they then stand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from random import Random

from harness.corpora import Evidence, count_each

DOCUMENT = "document.txt"
# Sentences of a paragraph of prose.
PARAGRAPH = 6


def interleave(
    sentences: Sequence[str], needles: Sequence[str], positions: Sequence[int], lines: bool = False
) -> tuple[str, tuple[Evidence, ...]]:
    """The text with every needle in front of the sentence of its place, and where each stands.

    Args:
        sentences: the filler.
        needles: in the order of their evidence.
        places: numbers of sentences, one a needle; needles of one place keep their order.
        lines: one sentence per line (noise), instead of paragraphs.
    """
    waiting: dict[int, list[int]] = {}
    for needle, target in enumerate(positions):
        waiting.setdefault(target, []).append(needle)
    parts: list[str] = []
    begins: dict[int, int] = {}
    length = 0
    for position in range(len(sentences) + 1):
        items = [(index, needles[index]) for index in waiting.get(position, [])]
        items += [(-1, sentences[position])] if position < len(sentences) else []
        for name, text in items:
            joint = "\n" if lines else " "
            if not parts:
                joint = ""
            elif not lines and len(parts) % PARAGRAPH == 0:
                joint = "\n\n"
            begins[name] = length + len(joint)
            parts.append(joint + text)
            length += len(joint) + len(text)
    spots = tuple(
        Evidence(doc=DOCUMENT, start=begins[index], end=begins[index] + len(needle))
        for index, needle in enumerate(needles)
    )
    return "".join(parts), spots


def scattered(chance: Random, sentences: int, needles: int) -> list[int]:
    """Places anywhere, ends included; different ones while there are enough."""
    if needles > sentences + 1:
        return sorted(chance.choices(range(sentences + 1), k=needles))
    positions = chance.sample(range(sentences + 1), needles)
    chance.shuffle(positions)
    return positions


def at_token(sentences: Sequence[str], token: int) -> tuple[list[str], int]:
    """Cut the filler between two words so that a needle can begin at exactly that token.

    Returns:
        The sentences, the cut one in two parts, and the place.
    """
    costs = count_each(sentences)
    for position, before in enumerate(accumulate(costs, initial=0)):
        if position == len(sentences) or before + costs[position] > token:
            if position == len(sentences) or before == token:
                return list(sentences), position
            head, tail = _split(sentences[position], token - before)
            parts = [part for part in (head, tail) if part]
            return [*sentences[:position], *parts, *sentences[position + 1 :]], position + bool(
                head
            )
    raise AssertionError


def _split(sentence: str, tokens: int) -> tuple[str, str]:
    """Head of so many tokens, filled with "and" where a word of several tokens is in the way."""
    words = sentence.split(" ")
    used = 0
    for position, cost in enumerate(count_each(words)):
        if used + cost > tokens:
            return " ".join([*words[:position], *["and"] * (tokens - used)]), " ".join(
                words[position:]
            )
        used += cost
    return sentence, ""
