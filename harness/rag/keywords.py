"""Keyword arguments of `ask`: the fields of its settings, typed.

Made from the settings classes by `tests/test_api_keywords.py`, which holds them equal.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from harness.models import Sampling
from harness.rag.retrieve import ParseOptions


class AskKeywords(TypedDict, total=False):
    """Settings of an answer."""

    context: Literal["both", "compress", "retrieve", "truncate"]
    budget: int
    arm: Literal["dense", "hybrid", "lexical", "weighted"] | None
    extract: bool
    base_url: str | None
    budget_usd: float | None
    budget_tokens: int | None
    budget_calls: int | None
    reading: ParseOptions
    sampling: Sampling
