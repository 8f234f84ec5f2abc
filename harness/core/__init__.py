"""Value types, digests, errors, assets and the run directory: imports no other room."""

from __future__ import annotations

from harness.core.digests import canonical_json, digest, digest_file, digest_tree
from harness.core.errors import (
    BadInput,
    HarnessError,
    LimitReached,
    Refused,
    Unreachable,
)
from harness.core.files import write_atomic
from harness.core.patch import Edit, EditOp, Patch
from harness.core.score import Outcome, Score, failed, invalid, passed
from harness.core.task import Task
from harness.core.trajectory import (
    AgentInfo,
    Observation,
    ObservationResult,
    Step,
    ToolCall,
    Trajectory,
)
from harness.core.usage import Usage
from harness.core.values import Value

__all__ = [
    "AgentInfo",
    "BadInput",
    "Edit",
    "EditOp",
    "HarnessError",
    "LimitReached",
    "Observation",
    "ObservationResult",
    "Outcome",
    "Patch",
    "Refused",
    "Score",
    "Step",
    "Task",
    "ToolCall",
    "Trajectory",
    "Unreachable",
    "Usage",
    "Value",
    "canonical_json",
    "digest",
    "digest_file",
    "digest_tree",
    "failed",
    "invalid",
    "passed",
    "write_atomic",
]
