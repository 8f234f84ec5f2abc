"""Rules that a model worded while it merged: checked against what their sources said.

A model that merges lessons writes sentences of its own. Each is held against its sources
(:func:`harness.evolve.merge.wording.fault`): code and names that none of them has, the opposite
polarity, words from nowhere and words that nobody used. Where it fails, the source's lesson that is
most like it takes its place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from harness.core import Edit, Patch
from harness.evolve.merge.lessons import Lesson, of_edit
from harness.evolve.merge.wording import best_wording, content_words, fault
from harness.evolve.types import Discarded


def faithful(
    patch: Patch, patches: Sequence[Patch], terms: frozenset[str] = frozenset()
) -> tuple[Patch, tuple[Discarded, ...]]:
    """The patch, rules that say what no source said replaced; and the wordings that were refused.

    Args:
        patch: as the model merged it.
        patches: what the analysts wrote, before any merge.
        terms: words of the benchmark that no rule may hold.
    """
    lessons_of: dict[str, list[Lesson]] = defaultdict(list)
    for edit in (edit for own in patches for edit in own.edits):
        for lesson in of_edit(edit):
            for source in edit.sources:
                lessons_of[source].append(lesson)
    texts = {lesson.wording for lessons in lessons_of.values() for lesson in lessons}
    vocabulary = frozenset(word for text in texts for word in content_words(text))
    checked: list[Edit] = []
    refused: list[Discarded] = []
    for edit in patch.edits:
        rules = of_edit(edit)
        lessons = [lesson for source in edit.sources for lesson in lessons_of[source]]
        wordings = [lesson.text for lesson in lessons]
        faults = [
            reason
            for rule in rules
            if rule.text not in wordings and (reason := fault(rule.text, wordings, vocabulary))
        ]
        if not faults or not lessons:
            checked.append(edit)
            continue
        words = set(content_words(edit.content))
        likeness = [len(words & set(content_words(text))) for text in wordings]
        nearest = sorted(range(len(lessons)), key=lambda index: -likeness[index])
        own = best_wording(lessons, nearest, terms)
        content = own.markdown() if own is not None else ""
        reason = f"a wording of the model's: {faults[0]}"
        refused.append(Discarded.of(edit, reason).model_copy(update={"rule": content}))
        checked += [edit.model_copy(update={"content": content})] if content else []
    return patch.model_copy(update={"edits": tuple(checked)}), tuple(refused)
