"""Lessons that name the same cause: they sound alike and quote alike.

An analyst quotes from its run what shows the failure. Lessons are alike by half for what they say
and by half for what they quote, so that lessons of one cause meet however they put it, and
lessons from different evidence stay apart however alike they sound.

Analysts err, and an error quotes something real, too: a lesson about another failure stands among
those that read its quote rightly. It belongs to the cause that it sounds like (:func:`nearer`).
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import combinations, islice
from typing import Any

from harness.evolve.analysts.transcript import flat
from harness.evolve.merge.lessons import Lesson

# Distinct tasks from which a group of lessons counts as a cause that others may belong to, and
# from which on they speak against a lesson.
FEWEST = 2
# How much nearer to another cause than to its own a lesson is that belongs there (cosine).
NEARER = 0.3
# Share of the words of the shorter of two phrases, by rarity, and of the longer, that are in both
# if they say the same; and lessons that are compared with all others at one time.
SAME_WORDS, PART, BLOCK = 0.65, 0.4, 100
# Standardised log odds from which on other tasks teach the opposite of a lesson.
OPPOSED = 0.4
# The same share from which on a quote shows what advice asks for: one other word may be the fault.
FOLLOWED = 0.9
# Wordings of advice of one cause that its quotes are compared with.
ASKED = 50
# Lessons of one cause whose advice is compared.
COMPARED = 100
# Causes that lessons are compared with, the best supported.
CAUSES = 1000
_WORDS = re.compile(r"[^\W\d_]+")
_EMPTY_WORDS = (
    "a an the i you we it to of in on at and or is are was be been being so now then will let me"
    " this that these must should shall ought have has need needs sure make take care remember"
    " important always wrong all any each every do does did it its"
)
_EMPTY = frozenset(_EMPTY_WORDS.split())
_NEGATING = "not no never without neither nor don doesn didn cannot avoid refrain stop"
_NEGATIONS = frozenset(_NEGATING.split())
_CLAUSE = re.compile(
    r"[,;:.(]\s*|\s(?=(?:instead of|rather than|and (?:do not|don't|never|not)|but)\b)", re.I
)
# What an instruction refuses: "objects do not have" and "are not empty" refuse nothing.
_REFUSED = re.compile(
    r"\b(?:never|(?<!to )avoid\w*|refrain\w*|stop|instead of|rather than|wrong to|without \w+ing"
    r"|(?:must|should) not|not to)\b"
    r"|(?:^|\b(?:you|we|please|always|and|but|so|also|then)\s)\W*(?:do not|don't)\b",
    re.IGNORECASE,
)
# Clauses that say when or why, not what.
_ASIDE = re.compile(
    r"\s*(?:if|when\w*|where|for|before|after|with|as|since|because|so that|in|at|e\.g|i\.e|such as"
    r"|see)\b",
    re.IGNORECASE,
)
Votes = dict[tuple[str, str], set[str]]
"""Two words of a phrase -> tasks."""
Citations = Mapping[tuple[str, str], Sequence[str]]
"""(trajectory id, text of the lesson) -> its quotes."""
Saying = frozenset[str]
"""Stems of a sentence; `not` if it denies something."""


def pattern(quote: str) -> str:
    """A quote without what belongs to one task: numbers are `#`, case and white space are even."""
    return flat(re.sub(r"\d+(?:[.,:]\d+)*", "#", quote)).strip(" \"'`")


def quoted(lesson: Lesson, citations: Citations) -> tuple[str, ...]:
    """The patterns that a lesson quotes."""
    quotes = (q for source in lesson.sources for q in citations.get((source, lesson.text), ()))
    return tuple(dict.fromkeys(filter(None, map(pattern, quotes))))


def nearer(
    causes: Sequence[Sequence[int]], lessons: Sequence[Lesson], support: Sequence[int]
) -> dict[int, int]:
    """Lessons that sound more like those of another cause than like those of their own -> which.

    Args:
        causes: indices of lessons that share evidence.
        lessons: all of them.
        support: distinct tasks of each cause.
    """
    import numpy as np

    established = [n for n, tasks in enumerate(support) if tasks >= FEWEST]
    established = sorted(established, key=lambda n: (-support[n], lessons[causes[n][0]].wording))[
        :CAUSES
    ]
    if len(established) < 2:
        return {}
    module: Any = import_module("sklearn.feature_extraction.text")
    sparse: Any = import_module("scipy.sparse")
    model: Any = module.TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    row = {text: n for n, text in enumerate(sorted({lesson.wording for lesson in lessons}))}
    vectors = model.fit_transform(row)
    cells = [
        (row_number, row[lessons[index].wording], 1 / len(causes[n]))
        for row_number, n in enumerate(established)
        for index in causes[n]
    ]
    rows, columns, shares = zip(*cells, strict=True)
    centres = (
        sparse.csr_matrix((shares, (rows, columns)), shape=(len(established), len(row))) @ vectors
    )
    place_of = {n: row_number for row_number, n in enumerate(established)}
    moved: dict[int, int] = {}
    members = [(number, index) for number, cause in enumerate(causes) for index in cause]
    for start in range(0, len(members), BLOCK):
        block = members[start : start + BLOCK]
        near = (vectors[[row[lessons[index].wording] for _, index in block]] @ centres.T).toarray()
        for (number, index), scores in zip(block, near, strict=True):
            size, own_score = len(causes[number]), 0.0
            if number in place_of:  # its own cause without itself
                own_score = (scores[place_of[number]] * size - 1.0) / max(1, size - 1)
                scores[place_of[number]] = -1.0
            best = int(np.argmax(scores))
            if scores[best] > own_score + NEARER:
                moved[index] = established[best]
    return moved


def root(word: str) -> str:
    """A word without the ending of its form."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    word = word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
    return word[:-1] if len(word) > 2 and word.endswith("e") else word


