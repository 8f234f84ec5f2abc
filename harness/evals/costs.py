"""What a run will use and cost, before any call: from an earlier run, or else from its prompts."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from harness.core import BadInput, Task, Value
from harness.core.rundir import RunReader
from harness.evals.runner import finished_items
from harness.evals.suite import LoadedSuite
from harness.evals.types import ItemRecord
from harness.models.endpoints import OPENAI_URL
from harness.models.prices import PRICES_VARIABLE, Price, price_of
from harness.models.specs import parse_spec
from harness.skills.tokens import TOKENIZER, count_tokens

ASSUMED_COMPLETION = 500
"""Completion tokens of a call where nothing bounds them and no earlier run says."""


class Estimate(Value):
    """What is expected of a run.

    Attributes:
        attempts: that call the model.
        calls: model calls.
        prompt_tokens: of all calls.
        completion_tokens: of all calls.
        cost_usd: None where the price is unknown.
        most_usd: if every attempt were as dear as the dearest of the earlier run; None without one.
        basis: what the figures rest on, in words.
        price: where the price comes from, in words.
    """

    attempts: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    most_usd: float | None
    basis: str
    price: str


class Expected(Value):
    """Use of one attempt."""

    calls: float = 0.0
    prompt: float = 0.0
    completion: float = 0.0
    cached: float = 0.0

    def __add__(self, other: Expected) -> Expected:
        return Expected(
            calls=self.calls + other.calls, prompt=self.prompt + other.prompt,
            completion=self.completion + other.completion, cached=self.cached + other.cached,
        )  # fmt: skip


def estimate(
    suite: LoadedSuite,
    attempts: Sequence[Task],
    *,
    model: str,
    base_url: str | None = None,
    skill: Path | None = None,
    runs: Sequence[Path] = (),
) -> Estimate:
    """What attempts at these tasks will use.

    Args:
        suite: their suite.
        attempts: the task of every attempt that calls the model.
        model: its spec.
        base_url: its endpoint.
        skill: skill directory.
        runs: folders that may hold earlier runs of the suite.
    """
    price = price_of(parse_spec(model), official=_official(model, base_url))
    known = None if price else f"unknown: name a table with {PRICES_VARIABLE}"
    found = nearest_run(runs, suite.suite.name, model, skill)
    if found is None:
        used, basis = _from_prompts(suite, attempts, skill)
        most = None
    else:
        used, basis, most = _from_run(found, attempts, price)
    cost = price and price.cost(round(used.prompt), round(used.completion), round(used.cached))
    return Estimate(
        attempts=len(attempts), calls=round(used.calls), prompt_tokens=round(used.prompt),
        completion_tokens=round(used.completion), cost_usd=cost, most_usd=most, basis=basis,
        price=known or (f"{price.input:g} / {price.output:g} US dollars a million tokens in / out"
                        if price else ""),
    )  # fmt: skip


def _official(model: str, base_url: str | None) -> bool:
    url = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    return model.startswith("openai/") and url.rstrip("/") == OPENAI_URL


def nearest_run(
    folders: Sequence[Path], suite: str, model: str, skill: Path | None
) -> RunReader | None:
    """Of the runs of a suite that made calls, one with the same model, the same skill, the newest.

    Args:
        folders: runs, or folders of runs.
        suite: its name.
        model: spec.
        skill: skill directory.
    """
    from harness.core import digest_tree

    wanted = digest_tree(skill) if skill and skill.is_dir() else None
    best: tuple[bool, bool, float] | None = None
    chosen: RunReader | None = None
    for folder in folders:
        paths = [folder / "run.json", *folder.glob("*/run.json")]
        for path in (path for path in paths if path.is_file()):
            try:
                reader = RunReader(path.parent)
            except (BadInput, ValueError):
                continue
            lock = reader.lock
            if lock.get("kind") != "eval" or lock.get("suite") != suite:
                continue
            rank = (lock["model"] == model, lock["skill"] == wanted, path.stat().st_mtime)
            if (best is None or rank > best) and _used(finished_items(reader)):
                best, chosen = rank, reader
    return chosen


def _used(items: Sequence[ItemRecord]) -> list[ItemRecord]:
    return [item for item in items if item.outcome != "invalid" and item.usage.calls]


def _from_run(
    run: RunReader, attempts: Sequence[Task], price: Price | None
) -> tuple[Expected, str, float | None]:
    """By task where the run has it, by the mean over its attempts elsewhere."""
    by_task: dict[str, list[Expected]] = defaultdict(list)
    items = _used(finished_items(run))
    for item in items:
        usage = item.usage
        by_task[item.task_id].append(
            Expected(
                calls=usage.calls, prompt=usage.prompt_tokens, completion=usage.completion_tokens,
                cached=usage.cached_tokens,
            )
        )  # fmt: skip
    every = [one for found in by_task.values() for one in found]
    total, seen = Expected(), 0
    for task in attempts:
        seen += task.id in by_task
        total += _mean(by_task.get(task.id, every))
    most = price and len(attempts) * max(
        price.cost(int(e.prompt), int(e.completion)) for e in every
    )
    lock = run.lock
    basis = (
        f"{len(items)} attempts of {run.path.name} ({lock['model']}, skill "
        f"{lock['skill_name'] or 'none'}); {seen} of {len(attempts)} by their own task"
    )
    return total, basis, most


def _mean(found: Sequence[Expected]) -> Expected:
    return Expected(
        calls=fmean(one.calls for one in found), prompt=fmean(one.prompt for one in found),
        completion=fmean(one.completion for one in found),
        cached=fmean(one.cached for one in found),
    )  # fmt: skip


def _from_prompts(
    suite: LoadedSuite, attempts: Sequence[Task], skill: Path | None
) -> tuple[Expected, str]:
    """One call an attempt: prompt and skill, as many completion tokens as it may have."""
    bound = suite.suite.sampling.max_tokens
    body = skill / "SKILL.md" if skill else None
    extra = count_tokens(body.read_text("utf-8", "replace")) if body and body.is_file() else 0
    prompt = sum(count_tokens(task.prompt) + extra for task in attempts)
    total = Expected(
        calls=len(attempts), prompt=prompt, completion=len(attempts) * (bound or ASSUMED_COMPLETION)
    )
    told = f"{bound} completion tokens" if bound else f"{ASSUMED_COMPLETION} completion tokens each"
    basis = (
        f"no earlier run of this suite: prompts and skill in tokens of {TOKENIZER!r}, one call an "
        f"attempt, {told} ({'the bound' if bound else 'assumed'}); tools, files and further turns "
        "are not in it"
    )
    return total, basis
