"""Merging patches without a model: lessons that name the same cause become one rule, whose support
counts their tasks.

Trace2Skill (arXiv 2603.25158, section 2.3) asks for prevalent patterns in SKILL.md and low-support
observations in references; its prompts carry no counts. Here support is counted in distinct tasks
and every rule keeps the ids of the trajectories it came from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.core import Edit, Patch, grouped
from harness.evolve.merge.answers import Answers
from harness.evolve.merge.contradictions import settle
from harness.evolve.merge.evidence import (
    OPPOSED,
    Citations,
    nearer,
    opposition,
    outvoted,
    quoted,
    saying,
    signs_of,
    typical,
)
from harness.evolve.merge.lessons import (
    Cause,
    Lesson,
    Lessons,
    best_supported_first,
    of_edit,
    support,
)
from harness.evolve.merge.similarity import METHOD, similar_groups
from harness.evolve.merge.speakers import distinct, joined, parted, speakers
from harness.evolve.merge.wording import best_wording, compact, content_words, numbers_and_codes
from harness.evolve.rules import Member, Rule
from harness.evolve.types import SAID, Conflict, Discarded, Merge

if TYPE_CHECKING:
    from harness.evolve.merge.outcomes import Contrast

UNFIT = "no wording that tells what to do, free of one task's particulars, in 3 to 30 words"
OPPOSITE = "the lessons of other tasks say the opposite"
SHOWN = "its run shows what a rule rests on, which says it in no word of it"
DIVIDED = "its lessons speak against each other"
# Mean distance up to which lessons of one confusion are linked.
CONFUSED_DISTANCE = 0.85
# Patches that are merged at one time: comparing all with all takes the square of their number.
SHARD = 10_000


def merge_deterministic(
    patches: Sequence[Patch],
    tasks: Mapping[str, str],
    terms: frozenset[str] = frozenset(),
    scopes: Mapping[str, str] | None = None,
    citations: Citations | None = None,
    contrast: Contrast | None = None,
    praised: frozenset[str] = frozenset(),
    confirmed: frozenset[str] = frozenset(),
) -> Merge:
    """Merge patches into one, the same bytes every time and in every order of equal support.

    Every lesson is a rule's own wording, or stands in `discarded` with the reason and, where a rule
    took it in, that rule.

    Args:
        patches: patches whose edits carry `sources`.
        tasks: trajectory id -> task id, for counting support.
        terms: words of the benchmark that no rule may hold.
        scopes: text of a lesson -> when it applies, as its analyst put it; compared too.
        citations: what lessons quote; lessons of different evidence are never counted as one.
        contrast: the runs that lessons quote from; what varies between them is evidence.
        praised: trajectories that passed, and whose lessons say what was done well.
        confirmed: wordings of lessons that running showed to hold: none is outvoted.
    """
    rows = [lesson for patch in patches for edit in patch.edits for lesson in of_edit(edit)]
    quotes = [quoted(lesson, citations or {}) for lesson in rows]
    praise = [praised.issuperset(lesson.sources) for lesson in rows]
    quotes, confusions = varying(rows, quotes, praise, contrast)
    confirmed |= {row.wording for row, confusion in zip(rows, confusions, strict=True) if confusion}
    lessons = Lessons(
        rows=rows, tasks=tasks, quotes=quotes, praise=praise, confirmed=confirmed,
        general=general_literals(rows, tasks, contrast.instructions if contrast else ()),
        confusions=confusions,
    )  # fmt: skip
    answers = contrast.answers if contrast is not None else Answers()
    groups, discarded = find_causes(lessons, scopes or {}, answers)
    blamed = [
        group
        for group in groups
        if group and not lessons.praise[group[0]] and not confusions[group[0]]
    ]
    signs = signs_of(rows, lessons.quotes, blamed)
    causes, unfit = worded(lessons, groups, signs, terms, answers)
    causes, conflicts, opposed = agreeing(lessons, causes)
    discarded += unfit + opposed

    speaking = speakers(lessons, causes, answers.labels)
    rule_texts = {  # number of a cause -> the rule that says it
        cause.number: speaker.wording.for_readers()
        for cause, speaker in zip(causes, speaking, strict=True)
    }
    edits: list[Edit] = []
    rules: list[Rule] = []
    for cause, restated in joined(lessons, causes, speaking):
        text = rule_texts[cause.number]
        rules.append(rule_of(lessons, cause, signs))
        sources = set(cause.sources)
        for members in (cause.members, *restated):
            # Praise that says the same supports a rule, and is no evidence of what it blames.
            reworded = [n for n in members if compact(rows[n]).text != cause.wording.text]
            sources.update(lessons.sources(members))
            words = set(content_words(cause.wording.text))
            for number in reworded:
                shared = words & set(content_words(rows[number].text))
                discarded += lessons.discarded([number], SAID if shared else SHOWN, text)
        edits.append(edit_of(lessons, replace(cause, sources=tuple(sorted(sources)))))

    edits += unlike_edits(patches, tasks)
    reasoning = (
        f"{sum(len(patch.edits) for patch in patches)} edits of {len(patches)} patches grouped by "
        f"what they quote and {METHOD} into {len(edits)}; support is counted in distinct tasks."
    )
    return Merge(
        patch=Patch(reasoning=reasoning, edits=tuple(edits)),
        discarded=tuple(discarded),
        conflicts=tuple(conflicts),
        rules=tuple(rules),
        method=METHOD,
    )


def shards(patches: list[Patch]) -> list[list[Patch]]:
    """The patches that are merged at one time; what comes of them is merged once more."""
    return [patches[start : start + SHARD] for start in range(0, len(patches), SHARD)]


def signs_of_rules(merges: Iterable[Merge]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Quotes that show what each rule forbids, so that it can be merged again as a lesson.

    Args:
        merges: by :func:`merge_deterministic`, whose edits are its rules first.
    """
    return {
        (source, lesson.text): rule.signs
        for merge in merges
        for edit, rule in zip(merge.patch.edits, merge.rules, strict=False)
        for lesson in of_edit(edit)
        for source in edit.sources[:1]
    }


