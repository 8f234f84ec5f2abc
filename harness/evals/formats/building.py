"""Shared parts of the readers of other tools' results: attempts numbered by task, and a lock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from harness.core import BadInput, Outcome, Trajectory, Usage, digest
from harness.evals.report import REPORTED, UNKNOWN, ItemRecord, Results
from harness.trajectories import from_openai

NO_PRICE = Usage(cost_usd=None)
Figures = dict[str, float | int | str | None]
"""What a tool itself reports of a run: name -> value."""


@dataclass
class Attempts:
    """Attempts as they come; those at one task are numbered."""

    items: list[ItemRecord] = field(default_factory=list[ItemRecord])
    trajectories: list[Trajectory] = field(default_factory=list[Trajectory])
    epochs: Counter[str] = field(default_factory=Counter[str])

    def add(
        self,
        task: str,
        outcome: Outcome,
        value: float,
        *,
        reason: str = "",
        answer: str | None = None,
        usage: Usage = NO_PRICE,
        stratum: str = "",
        trajectory: Trajectory | None = None,
    ) -> None:
        """Add an attempt.

        Args:
            task: the tool's name of the task.
            outcome: of the attempt; an invalid one has no value.
            value: score; what lies outside [0, 1] is cut.
            reason: why, in a sentence.
            answer: text of the reply.
            usage: tokens and seconds.
            stratum: group of the task.
            trajectory: what happened; gets the attempt's name and judgement.
        """
        epoch = self.epochs[task]
        self.epochs[task] += 1
        name = task if epoch == 0 else f"{task}@{epoch}"
        value = 0.0 if outcome == "invalid" else min(1.0, max(0.0, value))
        self.items.append(
            ItemRecord(
                id=name, task_id=task, epoch=epoch, outcome=outcome, value=value, reason=reason,
                answer=answer, usage=usage, stratum=stratum,
            )
        )  # fmt: skip
        if trajectory is None:
            return
        extra = dict(trajectory.extra or {})
        grade = {"task_id": task, "outcome": outcome, "score": value, "reason": reason}
        extra["harness"] = {**trajectory.harness, **grade, "answer": answer}
        update = {"trajectory_id": name, "extra": extra}
        self.trajectories.append(trajectory.model_copy(update=update))

    def results(
        self,
        name: str,
        tool: str,
        *,
        suite: str,
        model: str,
        agent: str = "",
        version: str = "",
        figures: Figures | None = None,
    ) -> Results:
        """All of them, as a run of ours would have recorded them.

        Args:
            name: of the file.
            tool: what wrote it.
            suite: its name of the tasks.
            model: its name of the model.
            agent: its name of what ran the model; default the tool's.
            version: of the tool.
            figures: what the tool itself reports.

        Raises:
            BadInput: if there is no attempt.
        """
        if not self.items:
            raise BadInput(f"{name!r}: expected at least one sample, found none")
        lock: dict[str, Any] = {
            "kind": "eval", "suite": suite or tool, "split": None,
            "tasks": digest(sorted({item.task_id for item in self.items})), "skill": None,
            "skill_name": None, "skill_mode": None, "agent": agent or tool,
            "model": model or UNKNOWN, "simulated": model.startswith("simulated/"),
            "prompts": "", "epochs": max(self.epochs.values()), "seed": None, "limit": None,
            "sample_limits": {}, "version": version,
            REPORTED: {"tool": tool, "figures": figures or {}},
        }  # fmt: skip
        return Results(name, lock, self.items, self.trajectories)


def conversation(messages: Iterable[dict[str, Any]], tool: str, model: str) -> Trajectory:
    """The trajectory of a chat of system, user and assistant messages."""
    row = {"messages": list(messages), "model": model or None}
    trajectory = from_openai(row, tool, "attempt")
    return trajectory.model_copy(update={"extra": {"harness": {"source": tool}}})
