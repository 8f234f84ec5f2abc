"""Groups of rules that say the same: one of them then speaks for the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.evolve.merge.contradictions import facts
from harness.evolve.merge.lessons import Cause, Lessons, best_supported_first, support
from harness.evolve.merge.similarity import CHUNK, Measure, word_similarities

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Rules at least so similar say the same; and rules whose lessons together are so similar. There,
# groups of labelled lessons that were cut in two are told best from others, if pairs on which the
# annotators disagree are left out: few groups, but both halves of the patches agree.
SAME, KINDRED = 0.6, 0.26


def speakers(lessons: Lessons, causes: Sequence[Cause], by: Measure) -> list[Cause]:
    """Return for every cause the best supported one whose rule says the same.

    Rules say the same whose wordings are alike, or state the same fact of code and ask for nothing;
    and, where they quote nothing by which they could be told apart, rules whose lessons are alike.
    Of the first :data:`CHUNK`; the others cost more to compare than they take.
    """
    first = list(causes)
    if not causes:
        return first
    stated = [facts(cause.wording.text) for cause in causes[:CHUNK]]
    alike = by.similarities([cause.wording.wording for cause in causes[:CHUNK]]) >= SAME
    near = kindred(lessons, causes[: len(alike)])
    alike |= near
    for place, own in enumerate(stated):
        same = (n for n in range(place) if alike[place, n] or own & stated[n])
        first[place] = causes[next((n for n in same if first[n] is causes[n]), place)]
    # Praise stands behind blame, however many tasks gave it.
    for place, cause in enumerate(causes[: len(stated)]):
        later = (n for n in range(place + 1, len(stated)) if near[place, n])
        better = causes[next((n for n in later if first[n] is causes[n]), place)]
        first = [better if speaker is cause else speaker for speaker in first]
    return first


def joined(
    lessons: Lessons, causes: Sequence[Cause], speaking: Sequence[Cause]
) -> list[tuple[Cause, list[Sequence[int]]]]:
    """Causes that speak for themselves, best supported first, each with the lessons of those that
    its rule speaks for.

    Where neither quotes anything, wordings are all that tells two causes apart: such a cause is a
    part of the one that speaks for it, and its tasks support that one.

    Args:
        lessons: all of them.
        causes: that have a wording.
        speaking: of each, the cause whose rule says it.
    """
    parts: dict[int, list[int]] = defaultdict(list)  # number of a cause -> lessons that join it
    others: dict[int, list[Sequence[int]]] = defaultdict(list)
    for cause, speaker in zip(causes, speaking, strict=True):
        if cause is not speaker:
            quoted = any(lessons.quotes[n] for n in (*cause.members, *speaker.members))
            if quoted:
                others[speaker.number].append(cause.members)
            else:
                parts[speaker.number] += cause.members
    speaking_causes: list[Cause] = []
    for cause, speaker in zip(causes, speaking, strict=True):
        if cause is speaker:
            members = [*cause.members, *parts[cause.number]]
            speaking_causes.append(
                replace(cause, members=members, sources=lessons.sources(members))
            )
    return [
        (cause, others[cause.number]) for cause in best_supported_first(lessons, speaking_causes)
    ]


def kindred(lessons: Lessons, causes: Sequence[Cause]) -> NDArray[np.bool_]:
    """Mark causes without quotes that say much the same as one of no fewer tasks [causes, causes].

    Compared are all words of the lessons of either.
    """
    import numpy as np

    alike = np.zeros((len(causes), len(causes)), dtype=np.bool_)
    quoted = [any(lessons.quotes[number] for number in cause.members) for cause in causes]
    places = [place for place in range(len(causes)) if not quoted[place]]
    if len(places) > 1:
        wordings = [lessons.by_wording(causes[place].members) for place in places]
        tasks = np.array([support(causes[place].sources, lessons.tasks) for place in places])
        near = word_similarities([" ".join(own) for own in wordings]) >= KINDRED
        alike[np.ix_(places, places)] = near & (tasks >= tasks[:, None])
    return alike