def general_literals(
    rows: Sequence[Lesson], tasks: Mapping[str, str], instructions: Iterable[str]
) -> frozenset[str]:
    """Numbers that the lessons of several tasks hold, and those and codes that runs are told of."""
    holders: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for literal in numbers_and_codes(row.wording):
            holders[literal] |= {tasks.get(name, name) for name in row.sources}
    several = {text for text, names in holders.items() if len(names) > 1 and text.isdecimal()}
    return frozenset(several.union(*map(numbers_and_codes, instructions)))


def varying(
    rows: Sequence[Lesson],
    quotes: Sequence[tuple[str, ...]],
    praise: Sequence[bool],
    contrast: Contrast | None,
) -> tuple[list[tuple[str, ...]], list[str]]:
    """The quotes of each lesson that instructions do not hold: those stand in every run; and what
    the runs of each confused.

    Praise keeps them: it praises what every run was told. A confusion is evidence in place of any
    quote, if the lesson is about it.

    Args:
        rows: the lessons.
        quotes: of each lesson.
        praise: whether each says what passed runs did well.
        contrast: the runs that they are of; None where nothing varies that is known.
    """
    if contrast is None:
        return list(quotes), [""] * len(rows)
    instructed = {quote for row in quotes for quote in row if contrast.instructs(quote)}
    confusions = [contrast.answers.confusion(lesson) for lesson in rows]
    evidence = [
        (confusion,) if confusion else tuple(q for q in row if praises or q not in instructed)
        for confusion, row, praises in zip(confusions, quotes, praise, strict=True)
    ]
    return evidence, confusions


