"""What an eval run depends on, and the attempts that it consists of."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.agents.types import Agent, SkillMode
from harness.core import Task, digest_tree
from harness.evals.suite import LoadedSuite
from harness.models.limits import SampleLimits
from harness.models.types import Model


@dataclass(frozen=True)
class EvalPlan:
    """What an eval run depends on.

    Attributes:
        suite: the loaded suite.
        agent: the agent; its spec is part of the lock.
        skill: skill directory, or None.
        epochs: attempts per task; each has its own seed (`seed` + epoch).
        seed: random seed, sent with every call.
        limit: take the first tasks only.
        sample_limits: of every attempt, in place of the suite's.
    """

    suite: LoadedSuite
    agent: Agent
    skill: Path | None = None
    skill_mode: SkillMode | None = None
    epochs: int = 1
    seed: int = 41
    limit: int | None = None
    sample_limits: SampleLimits = field(default_factory=SampleLimits)

    @property
    def limits(self) -> SampleLimits:
        """Of every attempt: each is the run's, or else the suite's."""
        return self.suite.suite.limits.model_copy(
            update=self.sample_limits.model_dump(exclude_none=True)
        )

    def attempts(self) -> list[tuple[Task, int]]:
        """Every (task, epoch) of the run, epochs outermost."""
        tasks = self.suite.tasks[: self.limit]
        return [(task, epoch) for epoch in range(self.epochs) for task in tasks]

    def lock(self, model: Model) -> dict[str, Any]:
        """What `run.json` records; a run resumes only if it is unchanged."""
        import harness

        return {
            "kind": "eval",
            "suite": self.suite.suite.name,
            "split": self.suite.split,
            "tasks": self.suite.digest,
            "skill": digest_tree(self.skill) if self.skill else None,
            "skill_name": self.skill.name if self.skill else None,
            "skill_mode": self.skill_mode or self.suite.suite.skill_mode,
            "agent": self.agent.spec,
            "model": model.spec,
            "simulated": model.simulated,
            "prompts": prompts_digest(),
            "epochs": self.epochs,
            "seed": self.seed,
            "limit": self.limit,
            "sample_limits": self.limits.model_dump(exclude_none=True),
            "version": harness.__version__,
        }


def prompts_digest() -> str:
    """Digest of the prompt templates."""
    from harness.core import assets

    return digest_tree(assets.root() / "prompts")


def attempt_id(task: Task, epoch: int) -> str:
    """Id of an attempt: the task's id, with `@epoch` from the second one on."""
    return task.id if epoch == 0 else f"{task.id}@{epoch}"
