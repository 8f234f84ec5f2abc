"""Everything `harness skill audit` takes, with the command line's defaults."""

from __future__ import annotations

from pathlib import Path

from harness.evals import EvalSettings, SuiteSettings

ROLLOUTS = 600


class AuditSettings(SuiteSettings):
    """What an audit runs, and where.

    Attributes:
        skill: skill directory.
        rollouts: at most; rounded down to pairs.
        width: half-width of all intervals that is narrow enough to stop, in probability; 0 means
            that only a decision on every unit stops early.
        futility: stop once no unit that is open has this chance of a verdict; 0 for never.
    """

    skill: Path
    rollouts: int = ROLLOUTS
    width: float = 0.0
    futility: float = 0.0

    def evaluation(self) -> EvalSettings:
        """The same for an eval run, whose folder is its own."""
        shared = set(SuiteSettings.model_fields) - {"out", "resume"}
        return EvalSettings(**self.model_dump(include=shared), skill=self.skill)
