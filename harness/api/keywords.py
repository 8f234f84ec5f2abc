"""Keyword arguments of the programming interface: the fields of its settings, typed.

Made from the settings classes by `tests/test_api_keywords.py`, which holds them equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict


class RunKeywords(TypedDict, total=False):
    """Settings of both."""

    columns: Mapping[str, str]
    check: str | Callable[..., Any] | None
    group_by: str | None
    trust: bool
    trust_checks: bool
    executor: str
    workers: int
    worker_resources: Mapping[str, float]
    seed: int
    base_url: str | None
    budget_usd: float | None
    budget_tokens: int | None
    budget_calls: int | None
    sandbox: str
    limit: int | None
    concurrency: int
    token_limit: int | None
    cost_limit: float | None
    time_limit: float | None
    working_limit: float | None
    skill: Path | str | None
    epochs: int
    earlier: Path | str | None


class EvalKeywords(RunKeywords, total=False):
    """Settings of an eval."""

    split: Literal["selection", "test", "train"] | None
    skill_mode: Literal["discovered", "none", "preloaded"] | None
    out: Path | str | None
    resume: Path | str | None
    baseline: bool
    guard: str | None
    sample: str | None
    accept: Sequence[str]


class EvolveKeywords(RunKeywords, total=False):
    """Settings of an evolution."""

    create: str | None
    description: str
    trajectories: Path | str | None
    patches: Path | str | None
    keep_unmatched: bool
    signal: Literal["combined", "error", "success"]
    analyst: Literal["agentic", "answers", "auto", "exemplar", "programs", "single"]
    analyst_turns: int
    blind: bool
    context: Sequence[Path | str]
    check_conclusions: bool
    judge: str | None
    merge: Literal["deterministic", "model"]
    merge_batch: int
    min_support: int
    max_rules: int
    size: Literal["compact", "full", "standard"]
    select: Literal["all", "greedy", "tpe"]
    select_tasks: int
    select_seed: int
    examples: int
    margin: float
    expected_discordance: float
    tasks: str | None
    gate: str
    baselines: Sequence[
        Literal[
            "memory", "none", "parametric", "random-half", "seed", "sequential-1", "sequential-4"
        ]
    ]
    users: Sequence[str]
    transfer: Sequence[str]
