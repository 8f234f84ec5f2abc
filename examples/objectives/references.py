"""Writing-RL (arXiv 2506.05760): which samples to learn from, and a ladder of references.

A response is judged beside a stored one of the same sample; who wins meets a better one next time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

Outcome = Literal["win", "tie", "loss"]
SHARE: dict[Outcome, float] = {"win": 1.0, "tie": 0.5, "loss": 0.0}
FORMAT = 0.1


def by_margin(reference: Mapping[str, float], policy: Mapping[str, float]) -> list[str]:
    """Samples by what is left to learn, most first: best reference's quality less the policy's.

    Equal margins stand in the order of `reference`; samples that the policy did not answer are out.
    """
    names = [name for name in reference if name in policy]
    return sorted(names, key=lambda name: policy[name] - reference[name])


def pairwise_reward(outcome: Outcome, well_formed: bool) -> float:
    """1.1, 0.55 or 0.1 for a well-formed response; what is malformed gets nothing."""
    if not well_formed:
        return 0.0
    share = SHARE[outcome]
    return share * (1 + FORMAT) if share else FORMAT


class ReferenceLadder:
    """Steps of each sample up its references; safe with many processes, kept on disk.

    Args:
        path: of an SQLite file, made where it is missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with closing(self._open()) as store, store:
            store.execute("create table if not exists rung (sample text primary key, place int)")

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=60)

    def place(self, sample: str) -> int:
        """The reference that the sample is at, 0 for the weakest."""
        with closing(self._open()) as store:
            row = store.execute("select place from rung where sample = ?", (sample,)).fetchone()
        return int(row[0]) if row else 0

    def record(self, sample: str, outcomes: Sequence[Outcome], references: int) -> int:
        """The sample's next reference, after the rollouts of its group were judged.

        It climbs by one where more than half of them won. The official code climbs at any win, so
        that one lucky rollout of eight makes the sample harder for all.

        Args:
            sample: its id.
            outcomes: of the group's rollouts against the reference the sample is at.
            references: how many there are; the last is never passed.

        Raises:
            ValueError: a sample without references.
        """
        if references < 1:
            raise ValueError(f"sample {sample!r} has no references")
        climbs = 2 * outcomes.count("win") > len(outcomes)
        with closing(self._open()) as store, store:
            store.execute("begin immediate")
            row = store.execute("select place from rung where sample = ?", (sample,)).fetchone()
            now = int(row[0]) if row else 0
            place = max(now, min(now + climbs, references - 1))
            store.execute("insert or replace into rung values (?, ?)", (sample, place))
        return place
