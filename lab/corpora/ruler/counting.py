"""Aggregation: the common words of a list, the frequent words of a coded text (RULER, section 3).

Nothing of such a document can be left out, so there is no gold evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from random import Random
from string import ascii_lowercase

from harness.corpora import Reading, Source, count_each, count_tokens
from lab.corpora.ruler.niah import REPLY, UNHINTED
from lab.corpora.ruler.placing import DOCUMENT
from lab.corpora.ruler.words import invented, letters

# Words that are asked for, how often each of them stands there, and each other word.
COMMON, COMMON_TIMES, RARE_TIMES = 10, 30, 3
# Exponent of the word frequencies of the coded text (a Zeta distribution).
ALPHA = 2.0
FREQUENT = 3
_ZETA = 1.6449340668482264  # of ALPHA: pi ** 2 / 6
_PAD = "...."
_COMMON_QUESTIONS = (
    "What are the {count} most common words in this list?",
    "Some words of the list stand there far more often than others. Name the top {count}.",
)
_FREQUENT_QUESTIONS = (
    "Not counting the dots, what are the {count} most frequent words of the coded text?",
    "Which {count} coded words occur most often? The dots are not words.",
)


def common_words(length: int, chance: Random, name: str) -> Reading:
    """A numbered list in which ten words stand 30 times each and all others three times."""
    question = chance.choice(_COMMON_QUESTIONS).format(count=COMMON)
    room = length - REPLY - count_tokens(question)
    vocabulary = invented(chance, COMMON + max(1, room // (RARE_TIMES * 4)))
    common, rare = vocabulary[:COMMON], vocabulary[COMMON:]
    listed = common * COMMON_TIMES + rare[: _fitting(common, rare, room)] * RARE_TIMES
    chance.shuffle(listed)
    lines = [f"{number}. {word}" for number, word in enumerate(listed, 1)]
    return _reading(name, "cwe", question, lines, common)


def frequent_words(length: int, chance: Random, name: str) -> Reading:
    """A text of coded words, whose counts fall with the square of their rank; dots come first."""
    question = chance.choice(_FREQUENT_QUESTIONS).format(count=FREQUENT)
    room = length - REPLY - count_tokens(question)
    words = letters(chance, max(FREQUENT, length // 50), ascii_lowercase, 6)
    ranks = [_PAD, *words]
    costs = count_each(ranks)
    shares = [rank**-ALPHA / _ZETA for rank in range(1, len(ranks) + 1)]
    mean = sum(cost * share for cost, share in zip(costs, shares, strict=True))
    total = room / mean
    text = [
        word for word, share in zip(ranks, shares, strict=True) for _ in range(int(total * share))
    ]
    chance.shuffle(text)
    return _reading(name, "fwe", question, [" ".join(text)], words[:FREQUENT])


def _fitting(common: Sequence[str], rare: Sequence[str], room: int) -> int:
    """Count the rare words that fit into the list, numbers of the lines counted."""
    base = COMMON * COMMON_TIMES
    most = base + len(rare) * RARE_TIMES
    numbers = list(accumulate(count_each([f"{line}." for line in range(1, most + 1)])))
    spent = sum(count_each(common)) * COMMON_TIMES
    words = accumulate((cost * RARE_TIMES for cost in count_each(rare)), initial=spent)
    fitting = (
        index
        for index, cost in enumerate(words)
        if cost + numbers[base + index * RARE_TIMES - 1] <= room
    )
    return max(fitting, default=0)


def _reading(
    name: str, task: str, question: str, lines: Sequence[str], answers: Sequence[str]
) -> Reading:
    return Reading(
        id=name,
        family="longdoc",
        question=question,
        answers=tuple(answers),
        metric="all",
        sources=(Source(id=DOCUMENT, text="\n".join(lines)),),
        meta={"task": task, "unhinted": UNHINTED, "hinted": UNHINTED, "aggregation": True},
    )
