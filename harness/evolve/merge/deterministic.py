"""Merging patches without a model: lessons that say the same become one rule, whose support
counts their tasks.

Trace2Skill (arXiv 2603.25158, section 2.3) asks for prevalent patterns in SKILL.md and low-support
observations in references; its prompts carry no counts. Here support is counted in distinct tasks
and every rule keeps the ids of the trajectories it came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from harness.core import Edit, Patch
from harness.evolve.merge.contradictions import contradictions
from harness.evolve.merge.evidence import Citations, corroborated, signs_of
from harness.evolve.merge.lessons import Lesson, of_edit
from harness.evolve.merge.similarity import Grouping, measure, similar_groups
from harness.evolve.merge.wording import best_wording
from harness.evolve.types import Conflict, Discarded, Merge

ItemT = TypeVar("ItemT")
# A contradiction is settled, not withheld, where one side has so many times the tasks.
STRONGER = 3


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
) -> Merge:
    """Merge patches into one, the same bytes every time and in every order of equal support.

    Args:
        patches: patches whose edits carry `sources`.
        tasks: trajectory id -> task id, for counting support.
        terms: words of the benchmark that no rule may hold.
        grouping: how lessons that say the same are found.
        scopes: text of a lesson -> when it applies, as its analyst put it; compared too.
        citations: what lessons quote, so that evidence counts for one rule only.
    """
    by, scopes = measure(grouping), scopes or {}
    lessons = [lesson for patch in patches for edit in patch.edits for lesson in of_edit(edit)]
    withheld, conflicts = _settle(lessons, tasks)
    lessons = [lesson for index, lesson in enumerate(lessons) if index not in withheld]
    groups: list[list[int]] = []
    discarded: list[Discarded] = []
    if lessons:
        texts = [f"{lesson.wording} {scopes.get(lesson.text, '')}" for lesson in lessons]
        signs = signs_of(lessons, citations or {}, tasks)
        groups, left_out = corroborated(similar_groups(texts, by), lessons, signs, by)
        discarded += [
            _discarded(lessons[index], lessons[index].sources, tasks, reason)
            for index, reason in sorted(left_out.items())
        ]
    rules: list[tuple[tuple[int, int, str], Edit]] = []
    for members in groups:
        sources = _sources(lessons[index] for index in members)
        wording = best_wording(lessons, members, terms)
        if wording is None:
            reason = "no wording free of one task's particulars, or too short or long for a rule"
            discarded.append(_discarded(lessons[members[0]], sources, tasks, reason))
            continue
        headings = [lessons[index].section for index in members if lessons[index].section]
        edit = Edit(
            file="SKILL.md",
            op="append_to_section",
            target_section=max(sorted(set(headings)), key=headings.count, default="Lessons"),
            content=wording.markdown(),
            sources=sources,
            support=support(sources, tasks),
        )
        rules.append(((-edit.support, -len(members), wording.wording), edit))
    edits = [edit for _, edit in sorted(rules, key=lambda rule: rule[0])]
    # Edits that are no lessons (replacements, new files, ...): equal ones are one.
    unlike: dict[str, Edit] = {}
    for edit in (edit for patch in patches for edit in patch.edits if not of_edit(edit)):
        key = edit.model_dump_json(exclude={"sources", "support"})
        earlier = unlike[key].sources if key in unlike else ()
        sources = tuple(sorted({*edit.sources, *earlier}))
        update = {"sources": sources, "support": support(sources, tasks)}
        unlike[key] = edit.model_copy(update=update)
    edits += sorted(unlike.values(), key=lambda edit: (-edit.support, edit.model_dump_json()))
    reasoning = (
        f"{sum(len(patch.edits) for patch in patches)} edits of {len(patches)} patches grouped by "
        f"{by.name} into {len(edits)}; support is counted in distinct tasks."
    )
    return Merge(
        patch=Patch(reasoning=reasoning, edits=tuple(edits)),
        discarded=tuple(discarded),
        conflicts=tuple(conflicts),
        method=by.name,
    )


def _discarded(
    lesson: Lesson, sources: tuple[str, ...], tasks: Mapping[str, str], reason: str
) -> Discarded:
    count = support(sources, tasks)
    return Discarded(content=lesson.wording, reason=reason, sources=sources, support=count)


def _sources(lessons: Iterable[Lesson]) -> tuple[str, ...]:
    return tuple(sorted({source for lesson in lessons for source in lesson.sources}))


def _settle(lessons: Sequence[Lesson], tasks: Mapping[str, str]) -> tuple[set[int], list[Conflict]]:
    """Indices of lessons to withhold, and the contradictions that they are part of."""
    sides: dict[str, tuple[set[int], set[int]]] = {}
    for pair in contradictions(lessons):
        side_a, side_b = sides.setdefault(pair.about, (set(), set()))
        swapped = side_b & set(pair.one) or side_a & set(pair.two)
        side_a |= set(pair.two if swapped else pair.one)
        side_b |= set(pair.one if swapped else pair.two)
    withheld: set[int] = set()
    conflicts: list[Conflict] = []
    for about, (side_a, side_b) in sides.items():
        weights = [support(_sources(lessons[i] for i in side), tasks) for side in (side_a, side_b)]
        strong, weak = (side_a, side_b) if weights[0] >= STRONGER * weights[1] else (side_b, side_a)
        settled = max(weights) >= STRONGER * min(weights)
        losers = weak if settled else side_a | side_b
        withheld |= losers
        conflicts.append(
            Conflict(
                kept=lessons[min(strong)].wording if settled else "",
                withheld=tuple(lessons[i].wording for i in sorted(losers)),
                about=about,
                sources=_sources(lessons[i] for i in {*side_a, *side_b}),
            )
        )
    return withheld, conflicts
