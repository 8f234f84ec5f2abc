"""Merging patches without a model: lessons that say the same become one rule, whose support
counts their tasks.

Trace2Skill (arXiv 2603.25158, section 2.3) asks for prevalent patterns in SKILL.md and low-support
observations in references; its prompts carry no counts. Here support is counted in distinct tasks
and every rule keeps the ids of the trajectories it came from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from harness.core import Edit, Patch
from harness.evolve.merge.contradictions import parted, settle
from harness.evolve.merge.evidence import (
    Citations,
    Mistake,
    mistaken,
    outvoted,
    quoted,
    saying,
    signs_of,
    typical,
)
from harness.evolve.merge.lessons import Lesson, of_edit
from harness.evolve.merge.similarity import CHUNK, Grouping, Measure, measure, similar_groups
from harness.evolve.merge.wording import best_wording, compact
from harness.evolve.rules import Member, Rule
from harness.evolve.types import SAID, Discarded, Merge

ItemT = TypeVar("ItemT")
UNFIT = "no wording free of one task's particulars, or too short or long for a rule"
# Rules at least so similar say the same.
SAME = 0.6


def batches(items: Sequence[ItemT], size: int) -> list[list[ItemT]]:
    """Deal `items` into batches of `size`.

    Full batches in order; a remainder below half a batch is dealt one by one to the batches
    before it, a larger one is a batch of its own (Trace2Skill, official `chunk_list`:
    70 at 32 gives [35, 35]).

    Raises:
        ValueError: if `size` is below 2, which would never come to one patch.
    """
    if size < 2:
        raise ValueError(f"a merge batch holds at least 2 patches, got {size}")
    dealt = [list(items[start : start + size]) for start in range(0, len(items), size)]
    if len(dealt) > 1 and 2 * len(dealt[-1]) < size:
        for position, item in enumerate(dealt.pop()):
            dealt[position % len(dealt)].append(item)
    return dealt


def support(sources: Iterable[str], tasks: Mapping[str, str]) -> int:
    """Number of distinct tasks among trajectories; an unknown trajectory is its own task."""
    return len({tasks.get(source, source) for source in sources})


def merge_deterministic(
    patches: Sequence[Patch],
    tasks: Mapping[str, str],
    terms: frozenset[str] = frozenset(),
    grouping: Grouping = "lexical",
    scopes: Mapping[str, str] | None = None,
    citations: Citations | None = None,
    praised: frozenset[str] = frozenset(),
) -> Merge:
    """Merge patches into one, the same bytes every time and in every order of equal support.

    Every lesson is a rule's own wording, or stands in `discarded` with the reason and, where a rule
    took it in, that rule.

    Args:
        patches: patches whose edits carry `sources`.
        tasks: trajectory id -> task id, for counting support.
        terms: words of the benchmark that no rule may hold.
        grouping: how lessons that sound alike are found.
        scopes: text of a lesson -> when it applies, as its analyst put it; compared too.
        citations: what lessons quote; lessons of different evidence are never counted as one.
        praised: trajectories that passed, and whose lessons say what was done well.
    """
    by, scopes, citations = measure(grouping), scopes or {}, citations or {}
    lessons = [lesson for patch in patches for edit in patch.edits for lesson in of_edit(edit)]
    discarded: list[Discarded] = []
    tasks_of = [frozenset(tasks.get(name, name) for name in row.sources) for row in lessons]
    texts = [f"{lesson.wording} {scopes.get(lesson.text, '')}" for lesson in lessons]
    quotes = [quoted(lesson, citations) for lesson in lessons]

    # 1. Causes: lessons that sound alike and quote alike, without those that most tasks speak
    # against and those that are mistaken. Praise of passed runs blames nothing: it stands apart.
    causes: list[list[int]] = []
    mistakes: dict[int, Mistake] = {}
    praises = [praised.issuperset(lesson.sources) for lesson in lessons]
    for praise in (False, True):
        part = [index for index, alike in enumerate(praises) if alike == praise]
        against = outvoted([lessons[i] for i in part], [tasks_of[i] for i in part])
        discarded += [_discarded([lessons[part[n]]], tasks, why) for n, why in against.items()]
        part = [index for n, index in enumerate(part) if n not in against]
        joined = [" ".join(quotes[index]) for index in part]
        groups = similar_groups([texts[index] for index in part], by, joined)
        groups = [side for group in groups for side in parted([part[n] for n in group], lessons)]
        sizes = [_support(lessons, group, tasks) for group in groups]
        for index, mistake in mistaken(groups, lessons, sizes).items():
            cause = mistake.cause + len(causes)
            mistakes[index] = mistake.model_copy(update={"cause": cause})
        causes += groups
    # A cause without lessons keeps its number.
    causes = [[index for index in cause if index not in mistakes] for cause in causes]
    signs = signs_of(lessons, quotes, [row for row in causes if row and not praises[row[0]]])

    # 2. Rules: the wording of each cause that can stand in a skill, best supported first.
    follows = [
        bool(said) and not shown and not praise
        for said, shown, praise in zip(quotes, signs, praises, strict=True)
    ]
    worded: list[tuple[Lesson, int]] = []
    for number, members in enumerate(causes):
        if not members:
            continue
        chosen = typical(members, lessons, follows)
        wording = best_wording(lessons, chosen, terms)
        if chosen and wording is None:
            wording = best_wording(lessons, members, terms)
        if wording is not None:
            worded.append((wording, number))
        else:
            reason = UNFIT if chosen else "its lessons speak against each other"
            discarded += _each(lessons, members, tasks, reason)
    ranked = sorted(
        worded,
        key=lambda pair: (
            praises[causes[pair[1]][0]],
            -_support(lessons, causes[pair[1]], tasks),
            -len(causes[pair[1]]),
            pair[0].wording,
            sorted(quote for index in causes[pair[1]] for quote in quotes[index]),
        ),
    )

    # 3. Rules that more tasks speak against than for, or that cannot be followed beside another.
    # Praise speaks against praise alone.
    sourced = [_sources(lessons[index] for index in causes[number]) for _, number in ranked]
    mixed = len({praises[causes[number][0]] for _, number in ranked}) > 1
    voices = [
        () if mixed and praises[causes[number][0]] else names
        for names, (_, number) in zip(sourced, ranked, strict=True)
    ]
    against = outvoted(
        [wording for wording, _ in ranked],
        [frozenset(tasks.get(name, name) for name in names) for names in voices],
    )
    withheld, conflicts = settle(
        [
            wording.model_copy(update={"sources": () if place in against else names})
            for place, ((wording, _), names) in enumerate(zip(ranked, sourced, strict=True))
        ],
        [support(names, tasks) for names in voices],
    )
    against |= withheld
    for place, reason in against.items():
        discarded += _each(lessons, causes[ranked[place][1]], tasks, reason)
    ranked = [pair for place, pair in enumerate(ranked) if place not in against]

    # 4. Of rules that say the same from other evidence, the best supported stays.
    said_by = _duplicates([wording.wording for wording, _ in ranked], by)
    content: dict[int, str] = {}  # cause -> the rule that says it
    edits: list[Edit] = []
    rules: list[Rule] = []
    for place, (wording, number) in enumerate(ranked):
        content[number] = ranked[said_by[place]][0].for_readers()
        if said_by[place] != place:
            reason = "a rule with other evidence says the same"
            discarded += _each(lessons, causes[number], tasks, reason, content[number])
            continue
        sources = _sources(lessons[index] for index in causes[number])
        sections = [lessons[index].section for index in causes[number] if lessons[index].section]
        edit = Edit(
            file="SKILL.md",
            op="append_to_section",
            target_section=max(sorted(set(sections)), key=sections.count, default="Lessons"),
            content=wording.markdown(),
            sources=sources,
            support=support(sources, tasks),
        )
        edits.append(edit)
        words = [saying(lessons[index].text) - {"not"} for index in causes[number]]
        shown = tuple(dict.fromkeys(sign for i in causes[number] for sign in signs[i]))
        rules.append(
            Rule(
                content=content[number],
                signs=shown,
                praise=praises[causes[number][0]],
                related=any(row & saying(sign) for sign in shown for row in words),
                quoted=any(quotes[index] for index in causes[number]),
                members=_members(lessons, causes[number], signs),
            )
        )
        reworded = [i for i in causes[number] if compact(lessons[i]).text != wording.text]
        discarded += _each(lessons, reworded, tasks, SAID, content[number])
    for index, mistake in sorted(mistakes.items()):
        rule = content.get(mistake.cause, "")
        discarded.append(_discarded([lessons[index]], tasks, mistake.reason, rule))

    edits += _unlike(patches, tasks)
    reasoning = (
        f"{sum(len(patch.edits) for patch in patches)} edits of {len(patches)} patches grouped by "
        f"what they quote and {by.name} into {len(edits)}; support is counted in distinct tasks."
    )
    return Merge(
        patch=Patch(reasoning=reasoning, edits=tuple(edits)),
        discarded=tuple(discarded),
        conflicts=tuple(conflicts),
        rules=tuple(rules),
        method=by.name,
    )


def _unlike(patches: Sequence[Patch], tasks: Mapping[str, str]) -> list[Edit]:
    """Edits that are no lessons (replacements, new files, ...): equal ones are one."""
    unlike: dict[str, Edit] = {}
    for edit in (edit for patch in patches for edit in patch.edits if not of_edit(edit)):
        key = edit.model_dump_json(exclude={"sources", "support"})
        earlier = unlike[key].sources if key in unlike else ()
        sources = tuple(sorted({*edit.sources, *earlier}))
        update = {"sources": sources, "support": support(sources, tasks)}
        unlike[key] = edit.model_copy(update=update)
    return sorted(unlike.values(), key=lambda edit: (-edit.support, edit.model_dump_json()))


def _duplicates(wordings: Sequence[str], by: Measure) -> list[int]:
    """Of every rule, the first that says the same; of the first :data:`CHUNK`, the others cost more
    to compare than they take."""
    first = list(range(len(wordings)))
    if not wordings:
        return first
    alike = by.similarities(wordings[:CHUNK]) >= SAME
    for place in range(len(alike)):
        earlier = (n for n in range(place) if alike[place, n] and first[n] == n)
        first[place] = next(earlier, place)
    return first


def _each(
    lessons: Sequence[Lesson],
    members: Iterable[int],
    tasks: Mapping[str, str],
    reason: str,
    rule: str = "",
) -> list[Discarded]:
    """One row for each distinct wording."""
    same: dict[str, list[Lesson]] = defaultdict(list)
    for index in members:
        same[lessons[index].wording].append(lessons[index])
    return [_discarded(group, tasks, reason, rule) for group in same.values()]


def _discarded(
    lessons: Sequence[Lesson], tasks: Mapping[str, str], reason: str, rule: str = ""
) -> Discarded:
    sources = _sources(lessons)
    return Discarded(
        content=lessons[0].wording,
        reason=reason,
        sources=sources,
        support=support(sources, tasks),
        rule=rule,
    )


def _support(lessons: Sequence[Lesson], members: Iterable[int], tasks: Mapping[str, str]) -> int:
    return support(_sources(lessons[index] for index in members), tasks)


def _members(
    lessons: Sequence[Lesson], indices: Iterable[int], signs: Sequence[Sequence[str]]
) -> tuple[Member, ...]:
    same: dict[str, list[int]] = defaultdict(list)
    for index in indices:
        same[lessons[index].wording].append(index)
    return tuple(
        Member(
            wording=wording,
            sources=_sources(lessons[index] for index in group),
            quotes=tuple(dict.fromkeys(sign for index in group for sign in signs[index])),
        )
        for wording, group in same.items()
    )


def _sources(lessons: Iterable[Lesson]) -> tuple[str, ...]:
    return tuple(sorted({source for lesson in lessons for source in lesson.sources}))
