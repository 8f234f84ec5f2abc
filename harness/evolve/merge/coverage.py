"""Choice among equally supported rules: the ones that say most of what was learned.

Many rules have the support of two tasks, more than a skill has places for, and most of them are
about what everybody teaches. In any order by support alone one idea takes several places, while a
step of the work that few lessons are about has none. So of equals that one is chosen whose section
has the fewest rules, and there the one that adds most: how much nearer the lessons are to it than
to every rule before it (facility location, a monotone submodular function, for which greedy choice
is within 1 - 1/e of the best; Lin and Bilmes, A Class of Submodular Functions for Document
Summarization, ACL 2011). A third rule about one idea adds little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from harness.evolve.merge.similarity import (
    CHARACTERS,
    WORDS,
    tfidf_similarities,
    word_similarities,
)
from harness.evolve.rules import Member


def by_coverage(
    wordings: Sequence[str],
    support: Sequence[int],
    sections: Sequence[str],
    lessons: Sequence[Member],
    tasks: Mapping[str, str],
) -> list[int]:
    """The numbers of rules in their order: support, rules of their section, what each adds.

    Every task counts the same, however many lessons it taught. Of equal gains the first is taken.

    Args:
        wordings: of the rules, title and text.
        support: distinct tasks of each.
        sections: of each, "" where it fits none: these come after others of equal support.
        lessons: that were learned.
        tasks: trajectory id -> task id.
    """
    import numpy as np

    if not wordings:
        return []
    texts = [lesson.wording for lesson in lessons]
    alike = CHARACTERS * tfidf_similarities(texts, wordings)
    alike += WORDS * word_similarities(texts, wordings)
    taught_by = [{tasks.get(name, name) for name in lesson.sources} for lesson in lessons]
    counts = Counter(task for row in taught_by for task in row)
    weight = np.array([sum(1 / counts[task] for task in row) for row in taught_by])
    covered = np.zeros(len(texts))
    unplaced, order = list(range(len(wordings))), list[int]()
    sizes = Counter[str]()

    def place(number: int) -> tuple[float, ...]:
        section = sections[number]
        gain = round(float(weight @ np.maximum(alike[:, number] - covered, 0.0)), 9)
        return -support[number], not section, sizes[section], -gain, number

    while unplaced:
        best = min(unplaced, key=place)
        unplaced.remove(best)
        order.append(best)
        sizes[sections[best]] += 1
        covered = np.maximum(covered, alike[:, best])
    return order
