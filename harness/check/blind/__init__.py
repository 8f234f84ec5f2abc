"""Blind checking: roles, the wall between them, and what a wall must stop (MARCH)."""

from __future__ import annotations

from harness.check.blind.batching import BlindRow, calls_of, check_batch_blind
from harness.check.blind.formats import answers_format, pairs_format
from harness.check.blind.leaks import Leak, holds_value, is_polar, leaks_of
from harness.check.blind.neutral import Blinded, Group, blinded, neutral
from harness.check.blind.proposing import proposed
from harness.check.blind.replies import Answered, Pair, read_answers, read_pairs
from harness.check.blind.request import BlindRequest, ask_blind, windows
from harness.check.blind.running import Roles, check_blind, open_roles
from harness.check.blind.session import (
    MarchContext,
    ask_windows,
    judge_all,
    march,
    settled,
    solve_passages,
)
from harness.check.blind.settings import CheckSettings
from harness.check.blind.vault import Leaked, Vault
from harness.check.blind.voting import best_support, vote

__all__ = [
    "Answered",
    "BlindRequest",
    "BlindRow",
    "Blinded",
    "CheckSettings",
    "Group",
    "Leak",
    "Leaked",
    "MarchContext",
    "Pair",
    "Roles",
    "Vault",
    "answers_format",
    "ask_blind",
    "ask_windows",
    "best_support",
    "blinded",
    "calls_of",
    "check_batch_blind",
    "check_blind",
    "holds_value",
    "is_polar",
    "judge_all",
    "leaks_of",
    "march",
    "neutral",
    "open_roles",
    "pairs_format",
    "proposed",
    "read_answers",
    "read_pairs",
    "settled",
    "solve_passages",
    "vote",
    "windows",
]
