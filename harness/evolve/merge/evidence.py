"""What lessons quote: whether it explains a failure, and for which rule it speaks.

Trace2Skill hands an error analyst one failed run, and any line of it can be quoted for a lesson.
Runs that passed are at hand and cost no call: a line that they hold more often explains nothing
(:class:`Contrast`).

Lessons that differ in words may quote the same (:func:`corroborated`). An invented lesson quotes
something real, and the same words are quoted by the lessons about the failure that they show. A
rule that most of its lessons quote one sign for owns that sign; lessons of other rules that quote
it, too, support nothing there. A lesson that stands alone joins the rule whose sign it quotes, or
others that stand alone and quote the same. A rule that is no more like the other conclusions from
its sign than like lessons about anything else is a dissenting opinion.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from harness.core import Trajectory, digest
from harness.evolve.analysts.transcript import flat, transcript
from harness.evolve.artifacts import ArtifactStore, Run
from harness.evolve.merge.lessons import Lesson
from harness.evolve.merge.similarity import CHUNK, Measure
from harness.evolve.types import AnalystRecord, Loss

# Failed and passed runs that quotes are looked up in: tasks of either kind, and characters of one
# run (head and tail).
SAMPLE, LONGEST = 400, 60_000
# One-sided p (Fisher's exact test) below which passed runs do show a quote more often.
SURE = 0.05
# Tasks that make a pattern a sign, a group of lessons a rule, and a comparison with passed runs
# possible.
FEWEST = 2
# Signs that are followed up, the most quoted.
SIGNS = 1000
# A sign is other rules' where they quote it from so many times the tasks.
STRONGER = 3
# Lessons of other rules from the same sign that are needed to call a rule dissenting.
OPINIONS = 3
Citations = Mapping[tuple[str, str], Sequence[str]]
"""(trajectory id, text of the lesson) -> its quotes."""


def pattern(quote: str) -> str:
    """A quote without what belongs to one task: numbers are `#`, case and white space are even."""
    return flat(re.sub(r"\d+(?:[.,:]\d+)*", "#", quote)).strip(" \"'`")


@dataclass
class Contrast:
    """Transcripts of failed and passed runs by trajectory id, to look quotes up in.

    Attributes:
        failed: one run per task, :data:`SAMPLE` at most, chosen by digest.
        passed: the same of passed runs.
    """

    failed: Mapping[str, str]
    passed: Mapping[str, str]
    _matches: dict[str, tuple[frozenset[str], int]] = field(
        default_factory=dict[str, tuple[frozenset[str], int]]
    )

    @classmethod
    def of(cls, runs: Iterable[Run], store: ArtifactStore) -> Contrast:
        """The contrast of an evolution's runs; it holds two samples of them."""
        samples: dict[str, dict[str, str]] = {"fail": {}, "pass": {}}
        by_task = {(run.outcome, run.task_id): run for run in runs}
        if any(outcome == "pass" for outcome, _ in by_task):
            for run in sorted(by_task.values(), key=lambda run: digest(run.id)):
                texts = samples.get(run.outcome)
                if texts is not None and len(texts) < SAMPLE:
                    text = transcript(store.get(run.digest, Trajectory))
                    if len(text) > LONGEST:
                        text = f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"
                    texts[run.id] = pattern(text)
        return cls(samples["fail"], samples["pass"])

    def ordinary(self, quote: str, trajectory_id: str) -> bool:
        """Whether passed runs show what is quoted more often than other failed runs do.

        Args:
            quote: from a failed run.
            trajectory_id: of that run, which is not counted.
        """
        sign = pattern(quote)
        if sign not in self._matches:
            passes = sum(sign in text for text in self.passed.values())
            fails = (name for name, text in self.failed.items() if sign in text)
            self._matches[sign] = (frozenset(fails if passes >= FEWEST else ()), passes)
        failures, passes = self._matches[sign]
        if passes < FEWEST:
            return False
        total = len(self.failed) - (trajectory_id in self.failed)
        shown = len(failures - {trajectory_id})
        table = [[shown, total - shown], [passes, len(self.passed) - passes]]
        stats: Any = import_module("scipy.stats")
        return float(stats.fisher_exact(table, alternative="less").pvalue) < SURE

    def sift(self, record: AnalystRecord) -> tuple[AnalystRecord | None, tuple[Loss, ...]]:
        """An error record without the items whose own quotes are all ordinary.

        Items without quotes of their own and records of successes stay as they are.
        """
        if record.kind != "error":
            return record, ()
        name = record.trajectory_id
        idle = [
            item
            for item in record.items
            if item.evidence and all(self.ordinary(quote, name) for quote in item.evidence)
        ]
        reason = "runs that passed show the evidence more often: {!r} for {!r}"
        losses = tuple(
            Loss(
                trajectory_id=name,
                stage="analysts",
                reason=reason.format(item.evidence[0], item.lesson),
            )
            for item in idle
        )
        items = tuple(item for item in record.items if item not in idle)
        return (record.model_copy(update={"items": items}) if items else None), losses