def saying(sentence: str) -> Saying:
    """Reduce a sentence to its words, apart from their order and forms."""
    words = [word.lower() for word in _WORDS.findall(sentence)]
    stems = {root(word) for word in words if word not in _EMPTY and word not in _NEGATIONS}
    return frozenset(stems | ({"not"} if _NEGATIONS.intersection(words) else set()))


def clauses(lesson: str) -> Iterator[tuple[bool, str]]:
    """(whether it refuses, clause) of the clauses of a lesson that say what to do."""
    for clause in _CLAUSE.split(lesson):
        if not _ASIDE.match(clause):
            yield _REFUSED.search(clause) is not None, clause


def advice(lesson: str) -> tuple[Saying, Saying]:
    """(what a lesson asks for, what it refuses)."""
    parts: tuple[set[str], set[str]] = (set(), set())
    for refused, clause in clauses(lesson):
        parts[refused].update(saying(clause))
    return frozenset(parts[0] - {"not"}), frozenset(parts[1] - {"not"})


def signs_of(
    lessons: Sequence[Lesson], quotes: Sequence[Sequence[str]], causes: Sequence[Sequence[int]]
) -> list[tuple[str, ...]]:
    """The quotes of each lesson that show what its cause forbids, or what nobody asks for.

    An analyst also quotes what a failed run did well, for advice to go on like that: such a quote
    is no sign of a failure.

    Args:
        lessons: all of them.
        quotes: of each.
        causes: indices of lessons about the same.
    """
    parts = [advice(lesson.text) for lesson in lessons]
    counts = Counter(word for part in parts for phrase in part for word in phrase)
    counts.update(word for row in quotes for quote in row for word in saying(quote))
    total = 2 * len(lessons) + sum(map(len, quotes))

    def weight(words: Iterable[str]) -> float:
        return sum(math.sqrt(math.log(1 + total / counts[word])) for word in words if word != "not")

    signs = [tuple(row) for row in quotes]
    for members in causes:
        asked_for = [parts[index][0] for index in members if len(parts[index][0]) > 1]
        common = [phrase for phrase, _ in Counter(asked_for).most_common(ASKED)]
        is_sign: dict[str, bool] = {}
        for index in members:
            for quote in quotes[index]:
                words = saying(quote)
                if quote not in is_sign:
                    is_sign[quote] = "not" in words or not any(
                        weight(words & phrase) >= FOLLOWED * min(weight(words), weight(phrase))
                        for phrase in common
                    )
            signs[index] = tuple(quote for quote in quotes[index] if is_sign[quote])
    return signs


def outvoted(lessons: Sequence[Lesson], tasks: Sequence[frozenset[str]]) -> dict[int, str]:
    """Lessons whose advice more tasks speak against than for -> how many.

    A task speaks against a lesson if one of its own asks for what it refuses, or refuses what it
    asks for, in much the same words.

    Args:
        lessons: to judge.
        tasks: of each lesson.
    """
    import numpy as np

    sparse: Any = import_module("scipy.sparse")
    teaching: dict[str, set[str]] = defaultdict(set)  # text -> tasks
    for lesson, lesson_tasks in zip(lessons, tasks, strict=True):
        teaching[lesson.text] |= lesson_tasks
    texts = sorted(teaching)
    phrases = [phrase for text in texts for phrase in advice(text)]
    counts = Counter(word for phrase in phrases for word in phrase)
    column = {word: number for number, word in enumerate(counts)}
    entries = [
        (row, column[word], math.sqrt(math.log(1 + len(phrases) / counts[word])))
        for row, phrase in enumerate(phrases)
        if len(phrase) > 1
        for word in phrase
    ]
    if not entries:
        return {}
    rows, columns, values = zip(*entries, strict=True)
    shape = (len(phrases), len(column))
    matrix = sparse.csr_matrix((values, (rows, columns)), shape=shape)
    size = np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()
    against: dict[str, str] = {}
    for start in range(0, len(texts), BLOCK):
        stop = min(start + BLOCK, len(texts))
        shared = (matrix[2 * start : 2 * stop] @ matrix.T).toarray()
        sizes = size[2 * start : 2 * stop, None]
        least, most = np.minimum(sizes, size[None, :]), np.maximum(sizes, size[None, :])
        alike = (shared >= SAME_WORDS * least) & (shared >= PART * most) & (least > 0)
        asked_for, refused = alike[0::2], alike[1::2]
        same = asked_for[:, 0::2] | refused[:, 1::2]
        opposed = (asked_for[:, 1::2] | refused[:, 0::2]) & ~same
        for index in np.flatnonzero(opposed.any(axis=1)):
            votes = [
                len(
                    set[str]().union(*(teaching[texts[int(n)]] for n in np.flatnonzero(row[index])))
                )
                for row in (same, opposed)
            ]
            if votes[1] > votes[0]:
                reason = f"{votes[1]} tasks teach the opposite and {votes[0]} the same"
                against[texts[start + int(index)]] = reason
    return {n: against[row.text] for n, row in enumerate(lessons) if row.text in against}


