"""Merging patches without a model: lessons that say the same are one rule with their support.

Trace2Skill (arXiv 2603.25158, section 2.3) asks for prevalent patterns in SKILL.md and low-support
observations in references; its prompts carry no counts. Here support is counted in distinct tasks
and every rule keeps the ids of the trajectories it came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.core import Edit, Patch
from harness.evolve.corroboration import corroborated
from harness.evolve.merge.contradictions import contradictions
from harness.evolve.merge.evidence import Citations, signs_of
from harness.evolve.merge.lessons import Lesson, of_edit
from harness.evolve.merge.similarity import Grouping, Measure, measure, similar_groups
from harness.evolve.merge.wording import best_wording
from harness.evolve.types import Conflict, Discarded, Merge

STRONGER = 3
"""A contradiction is settled, not withheld, where one side has so many times the tasks."""


@dataclass(frozen=True)
class Rule:
    """Lessons that say the same.

    Attributes:
        lesson: the wording that is kept, with the sources of all.
        members: every lesson.
        support: distinct tasks.
    """

    lesson: Lesson
    members: tuple[Lesson, ...]
    support: int


@dataclass(frozen=True)
class Rules:
    """What grouping gave: rules by support, and what fell out of it."""

    rules: tuple[Rule, ...]
    discarded: tuple[Discarded, ...]
    conflicts: tuple[Conflict, ...]


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
    by = measure(grouping)
    found = rules_of(patches, tasks, terms, by, scopes or {}, citations or {})
    edits = [
        Edit(
            file="SKILL.md",
            op="append_to_section",
            target_section=_section(rule),
            content=rule.lesson.markdown(),
            sources=rule.lesson.sources,
            support=rule.support,
        )
        for rule in found.rules
    ]
    edits += _other_edits(patches, tasks)
    reasoning = (
        f"{sum(len(patch.edits) for patch in patches)} edits of {len(patches)} patches grouped by "
        f"{by.name} into {len(edits)}; support is counted in distinct tasks."
    )
    return Merge(
        patch=Patch(reasoning=reasoning, edits=tuple(edits)),
        discarded=found.discarded,
        conflicts=found.conflicts,
        method=by.name,
    )


def rules_of(
    patches: Sequence[Patch],
    tasks: Mapping[str, str],
    terms: frozenset[str],
    by: Measure,
    scopes: Mapping[str, str],
    citations: Citations,
) -> Rules:
    """Group the lessons of patches into rules, contradictions taken out first."""
    lessons = [lesson for patch in patches for edit in patch.edits for lesson in of_edit(edit)]
    withheld, conflicts = _settle(lessons, tasks)
    lessons = [lesson for index, lesson in enumerate(lessons) if index not in withheld]
    if not lessons:
        return Rules((), (), tuple(conflicts))
    rules: list[Rule] = []
    discarded: list[Discarded] = []
    texts = [f"{one.wording} {scopes.get(one.text, '')}" for one in lessons]
    signs = signs_of(lessons, citations, tasks)
    found = corroborated(similar_groups(texts, by), lessons, signs, by)
    for at, reason in sorted(found.left_out.items()):
        one = lessons[at]
        count = support(one.sources, tasks)
        discarded.append(
            Discarded(content=one.wording, reason=reason, sources=one.sources, support=count)
        )
    for members in found.groups:
        sources = _sources(lessons[index] for index in members)
        count = support(sources, tasks)
        wording = best_wording(lessons, members, terms)
        if wording is None:
            central = lessons[members[0]]
            reason = "no wording free of one task's particulars, or too short or long for a rule"
            discarded.append(
                Discarded(content=central.wording, reason=reason, sources=sources, support=count)
            )
            continue
        kept = wording.model_copy(update={"sources": sources})
        rules.append(Rule(kept, tuple(lessons[index] for index in members), count))
    rules.sort(key=lambda rule: (-rule.support, -len(rule.members), rule.lesson.wording))
    return Rules(tuple(rules), tuple(discarded), tuple(conflicts))


def support(sources: Sequence[str], tasks: Mapping[str, str]) -> int:
    """Number of distinct tasks among trajectories; an unknown trajectory is its own task."""
    return len({tasks.get(source, source) for source in sources})


def _sources(lessons: Iterable[Lesson]) -> tuple[str, ...]:
    return tuple(sorted({source for lesson in lessons for source in lesson.sources}))


def _section(rule: Rule) -> str:
    names = [lesson.section for lesson in rule.members if lesson.section]
    return max(sorted(set(names)), key=names.count) if names else "Lessons"


def _settle(lessons: Sequence[Lesson], tasks: Mapping[str, str]) -> tuple[set[int], list[Conflict]]:
    """Indices of lessons to withhold, and the contradictions that they are part of."""
    sides: dict[str, tuple[set[int], set[int]]] = {}
    for pair in contradictions(lessons):
        left, right = sides.setdefault(pair.about, (set(), set()))
        swapped = right & set(pair.one) or left & set(pair.two)
        left |= set(pair.two if swapped else pair.one)
        right |= set(pair.one if swapped else pair.two)
    withheld: set[int] = set()
    conflicts: list[Conflict] = []
    for about, (left, right) in sides.items():
        weight = [support(_sources(lessons[i] for i in side), tasks) for side in (left, right)]
        strong = 0 if weight[0] >= STRONGER * weight[1] else 1
        settled = max(weight) >= STRONGER * min(weight)
        lost = (left, right)[1 - strong] if settled else left | right
        winner = lessons[min((left, right)[strong])].wording if settled else ""
        withheld |= lost
        conflicts.append(
            Conflict(
                kept=winner,
                withheld=tuple(lessons[i].wording for i in sorted(lost)),
                about=about,
                sources=_sources(lessons[i] for i in {*left, *right}),
            )
        )
    return withheld, conflicts


def _other_edits(patches: Sequence[Patch], tasks: Mapping[str, str]) -> list[Edit]:
    """Edits that are no lessons (replacements, new files, ...): equal ones are one."""
    found: dict[str, Edit] = {}
    for edit in (edit for patch in patches for edit in patch.edits if not of_edit(edit)):
        key = edit.model_dump_json(exclude={"sources", "support"})
        known = found.get(key)
        sources = tuple(sorted({*edit.sources, *(known.sources if known else ())}))
        update = {"sources": sources, "support": support(sources, tasks)}
        found[key] = edit.model_copy(update=update)
    return sorted(found.values(), key=lambda edit: (-edit.support, edit.model_dump_json()))