@dataclass(frozen=True)
class Signs:
    """The signs of lessons: patterns that the lessons of several tasks quote.

    Attributes:
        tasks: of each lesson.
        of: of each lesson, one sign a quote; none if it quotes nothing, or something of its own.
    """

    tasks: Sequence[frozenset[str]]
    of: Sequence[Sequence[str]]

    def support(self, members: Iterable[int]) -> int:
        """Distinct tasks of lessons."""
        return len(frozenset[str]().union(*(self.tasks[index] for index in members)))

    def counts(self, members: Iterable[int]) -> Counter[str]:
        """Sign -> distinct tasks that lessons of the group quote it from."""
        pairs = {(sign, task) for n in members for sign in self.of[n] for task in self.tasks[n]}
        return Counter(sign for sign, _ in sorted(pairs))


def signs_of(lessons: Sequence[Lesson], citations: Citations, tasks: Mapping[str, str]) -> Signs:
    """Find the signs: of every quote, the most quoted pattern that it holds.

    Args:
        lessons: with their sources.
        citations: what they quote.
        tasks: trajectory id -> task id.
    """
    support = [frozenset(tasks.get(name, name) for name in lesson.sources) for lesson in lessons]
    patterns = [
        {
            pattern(quote): None
            for source in lesson.sources
            for quote in citations.get((source, lesson.text), ())
        }
        for lesson in lessons
    ]
    quoting: dict[str, set[str]] = defaultdict(set)
    for lesson_tasks, quotes in zip(support, patterns, strict=True):
        for quote in quotes:
            quoting[quote] |= lesson_tasks
    common = [quote for quote, quoted_by in quoting.items() if len(quoted_by) >= FEWEST]
    common = sorted(common, key=lambda quote: (-len(quoting[quote]), quote))[:SIGNS]
    held = {quote: next((sign for sign in common if sign in quote), None) for quote in quoting}
    signs: list[list[str]] = []
    for quotes in patterns:
        named = [sign for quote in quotes if (sign := held[quote]) is not None]
        signs.append(named if len(named) == len(quotes) else [])
    return Signs(support, signs)


def corroborated(
    groups: Sequence[Sequence[int]], lessons: Sequence[Lesson], signs: Signs, by: Measure
) -> tuple[list[list[int]], dict[int, str]]:
    """Judge groups of lessons that say the same by what they quote.

    Args:
        groups: indices of lessons that say the same, the most central first.
        lessons: all of them.
        signs: theirs; lessons without any stay where they are.
        by: how alike lessons are.

    Returns:
        Groups, each with its most central wording first, and lesson -> why it supports nothing.
    """
    if not any(signs.of):
        return [list(group) for group in groups], {}
    rules = [list(group) for group in groups if signs.support(group) >= FEWEST]
    own: dict[int, str] = {}  # rule -> its sign
    claims: list[tuple[int, int, str]] = []
    for number, members in enumerate(rules):
        for sign, count in signs.counts(members).most_common(1):
            if 2 * count > signs.support(members):
                own[number] = sign
                claims.append((-count, number, sign))
    owner: dict[str, int] = {}  # sign -> the rule that quotes it most
    weight: Counter[str] = Counter()  # sign -> tasks of all its rules
    for minus_count, number, sign in sorted(claims):
        owner.setdefault(sign, number)
        weight[sign] -= minus_count
    left_out: dict[int, str] = {}
    for number, members in enumerate(rules):
        counts = signs.counts(members)
        for index in members:
            foreign = [sign for sign in signs.of[index] if sign != own.get(number)]
            if len(foreign) < len(signs.of[index]) or not foreign:
                continue
            if all(weight[sign] >= STRONGER * counts[sign] for sign in foreign):
                reason = f"other rules quote the same from many more tasks: {foreign[0]!r}"
                left_out[index] = reason
    joined = [[index for index in members if index not in left_out] for members in rules]
    new: dict[str, list[int]] = {}
    for members in groups:
        if signs.support(members) < FEWEST:
            sign = next(iter(signs.of[members[0]]), f"lesson {members[0]}")
            rule = joined[owner[sign]] if sign in owner else new.setdefault(sign, [])
            rule.extend(members)
    joined += new.values()
    for number in _dissenting(joined, lessons, signs, by):
        reason = "from the same evidence, other lessons conclude something else"
        left_out |= dict.fromkeys(joined[number], reason)
        joined[number] = []
    return [group for group in joined if group], left_out


def _dissenting(
    groups: Sequence[Sequence[int]], lessons: Sequence[Lesson], signs: Signs, by: Measure
) -> list[int]:
    """Groups that are no more like other lessons from their sign than like those from others.

    More than :data:`CHUNK` lessons are judged by a sample.
    """
    import numpy as np

    step = -(-len(lessons) // CHUNK)
    place = {index: number for number, index in enumerate(range(0, len(lessons), step))}
    alike = by.similarities([lessons[index].wording for index in place])
    families: dict[str, set[int]] = defaultdict(set)  # sign -> places of the lessons that quote it
    for index in place:
        for sign in signs.of[index]:
            families[sign].add(place[index])
    dissenting: list[int] = []
    for number, members in enumerate(groups):
        if len(members) < FEWEST:
            continue
        group = {place[index] for index in members if index in place}
        for sign, _ in signs.counts(members).most_common(1):
            inside = [place[i] for i in members if i in place and sign in signs.of[i]]
            relatives = sorted(families[sign] - group)
            strangers = sorted(set(place.values()) - families[sign] - group)
            if not inside or len(relatives) < OPINIONS or not strangers:
                continue
            if alike[np.ix_(inside, relatives)].mean() <= alike[np.ix_(inside, strangers)].mean():
                dissenting.append(number)
    return dissenting
