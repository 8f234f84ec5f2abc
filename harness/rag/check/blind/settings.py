"""What every way of checking with models can be told."""

from __future__ import annotations

from dataclasses import dataclass

from harness.models import Budget, CallStore
from harness.rag.check.types import PolicyName


@dataclass(frozen=True)
class CheckSettings:
    """How models check, and where they are asked.

    Attributes:
        policy: how verdicts become an outcome.
        votes: samples of the Checker.
        mixed: values that the numeric engine is sure of are not asked for.
        base_url: endpoint of `openai/` and `vllm/` models.
        budget: limits over all roles and calls.
        calls: where calls are recorded and answered from; default in memory.
    """

    policy: PolicyName = "zero-tolerance"
    votes: int = 1
    mixed: bool = False
    base_url: str | None = None
    budget: Budget | None = None
    calls: CallStore | None = None


DEFAULTS = CheckSettings()
