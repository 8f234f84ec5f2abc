"""Plan and price of a run before any call (`--dry-run`), from an earlier run or from prompts."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from harness.agents import Agent, is_foreign
from harness.core import BadInput, Task, Value, digest_tree
from harness.core.rundir import RunReader
from harness.core.terminal import span
from harness.evals.plan import attempt_id, parts_of, taught_by
from harness.evals.report import ItemRecord, finished_items
from harness.evals.reuse import CALLS, Step, plan_reuse
from harness.evals.settings import EvalSettings, agent_model_spec
from harness.evals.suite import LoadedSuite
from harness.evals.unsolved import judged_by
from harness.models import OPENAI_URL, PRICES_VARIABLE, CallStore, Price, parse_spec, price_of
from harness.skills import TOKENIZER, count_tokens
from harness.stats import detectable_lift

ASSUMED_COMPLETION = 500
"""Completion tokens of a call where nothing bounds them and there is no earlier run."""

SHOWN_WORDS = 5
"""Shorter prompts may appear in a skill without being its examples."""
PAUSE_S = 300.0
"""Without a new call for so long a run was stopped, and resumed later."""


class Estimate(Value):
    """Expected use of a run.

    Attributes:
        attempts: that call the model.
        calls: model calls.
        prompt_tokens: of all calls.
        completion_tokens: of all calls.
        cost_usd: None where the price is unknown.
        most_usd: if every attempt cost as much as the dearest of the earlier run; None without one.
        seconds: at the pace of the earlier run; None without one of this model.
        basis: what the figures rest on, in words.
        price: where the price comes from, in words.
    """

    attempts: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    most_usd: float | None
    seconds: float | None
    basis: str
    price: str


def shown_in(skill: Path, tasks: Sequence[Task]) -> int:
    """Count the tasks that appear in the texts of a skill, such as among its worked examples."""
    files = [path for path in skill.rglob("*.md") if path.is_file()]
    text = "".join(_words(path.read_text("utf-8", "replace")) for path in files)
    prompts = [_words(task.prompt) for task in tasks]
    return sum(prompt.count(" ") > SHOWN_WORDS and prompt in text for prompt in prompts)


def shown_warning(skill: Path, tasks: Sequence[Task]) -> str:
    """Warn of tasks that taught a skill or appear in it; "" where there are none."""
    taught = taught_by(skill)
    if count := sum(task.id in taught for task in tasks):
        return (
            f"{count} of {len(tasks)} tasks taught this skill: passing those proves little "
            "(--split selection takes the others)"
        )
    count = shown_in(skill, tasks)
    return f"{count} of the tasks appear in the skill: passing those proves nothing" * bool(count)


def _words(text: str) -> str:
    return " ".join(["", *re.findall(r"\w+", text.lower()), ""])


def time_words(seconds: float | None) -> str:
    """The time of an estimate, for people."""
    return "time not known before a run" if seconds is None else f"about {span(seconds)}"


class _Use(NamedTuple):
    """Calls and tokens, of one attempt or of many."""

    calls: float = 0.0
    prompt: float = 0.0
    completion: float = 0.0
    cached: float = 0.0


def plan_evaluation(settings: EvalSettings, agent: Agent | None = None) -> dict[str, Any]:
    """Return the plan of a run and its expected cost, without a model call.

    With an earlier run (`earlier`) it has the steps of its attempts, too. `agent` stands in place
    of the one that settings name.
    """
    from harness.evals.runner import Evaluator, suite_of

    suite = suite_of(settings)
    # It refuses what the run would refuse.
    spec = Evaluator(settings, suite, agent=agent).plan(settings.skill).agent.spec
    tasks = suite.tasks[: settings.limit]
    arms = [None, settings.skill] if settings.baseline and settings.skill else [settings.skill]
    attempts = list(tasks) * settings.epochs
    plan: dict[str, Any] = {
        "suite": suite.suite.name,
        "split": suite.split,
        "tasks": len(tasks),
        "attempts": len(attempts) * len(arms),
        "model": agent_model_spec(settings.models),
        "agent": spec,
        "skill": str(settings.skill) if settings.skill else None,
        "tasks_in_skill": shown_in(settings.skill, tasks) if settings.skill else None,
        # An agent of somebody's own makes as many as it likes.
        "calls_at_most": None
        if is_foreign(spec)
        else len(attempts) * len(arms) * suite.suite.max_turns,
        "detectable_lift": detectable_lift(len(tasks)),
        "judged_by": judged_by(tasks),
    }
    if settings.earlier is not None:
        steps = plan_steps(settings, agent=agent)
        plan["attempts_from"] = str(settings.earlier)
        plan["steps"] = [step.model_dump(mode="json") for step in steps]
        rerun = {step.id for step in steps if step.action == "RERUN"}
        attempts = [
            task for epoch in range(settings.epochs) for task in tasks
            if attempt_id(task, epoch) in rerun
        ]  # fmt: skip
    beside = settings.out.parent if settings.out else Path("runs")
    plan["estimate"] = [
        estimate(
            suite, attempts, model=plan["model"], base_url=settings.base_url, skill=skill,
            runs=[settings.earlier or beside],
        ).model_dump(mode="json")
        for skill in arms
    ]  # fmt: skip
    return plan


def plan_steps(
    settings: EvalSettings, suite: LoadedSuite | None = None, agent: Agent | None = None
) -> list[Step]:
    """Plan every attempt, with the earlier run that `settings` names; no call is made.

    Args:
        settings: of the run.
        suite: in place of the one that they name.
        agent: the same.

    Raises:
        BadInput: if no earlier run is named, or one that cannot be used.
    """
    from harness.evals.runner import Evaluator, suite_of

    if settings.earlier is None:
        raise BadInput("expected an earlier run (--from), got none")
    plan = Evaluator(settings, suite or suite_of(settings), agent=agent).plan(settings.skill)
    parts = parts_of(plan, agent_model_spec(settings.models), settings.suite)
    return plan_reuse(plan, parts, settings.earlier, settings.accept)


def estimate(
    suite: LoadedSuite,
    attempts: Sequence[Task],
    *,
    model: str,
    base_url: str | None = None,
    skill: Path | None = None,
    runs: Sequence[Path] = (),
) -> Estimate:
    """Estimate the use of attempts at these tasks.

    Args:
        suite: their suite.
        attempts: the task of every attempt that calls the model.
        model: its spec.
        base_url: its endpoint.
        skill: skill directory.
        runs: folders that may hold earlier runs of the suite.
    """
    url = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    official = model.startswith("openai/") and url.rstrip("/") == OPENAI_URL
    price = price_of(parse_spec(model), official=official)
    run = nearest_run(runs, suite.suite.name, model, skill)
    most = seconds = None
    if run is None:
        total, basis = _from_prompts(suite, attempts, skill)
    else:
        total, basis, most = _from_run(run, attempts, price)
        if run.lock["model"] == model and (pace := _pace(run.path)) is not None:
            seconds = total.calls * pace
    return Estimate(
        attempts=len(attempts),
        calls=round(total.calls),
        prompt_tokens=round(total.prompt),
        completion_tokens=round(total.completion),
        cost_usd=price
        and price.cost(round(total.prompt), round(total.completion), round(total.cached)),
        most_usd=most,
        seconds=seconds,
        basis=basis,
        price=f"{price.input:g} / {price.output:g} US dollars a million tokens in / out"
        if price
        else f"unknown: name a table with {PRICES_VARIABLE}",
    )


def nearest_run(
    folders: Sequence[Path], suite: str, model: str, skill: Path | None
) -> RunReader | None:
    """Find the newest run of a suite that made calls with the same model and the same skill.

    Args:
        folders: runs, or folders of runs.
        suite: its name.
        model: spec.
        skill: skill directory.
    """
    skill_digest = digest_tree(skill) if skill and skill.is_dir() else None
    best: tuple[bool, bool, float] | None = None
    nearest: RunReader | None = None
    paths = [path for folder in folders for path in (folder, *folder.glob("*"))]
    for path in (path / "run.json" for path in paths if (path / "run.json").is_file()):
        try:
            reader = RunReader(path.parent)
        except (BadInput, ValueError):
            continue
        lock = reader.lock
        if lock.get("kind") != "eval" or lock.get("suite") != suite:
            continue
        rank = (lock["model"] == model, lock["skill"] == skill_digest, path.stat().st_mtime)
        if (best is None or rank > best) and _items_with_calls(reader):
            best, nearest = rank, reader
    return nearest


def _items_with_calls(run: RunReader) -> list[ItemRecord]:
    return [item for item in finished_items(run) if item.outcome != "invalid" and item.usage.calls]


def _pace(run: Path) -> float | None:
    """Seconds that a run took for each call of its agent, pauses left out; None if unknown."""
    if not (run / CALLS).is_file():
        return None
    try:
        with CallStore(run / CALLS) as calls:
            times = calls.times("agent")
    except BadInput:
        return None
    together = Counter(sent for sent, _ in times)  # what was taken over was stored at one moment
    times = [(sent, seconds) for sent, seconds in times if together[sent] == 1]
    took = end = 0.0
    for sent, seconds in times:
        waited = sent - end
        took += waited if 0 < waited < PAUSE_S else 0.0
        took += max(0.0, sent + seconds - max(end, sent))
        end = max(end, sent + seconds)
    return took / len(times) if times else None


def _from_run(
    run: RunReader, attempts: Sequence[Task], price: Price | None
) -> tuple[_Use, str, float | None]:
    """By task where the run has it, by the mean over all its attempts elsewhere."""
    by_task: dict[str, list[_Use]] = defaultdict(list)
    uses: list[_Use] = []
    for item in _items_with_calls(run):
        usage = item.usage
        use = _Use(usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens)
        by_task[item.task_id].append(use)
        uses.append(use)
    means = [
        [fmean(figure) for figure in zip(*by_task.get(task.id, uses), strict=True)]
        for task in attempts
    ]
    total = _Use(*(sum(figure) for figure in zip(*means, strict=True)))
    most = price and len(attempts) * max(
        price.cost(int(use.prompt), int(use.completion)) for use in uses
    )
    matched = sum(task.id in by_task for task in attempts)
    basis = (
        f"{len(uses)} attempts of {run.path.name} ({run.lock['model']}, skill "
        f"{run.lock['skill_name'] or 'none'}); {matched} of {len(attempts)} by their own task"
    )
    return total, basis, most


def _from_prompts(
    suite: LoadedSuite, attempts: Sequence[Task], skill: Path | None
) -> tuple[_Use, str]:
    """One call an attempt: prompt and skill, as many completion tokens as it may have."""
    bound = suite.suite.sampling.max_tokens
    body = skill / "SKILL.md" if skill else None
    extra = count_tokens(body.read_text("utf-8", "replace")) if body and body.is_file() else 0
    total = _Use(
        calls=len(attempts),
        prompt=sum(count_tokens(task.prompt) + extra for task in attempts),
        completion=len(attempts) * (bound or ASSUMED_COMPLETION),
    )
    per_call = (
        f"{bound} completion tokens" if bound else f"{ASSUMED_COMPLETION} completion tokens each"
    )
    basis = (
        f"no earlier run of this suite: prompts and skill in tokens of {TOKENIZER!r}, one call an "
        f"attempt, {per_call} ({'the bound' if bound else 'assumed'}); tools, files and further "
        "turns are not in it"
    )
    return total, basis
