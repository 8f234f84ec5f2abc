"""Everything `harness skill audit` takes, with the command line's defaults."""

from __future__ import annotations

from pathlib import Path

from harness.agents.types import SkillMode
from harness.core import Value
from harness.evals.session import EvalSettings
from harness.evals.suite import Split

ROLLOUTS = 600


class AuditSettings(Value):
    """What an audit runs, and where.

    Attributes:
        skill: skill directory.
        suite: path or name of a suite.
        rollouts: at most; rounded down to pairs.
        width: half-width of all intervals that is narrow enough to stop, in probability; 0 means
            that only a decision on every unit stops early.
        limit: take the first tasks only.
        models: `[ROLE=]SPEC` strings.
        out: run folder; default `runs/<id>`.
        resume: run folder to go on with.
    """

    skill: Path
    suite: str
    split: Split | None = None
    agent: str | None = None
    skill_mode: SkillMode | None = None
    rollouts: int = ROLLOUTS
    width: float = 0.0
    limit: int | None = None
    sandbox: str = "auto"
    trust: bool = False
    out: Path | None = None
    resume: Path | None = None
    seed: int = 41
    models: tuple[str, ...] = ()
    base_url: str | None = None
    budget_usd: float | None = None
    budget_tokens: int | None = None
    budget_calls: int | None = None
    concurrency: int = 16

    def evaluation(self) -> EvalSettings:
        """The same for an eval run."""
        shared = (
            "suite", "split", "agent", "skill", "skill_mode", "limit", "sandbox", "trust", "seed",
            "models", "base_url", "budget_usd", "budget_tokens", "budget_calls", "concurrency",
        )  # fmt: skip
        return EvalSettings.model_validate({name: getattr(self, name) for name in shared})
