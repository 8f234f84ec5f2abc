"""Everything that `harness learn` takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from harness.core import digest
from harness.evals import ModelSettings
from harness.evolve.settings import EvolveSettings
from harness.evolve.types import AnalystKind, MergeKind, Signal
from harness.learn.finding import Client

NAME = "learned-from-sessions"
DESCRIPTION = (
    "Rules for work in code repositories, learned from this user's own coding sessions. Use when "
    "changing code, running tests or committing."
)


class LearnSettings(ModelSettings):
    """Everything `harness learn` takes.

    Attributes:
        out: folder to write.
        paths: logs and folders of logs; () looks where the clients keep theirs.
        client: whose folders are looked into, and whose sessions are taken.
        since: a date, or an age such as `30d`; "" for all.
        project: take sessions of this folder and below it only.
        limit: sessions at most, of the latest logs; of a log with many, its first.
        rebuild: whether tasks are made again from the sessions.
        gate: `auto` (tasks that were made again) or `none`.
        skill, create, description, signal, analyst, merge, min_support, max_rules, grouping,
        margin, agent, epochs, concurrency: as :class:`harness.evolve.EvolveSettings`.
    """

    out: Path
    paths: tuple[Path, ...] = ()
    client: Client = "all"
    since: str = ""
    project: Path | None = None
    limit: int = 100
    rebuild: bool = True
    gate: Literal["auto", "none"] = "auto"
    skill: Path | None = None
    create: str | None = None
    description: str = ""
    signal: Signal = "combined"
    analyst: AnalystKind = "single"
    merge: MergeKind = "deterministic"
    min_support: int = 2
    max_rules: int = 40
    margin: float = 0.0
    agent: str | None = None
    epochs: int = 1
    concurrency: int = 16

    @property
    def gathering(self) -> str:
        """Digest of what decides which sessions are read, and what is made of them."""
        names = {"paths", "client", "since", "project", "limit", "rebuild", "gate", "sandbox"}
        names.add("seed")  # decides which tasks are held out
        return digest(self.model_dump(mode="json", include=names))

    def evolution(self, sessions: Path, gate: Path | None) -> EvolveSettings:
        """The evolution from the gathered sessions."""
        same: dict[str, Any] = {
            name: getattr(self, name)
            for name in EvolveSettings.model_fields
            if name in type(self).model_fields and name not in ("out", "gate", "create")
        }
        named = self.create or (None if self.skill else NAME)
        return EvolveSettings.model_validate(
            {
                **same,
                "out": self.out / "evolved",
                "trajectories": sessions,
                "create": named,
                "description": self.description or (DESCRIPTION if named == NAME else ""),
                "gate": "none" if gate is None else str(gate),
            }
        )
