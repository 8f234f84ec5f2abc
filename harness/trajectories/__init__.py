"""Trajectories: the store, and import and export of other formats. The stored form is ATIF v1.8."""

from __future__ import annotations

from harness.trajectories.actions import parse_action, parse_code
from harness.trajectories.describe import describe, find_trajectory
from harness.trajectories.formats import FORMATS, detect_format, open_trajectories
from harness.trajectories.official import from_log, render, to_log
from harness.trajectories.official_folder import (
    OfficialRun,
    OfficialScores,
    mean_hard,
    mean_soft,
    read_logs,
    read_run,
    read_scores,
)
from harness.trajectories.official_log import (
    LogResult,
    Message,
    OfficialLog,
    dump_jsonl,
    dump_markdown,
    parse_jsonl,
    parse_markdown,
    parse_with_sidecar,
    sidecar,
)
from harness.trajectories.openai_messages import from_openai, to_openai
from harness.trajectories.recorded import read_recorded
from harness.trajectories.secrets import redact_trajectory
from harness.trajectories.sharegpt import from_sharegpt, to_sharegpt
from harness.trajectories.stats import TrajectoryStats, collect_stats, tokens_of
from harness.trajectories.store import TrajectoryStore, dump
from harness.trajectories.text import content_text
from harness.trajectories.transfer import (
    EXPORTS,
    ExportReport,
    ImportReport,
    export_trajectories,
    import_trajectories,
)
from harness.trajectories.untrusted import fence_untrusted

__all__ = [
    "EXPORTS",
    "FORMATS",
    "ExportReport",
    "ImportReport",
    "LogResult",
    "Message",
    "OfficialLog",
    "OfficialRun",
    "OfficialScores",
    "TrajectoryStats",
    "TrajectoryStore",
    "collect_stats",
    "content_text",
    "describe",
    "detect_format",
    "dump",
    "dump_jsonl",
    "dump_markdown",
    "export_trajectories",
    "fence_untrusted",
    "find_trajectory",
    "from_log",
    "from_openai",
    "from_sharegpt",
    "import_trajectories",
    "mean_hard",
    "mean_soft",
    "open_trajectories",
    "parse_action",
    "parse_code",
    "parse_jsonl",
    "parse_markdown",
    "parse_with_sidecar",
    "read_logs",
    "read_recorded",
    "read_run",
    "read_scores",
    "redact_trajectory",
    "render",
    "sidecar",
    "to_log",
    "to_openai",
    "to_sharegpt",
    "tokens_of",
]
