"""Next commands: every step of the first hour prints the command that follows it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from harness.core import command_line
from harness.core.errors import BadInput
from harness.core.plugins import plugins

if TYPE_CHECKING:
    from harness.core import Task
    from harness.evals import EvalReport, EvalSettings
    from harness.evolve import EvolveResult, EvolveSettings

_SAME = ("agent", "models", "base_url", "sandbox", "trust", "trust_checks", "limit")
"""Options that the next command takes over as they were typed."""
_LIMITS = ("seed", "token_limit", "cost_limit", "time_limit", "working_limit")
"""The same of an evolution: with others, no attempt of the run would be the one it makes."""
_HELD_OUT = ("--split", "selection")
NAMING = "--create names the new skill: any lower-case words and hyphens, best after its tasks"


def after_receipt(folder: Path, run: Path) -> str:
    """Suggest what follows an audit or a ladder: the receipt again, with what the model replied."""
    return next_lines([command_line("skill", "verify", folder, "--run", run)])


def next_lines(commands: Sequence[str], note: str = "") -> str:
    """Commands below one another, and what else may be typed."""
    lines = ["next:", *commands, *([f"({note})"] if note else [])]
    return "\n  ".join(lines)


def after_eval(report: EvalReport, run: Path, settings: EvalSettings, tasks: Sequence[Task]) -> str:
    """Suggest what follows a run: an evolution, or the comparison with the run without the skill;
    where nothing passed, the reason; "" where there is nothing to learn from, or to compare with.
    """
    if report.skill is None and not report.failed:
        return ""
    from harness.evals import near_misses, records, taught_by

    if report.skill is not None:
        skill = settings.skill if settings.split is None else None
        taught = taught_by(skill) if skill is not None else set[str]()
        if taught and any(task.id in taught for task in tasks):
            fresh = ("--split", "selection", "--skill", skill, *_typed())
            return next_lines(
                [command_line("eval", settings.suite, *fresh)], "the tasks that did not teach it"
            )
        before = _without_skill(run)
        return next_lines([command_line("compare", before, run)]) if before else ""
    by_id = {task.id: task for task in tasks}
    if not report.passed:
        return _after_failure(report, run, settings.suite, by_id)
    near = "\n".join(near_misses(records(run), by_id))
    divides = _divides(settings.suite)
    following = next_lines([_evolve(report, run, settings.suite)], NAMING) if divides else ""
    return "\n\n".join(filter(None, (near, following)))


def _evolve(report: EvalReport, run: Path, suite: str) -> str:
    """The evolution of a run's suite; a command is given the folder of the skill."""
    typed = [
        f"{word} {{skill}}" if word[:4] == "cmd:" and "{skill}" not in word else word
        for word in _typed(*_LIMITS)
    ]
    names = ("evolved", *(f"evolved-{number}" for number in range(2, 1000)))
    free = next(name for name in names if not Path(name).exists())
    new = ("--create", new_skill_name(report.suite), "--out", free)
    return command_line("evolve", "--suite", suite, "--from", run, *typed, *new)


def new_skill_name(suite: str) -> str:
    """A name for the skill that a suite teaches: `my-skill` for `my-suite`."""
    name = "-".join("".join(c if c.isalnum() else " " for c in suite.lower()).split())
    name = re.sub("-suite$", "-skill", name)
    return name if name.isascii() and 0 < len(name) <= 64 else "my-skill"


def after_evolution(result: EvolveResult, settings: EvolveSettings) -> str:
    """Suggest what follows an evolution: using and proving an accepted skill, else reading it."""
    if not result.edits:
        return next_lines([command_line("view", settings.out)], "every attempt, step by step")
    if result.accepted is None:
        note = (
            "no gate decided: approve what is true, reject the others; more tasks or --epochs tell"
        )
        return next_lines([command_line("skill", "review", result.skill)], note)
    if not result.accepted:
        return ""
    held_out = (settings.gate,) if settings.gate != "auto" else (settings.suite, *_HELD_OUT)
    sides = [settings.out / "runs" / side for side in ("gate-before", "gate-after")]
    compared = command_line("compare", *sides)
    audit = command_line("skill", "audit", result.skill, "--suite", *held_out, *_typed())
    export = command_line("skill", "export", result.skill, "--target", "agents", "--out", ".")
    if "skill audit" not in plugins("commands"):
        return next_lines([compared, export])
    note = "audit: which lines help, a receipt that goes along; --dry-run says what it takes"
    return next_lines([compared, audit, export], note)


def _after_failure(report: EvalReport, run: Path, suite: str, tasks: Mapping[str, Task]) -> str:
    """Explain why nothing passed, and where to look; expected answers alone make examples."""
    from harness.evals import records, unsolved
    from harness.tasks import expected_text

    following, note = [command_line("view", run)], ""
    if any(map(expected_text, tasks.values())) and _divides(suite):
        following.append(_evolve(report, run, suite))
        note = "examples of what is expected"
        if not report.model.startswith("local/"):  # those are too small to read failures
            note += "; with --analyst single a model reads the failures"
    return "\n".join([*unsolved(records(run), tasks), "", next_lines(following, note)])


def _typed(*more: str) -> list[str]:
    """Options of the running command as words, without the credentials of a URL."""
    from harness.core.redaction import redact
    from harness.models import public_url

    context, words = click.get_current_context(), list[str]()
    for option in context.command.params:
        typed = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if not typed or option.name not in (*_SAME, *more):
            continue
        value: Any = context.params[option.name]
        for part in value if isinstance(value, tuple) else [value]:  # pyright: ignore[reportUnknownVariableType]
            text = public_url(part) if option.name == "base_url" else redact(str(part))  # pyright: ignore[reportUnknownArgumentType]
            words += [option.opts[0]] if part is True else [option.opts[0], text]
    return words


def _divides(suite: str) -> bool:
    """Return True if there are tasks to learn from and others for a gate."""
    from harness.evals import load_suite

    try:
        return all(load_suite(suite, split).tasks for split in ("train", "selection"))
    except BadInput:
        return False


def _without_skill(run: Path) -> Path | None:
    """The latest run beside `run` of the same suite, model and agent without a skill."""
    from harness.agents import without_skill
    from harness.core.rundir import RunReader

    lock = RunReader(run).lock
    agent = without_skill(str(lock["agent"]))
    best: tuple[float, Path] | None = None
    for path in run.parent.glob("*/run.json"):
        try:
            earlier = RunReader(path.parent).lock
        except (BadInput, ValueError):
            continue
        alike = all(earlier.get(key) == lock[key] for key in ("kind", "suite", "model"))
        alike = alike and without_skill(str(earlier.get("agent"))) == agent
        if alike and earlier.get("skill") is None:
            best = max(best or (0.0, path.parent), (path.stat().st_mtime, path.parent))
    return best[1] if best else None
