"""Whether a skill loads when it should: precision, recall and confusion of its description."""

from __future__ import annotations

from harness.evolve.trigger.queries import Query, read_queries
from harness.evolve.trigger.report import Share, SkillTrigger, TriggerReport
from harness.evolve.trigger.session import TriggerSettings, plan_of, run_trigger

__all__ = [
    "Query",
    "Share",
    "SkillTrigger",
    "TriggerReport",
    "TriggerSettings",
    "plan_of",
    "read_queries",
    "run_trigger",
]