def find_causes(
    lessons: Lessons, scopes: Mapping[str, str], answers: Answers
) -> tuple[list[list[int]], list[Discarded]]:
    """Lessons that sound alike and quote alike, and those of no cause.

    Praise of passed runs blames nothing: it stands apart. Lessons that most tasks speak against
    name no cause. A lesson that sounds like those of another cause joins them, whatever it quotes.
    A group that is left without lessons keeps its number.

    Args:
        lessons: all of them.
        scopes: text of a lesson -> when it applies.
    """
    causes: list[list[int]] = []
    discarded: list[Discarded] = []
    rows = lessons.rows
    for praise in (False, True):
        part = [number for number, alike in enumerate(lessons.praise) if alike == praise]
        votes = outvoted(
            [rows[number] for number in part],
            [lessons.taught_by(rows[number].sources) for number in part],
        )
        against = {
            n: why for n, why in votes.items() if rows[part[n]].wording not in lessons.confirmed
        }
        for index, reason in against.items():
            discarded += lessons.discarded([part[index]], reason)
        part = [number for index, number in enumerate(part) if index not in against]
        by_confusion = grouped((lessons.confusions[number], number) for number in part)
        part = by_confusion.pop("", [])
        for confused in by_confusion.values():
            alike = similar_groups(
                [answers.document(rows[number]) for number in confused],
                distance=CONFUSED_DISTANCE,
            )
            for group in alike:
                causes += parted([confused[index] for index in group], rows, answers.labels)
        groups = similar_groups(
            [f"{rows[number].wording} {scopes.get(rows[number].text, '')}" for number in part],
            [" ".join(lessons.quotes[number]) for number in part],
        )
        groups = [
            side
            for group in groups
            for side in parted([part[index] for index in group], rows, answers.labels)
        ]
        moved = {
            number: cause
            for number, cause in nearer(groups, rows, [*map(lessons.support, groups)]).items()
            if not distinct(rows[number].text, rows[groups[cause][0]].text, answers.labels)
        }
        members = [[number for number in group if number not in moved] for group in groups]
        for number, cause in sorted(moved.items()):
            members[cause].append(number)
        causes += members
    return causes, discarded


def worded(
    lessons: Lessons,
    groups: Sequence[Sequence[int]],
    signs: Sequence[Sequence[str]],
    terms: frozenset[str],
    answers: Answers,
) -> tuple[list[Cause], list[Discarded]]:
    """The causes that have a wording which can stand in a skill, best supported first; the others.

    Args:
        lessons: all of them.
        groups: of each cause, numbers of its lessons.
        signs: of each lesson, its quotes that show a failure.
        terms: words of the benchmark.
        answers: of the runs; a wording that asks for one goes before others.
    """
    follows = [
        bool(quotes) and not lesson_signs and not praise
        for quotes, lesson_signs, praise in zip(lessons.quotes, signs, lessons.praise, strict=True)
    ]
    voices = [
        frozenset[str]() if praise else lessons.taught_by(row.sources)
        for row, praise in zip(lessons.rows, lessons.praise, strict=True)
    ]
    opposed = [
        0.0 if row.wording in lessons.confirmed else score
        for row, score in zip(lessons.rows, opposition(lessons.rows, voices), strict=True)
    ]
    causes: list[Cause] = []
    discarded: list[Discarded] = []
    for number, members in enumerate(groups):
        if not members:
            continue
        if min(opposed[n] for n in members) > OPPOSED:
            discarded += lessons.discarded(members, OPPOSITE)
            continue
        candidates = typical(members, lessons.rows, follows)
        if lessons.confusions[members[0]]:
            candidates = [n for n in members if answers.named(lessons.rows[n].text)[0]] or members
        agreed = [n for n in members if opposed[n] <= 0]
        first = [n for n in candidates if opposed[n] <= 0] or agreed or candidates
        wording = best_wording(lessons.rows, first, terms, lessons.general) if candidates else None
        if candidates and wording is None:
            wording = best_wording(lessons.rows, agreed or members, terms, lessons.general)
        if wording is None:
            discarded += lessons.discarded(members, UNFIT if candidates else DIVIDED)
        else:
            sources, praise = lessons.sources(members), lessons.praise[members[0]]
            causes.append(Cause(number, members, wording, sources, praise))
    return best_supported_first(lessons, causes), discarded


