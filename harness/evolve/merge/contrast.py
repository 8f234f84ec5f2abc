"""Evidence that tells failures apart: what a quote shows must be rarer where runs passed.

Trace2Skill hands an error analyst one failed run, and any line of it can be quoted for a lesson.
Runs that passed are at hand and cost no call: a line that they hold more often explains nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from harness.core import Trajectory, digest
from harness.evolve.artifacts import Shelf
from harness.evolve.evidence import flat, transcript
from harness.evolve.runs import Run, load
from harness.evolve.types import AnalystRecord, Loss, MemoryItem

SAMPLE = 400
"""Tasks on either side that are looked at."""
LONGEST = 60_000
"""Characters of a run that are looked at: head and tail."""
SURE = 0.05
"""One-sided p (Fisher's exact test) below which passed runs do show a quote more often."""
FEWEST = 2
"""Passed tasks that must show it before anything is said."""
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def pattern(quote: str) -> str:
    """A quote without what belongs to one task: numbers are `#`, case and white space are even."""
    return flat(_NUMBER.sub("#", quote)).strip(" \"'`")


@dataclass(frozen=True)
class _Text:
    trajectory_id: str
    text: str


@dataclass
class Contrast:
    """Transcripts of failed and passed runs, to look quotes up in.

    Attributes:
        failed: one run a task, :data:`SAMPLE` at most, chosen by digest.
        passed: the same of passed runs.
    """

    failed: Sequence[_Text]
    passed: Sequence[_Text]
    _seen: dict[str, tuple[frozenset[str], int]] = field(
        default_factory=dict[str, tuple[frozenset[str], int]]
    )

    @classmethod
    def of(cls, runs: Iterable[Run], shelf: Shelf) -> Contrast:
        """The contrast of an evolution's runs; it holds two samples of them."""
        known = list(runs)
        failed, passed = (_sample(known, outcome) for outcome in ("fail", "pass"))
        if not passed:
            return cls((), ())
        return cls(_texts(failed, shelf), _texts(passed, shelf))

    def ordinary(self, quote: str, trajectory_id: str) -> bool:
        """Whether passed runs show what is quoted more often than other failed runs do.

        Args:
            quote: from a failed run.
            trajectory_id: of that run, which is not counted.
        """
        shown, passes = self._shown(pattern(quote))
        if passes < FEWEST:
            return False
        others = [one for one in self.failed if one.trajectory_id != trajectory_id]
        fails = sum(one.trajectory_id in shown for one in others)
        table = [[fails, len(others) - fails], [passes, len(self.passed) - passes]]
        stats: Any = import_module("scipy.stats")
        return float(stats.fisher_exact(table, alternative="less").pvalue) < SURE

    def sift(self, record: AnalystRecord) -> tuple[AnalystRecord | None, tuple[Loss, ...]]:
        """An error record without the items whose own quotes are all ordinary.

        Items without quotes of their own and records of successes stay as they are.
        """
        if record.kind != "error":
            return record, ()
        kept = [item for item in record.items if not self._explains_nothing(item, record)]
        losses = tuple(
            Loss(
                trajectory_id=record.trajectory_id,
                stage="analysts",
                reason=f"runs that passed show the evidence more often: {item.evidence[0]!r} "
                f"for {item.lesson!r}",
            )
            for item in record.items
            if item not in kept
        )
        return (record.model_copy(update={"items": tuple(kept)}) if kept else None), losses

    def _explains_nothing(self, item: MemoryItem, record: AnalystRecord) -> bool:
        quotes = item.evidence
        return bool(quotes) and all(self.ordinary(one, record.trajectory_id) for one in quotes)

    def _shown(self, wanted: str) -> tuple[frozenset[str], int]:
        """Failed trajectories that show a pattern, and the number of passed tasks that do."""
        if wanted not in self._seen:
            passes = sum(wanted in one.text for one in self.passed)
            found: Iterable[str] = ()
            if passes >= FEWEST:
                found = (one.trajectory_id for one in self.failed if wanted in one.text)
            self._seen[wanted] = (frozenset(found), passes)
        return self._seen[wanted]


def _sample(runs: Sequence[Run], outcome: str) -> list[Run]:
    """One run a task, the same ones every time."""
    by_task = {run.task_id: run for run in runs if run.outcome == outcome}
    return sorted(by_task.values(), key=lambda run: digest(run.id))[:SAMPLE]


def _texts(runs: Sequence[Run], shelf: Shelf) -> list[_Text]:
    return [
        _Text(run.id, _text(trajectory))
        for run, trajectory in zip(runs, load(runs, shelf), strict=True)
    ]


def _text(trajectory: Trajectory) -> str:
    text = transcript(trajectory)
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"
    return pattern(text)