def opposition(lessons: Sequence[Lesson], tasks: Sequence[frozenset[str]]) -> list[float]:
    """Measure how far other tasks' lessons say the opposite of each: standardised log odds.

    What is meant shows in pairs of words: to skip is right of totals and wrong of rows. Each pair
    of a lesson votes with the log odds, against those of all pairs, that other tasks refuse what
    it asks for, or ask for what it refuses (naive Bayes; Manning and others, Introduction to
    Information Retrieval, 2008, section 13.2). No task speaks for itself; one alone is no vote.

    Args:
        lessons: to judge.
        tasks: of each lesson, those that speak.
    """
    spoken = [[[*combinations(sorted(side), 2)] for side in advice(row.text)] for row in lessons]
    votes: tuple[Votes, Votes] = (defaultdict(set), defaultdict(set))  # asked for, refused
    for sides, own_tasks in zip(spoken, tasks, strict=True):
        for voted, pairs in zip(votes, sides, strict=True):
            for pair in pairs:
                voted[pair] |= own_tasks
    asked_pairs, refused = (sum(map(len, voted.values())) + 1 for voted in votes)
    usual = refused / (asked_pairs + refused)
    scores: list[float] = []
    for sides, own_tasks in zip(spoken, tasks, strict=True):
        score, against = 0.0, set[str]()
        for pairs, same, opposite, share in (
            (sides[0], votes[0], votes[1], usual),
            (sides[1], votes[1], votes[0], 1 - usual),
        ):
            for pair in pairs:
                refusing = opposite.get(pair, own_tasks)
                unlike = len(refusing) - len(refusing & own_tasks)
                alike = len(same[pair]) - len(own_tasks)  # it votes for each of its pairs
                score += math.log((unlike + share) / (alike + 1 - share))
                score -= math.log(share / (1 - share))
                # Sets of a million tasks are not copied: whether there are so many is all.
                if len(against) < FEWEST:
                    rivals = (
                        task for task in refusing if not (task in own_tasks or task in against)
                    )
                    against.update([*islice(rivals, FEWEST)])
        count = sum(map(len, sides))
        scores.append(score / math.sqrt(count) if len(against) >= FEWEST else 0.0)
    return scores


def typical(
    members: Sequence[int], lessons: Sequence[Lesson], follows: Sequence[bool]
) -> list[int]:
    """The half of the lessons of one cause whose advice the others share most.

    One that says the opposite sounds much like the others; what it asks for, they refuse. None
    where the lessons cannot be told apart and speak against each other.

    Args:
        members: indices, the most central first.
        lessons: all lessons.
        follows: whether what a lesson quotes is what it asks for: then it is no remedy.

    Returns:
        Indices, the most central first, those that follow last.
    """
    parts = [advice(lessons[index].text) for index in members[:COMPARED]]
    analysts = [lessons[index].sources for index in members[:COMPARED]]

    def shared(first: Saying, second: Saying) -> float:
        common, least = len(first & second), min(len(first), len(second))
        return common / least if common > 1 else 0.0

    def agreement(index: int) -> float:
        """Agreement of a lesson with those of others: an analyst does not speak against itself."""
        asked_for, refused = parts[index]
        return sum(
            shared(asked_for, also) + shared(refused, not_either)
            - shared(asked_for, not_either) - shared(refused, also)
            for number, (also, not_either) in enumerate(parts)
            if analysts[number] != analysts[index]
        )  # fmt: skip

    order = sorted(
        range(len(parts)),
        key=lambda index: (follows[members[index]], -round(agreement(index), 9), index),
    )
    alike = len({follows[index] for index in members}) == 1
    if alike and len(order) > 1 and agreement(order[0]) < 0:
        return []
    half = sorted(order[: -(-len(order) // 2)], key=lambda n: (follows[members[n]], n))
    return [members[index] for index in half]