def agreeing(
    lessons: Lessons, causes: Sequence[Cause]
) -> tuple[list[Cause], list[Conflict], list[Discarded]]:
    """Causes without those that more tasks speak against than for, or that contradict another.

    Praise speaks against praise alone.

    Args:
        lessons: all of them.
        causes: with their wordings, best supported first.
    """
    mixed = len({cause.praise for cause in causes}) > 1
    voices = [() if mixed and cause.praise else cause.sources for cause in causes]
    votes = outvoted(
        [cause.wording for cause in causes], [lessons.taught_by(names) for names in voices]
    )
    against = {
        index: reason
        for index, reason in votes.items()
        if lessons.confirmed.isdisjoint(lessons.by_wording(causes[index].members))
    }
    withheld, conflicts = settle(
        [
            cause.wording.model_copy(update={"sources": () if index in against else cause.sources})
            for index, cause in enumerate(causes)
        ],
        [support(names, lessons.tasks) for names in voices],
    )
    against |= withheld
    discarded = [
        row
        for index, reason in against.items()
        for row in lessons.discarded(causes[index].members, reason)
    ]
    return [cause for n, cause in enumerate(causes) if n not in against], conflicts, discarded


def edit_of(lessons: Lessons, cause: Cause) -> Edit:
    """The rule of a cause as an edit, filed under the heading that most of its lessons name."""
    sections = [lessons.rows[n].section for n in cause.members if lessons.rows[n].section]
    return Edit(
        file="SKILL.md",
        op="append_to_section",
        target_section=max(sorted(set(sections)), key=sections.count, default="Lessons"),
        content=cause.wording.markdown(),
        sources=cause.sources,
        support=support(cause.sources, lessons.tasks),
    )


def rule_of(lessons: Lessons, cause: Cause, signs: Sequence[Sequence[str]]) -> Rule:
    """Collect the evidence of a cause's rule.

    Args:
        lessons: all of them.
        cause: that the rule is of.
        signs: of each lesson, its quotes that show a failure.
    """

    def signs_in(numbers: Iterable[int]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(sign for number in numbers for sign in signs[number]))

    words = [saying(compact(lessons.rows[n]).text) - {"not"} for n in cause.members]
    rule_signs = signs_in(cause.members)
    return Rule(
        content=cause.wording.for_readers(),
        signs=rule_signs,
        praise=cause.praise,
        related=any(lessons.confusions[n] for n in cause.members)
        or any(row & saying(sign) for sign in rule_signs for row in words),
        quoted=any(lessons.quotes[number] for number in cause.members),
        members=tuple(
            Member(wording=wording, sources=lessons.sources(group), quotes=signs_in(group))
            for wording, group in lessons.by_wording(cause.members).items()
        ),
    )


def unlike_edits(patches: Sequence[Patch], tasks: Mapping[str, str]) -> list[Edit]:
    """Edits that are no lessons (replacements, new files, ...): equal ones are one."""
    unlike: dict[str, Edit] = {}
    for edit in (edit for patch in patches for edit in patch.edits if not of_edit(edit)):
        key = edit.model_dump_json(exclude={"sources", "support"})
        earlier = unlike[key].sources if key in unlike else ()
        sources = tuple(sorted({*edit.sources, *earlier}))
        update = {"sources": sources, "support": support(sources, tasks)}
        unlike[key] = edit.model_copy(update=update)
    return sorted(unlike.values(), key=lambda edit: (-edit.support, edit.model_dump_json()))
