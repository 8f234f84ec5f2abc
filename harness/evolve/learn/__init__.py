"""Learning from the session logs that people already have."""

from __future__ import annotations

from harness.evolve.learn.finding import CLIENTS, session_files
from harness.evolve.learn.gathering import Gathered
from harness.evolve.learn.learning import LearnResult, gather, learn
from harness.evolve.learn.outcomes import infer_outcome
from harness.evolve.learn.recipients import recipients
from harness.evolve.learn.redaction import Redactor
from harness.evolve.learn.settings import NAME, LearnSettings
from harness.evolve.learn.spans import Spans
from harness.evolve.learn.types import Claim, Outcome, Rebuilt, Session, Skipped

__all__ = [
    "CLIENTS",
    "NAME",
    "Claim",
    "Gathered",
    "LearnResult",
    "LearnSettings",
    "Outcome",
    "Rebuilt",
    "Redactor",
    "Session",
    "Skipped",
    "Spans",
    "gather",
    "infer_outcome",
    "learn",
    "recipients",
    "session_files",
]
