"""Resuming a run: what it was started with, and which of that may be otherwise when it goes on.

Only the limits of an attempt may, and only upwards: attempts with a verdict kept within the lower
limit, too, and invalid ones are tried again. `parts.json` says from which record on they hold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.agents import is_foreign
from harness.core import BadInput, mapping, write_atomic
from harness.core.rundir import RunReader, differing
from harness.core.segments import only_writer
from harness.evals.plan import read_parts
from harness.evals.report import open_run
from harness.sandbox import Limits

LIMITS = {
    "tokens": ("token_limit", "--token-limit"),
    "usd": ("cost_limit", "--cost-limit"),
    "seconds": ("time_limit", "--time-limit"),
    "working": ("working_limit", "--working-limit"),
}
"""Limit -> field of the settings, and option."""
_NAMES = {
    "suite": "SUITE", "tasks": "tasks of SUITE", "split": "--split", "skill": "content of --skill",
    "skill_name": "--skill", "skill_mode": "--skill-mode", "agent": "--agent", "model": "--model",
    "epochs": "--epochs", "seed": "--seed", "limit": "--limit", "guard": "--guard",
    "judge": "--model judge=", "prompts": "prompts of the harness",
    "version": "version of the harness",
}  # fmt: skip
"""Field of a lock -> what a user knows it by."""


def started_with(run: Path) -> dict[str, Any]:
    """Settings of a run, by the fields of :class:`harness.evals.EvalSettings`.

    Its agent and skill are left out: they run with the user's rights, and a run folder may come
    from a stranger. So may its `base_url`, which is to be shown, not to be asked.

    Raises:
        BadInput: if `run` is no eval run, or does not say what its suite was.
    """
    lock, rows = open_run(run).lock, read_parts(run)
    if not rows or not rows[-1].suite:
        raise BadInput(f"{str(run)!r} does not say what its suite was: name the SUITE")
    names = ("split", "skill_mode", "epochs", "seed", "limit")
    limits = mapping(lock.get("sample_limits") or {})
    return {
        **{name: lock[name] for name in names if lock.get(name) is not None},
        **{LIMITS[name][0]: value for name, value in limits.items() if name in LIMITS},
        "suite": rows[-1].suite,
        "models": (lock["model"],),
        **({"base_url": rows[-1].base_url} if rows[-1].base_url else {}),
    }


def take_raised_limits(run: Path, lock: Mapping[str, Any]) -> None:
    """Let the run in a folder go on with the limits of `lock`.

    Raises:
        BadInput: if it was started with other settings, or a limit was higher.
    """
    with only_writer(run):
        stored, current = RunReader(run).lock, json.loads(json.dumps(lock))
        unheld = {"schema_version", "sample_limits"}
        if changed := [key for key in differing(stored, current) if key not in unheld]:
            changes = ", ".join(
                _difference(key, stored.get(key), current.get(key)) for key in changed
            )
            unnamed = {"skill", "skill_name"}.issuperset(changed) and not current["skill"]
            remedy = "name --skill again" if unnamed else "start a new run instead"
            raise BadInput(f"{str(run)!r} was started with other {changes}: {remedy}")
        before, after = (
            _bounds(mapping(row.get("sample_limits") or {}), row["agent"])
            for row in (stored, current)
        )
        for name, value in after.items():
            if before.get(name) is None or value < before[name]:
                was = f"was {before[name]:g}" if name in before else "was not set"
                raise BadInput(
                    f"{str(run)!r}: {LIMITS[name][1]} {was}, and is {value:g} now: the limits of "
                    "an attempt may be raised on resuming, not lowered; start a new run instead"
                )
        if stored.get("sample_limits") != current["sample_limits"]:
            raised = {**stored, "sample_limits": current["sample_limits"]}
            write_atomic(run / "run.json", json.dumps(raised, indent=2, sort_keys=True) + "\n")


def _bounds(limits: Mapping[str, Any], agent: str) -> dict[str, float]:
    """The limits of an attempt, with the seconds that agents of others have where none is named."""
    if is_foreign(agent) and not {"seconds", "working"} & limits.keys():
        return {**limits, "seconds": Limits().wall_s, "working": Limits().wall_s}
    return dict(limits)


def _difference(key: str, before: object, after: object) -> str:
    name = _NAMES.get(key, key)
    if not name.startswith("--") or key == "judge":
        return name
    values = ("none" if value is None else str(value) for value in (before, after))
    return "{} ({}, now {})".format(name, *values)
