"""Reading a log of inspect as an eval run: its samples become attempts, with scores and tokens."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.core import BadInput, Outcome, Trajectory, Usage, digest
from harness.core.rundir import RunWriter
from harness.evals.report import EvalReport, ItemRecord, read_report
from harness.trajectories import header_of, read_inspect
from harness.trajectories.lenient import listing, mapping, string

NO_SCORE = "no score in the log"


def import_inspect(log: Path, out: Path) -> EvalReport:
    """Write an `.eval` log as the run folder `out`, which compare and view can read.

    A sample passes with `C` or a value of 1 or more of its first scorer; less is a fail that keeps
    its value. Samples that ended in an error, or have no score, are invalid. What inspect itself
    found stands in the lock (`inspect`), for comparison.

    Args:
        log: written by inspect, or exported by us.
        out: must not hold a run.

    Raises:
        BadInput: if `log` is no such log or has no sample, or `out` holds a run.
    """
    if (out / "run.json").exists():
        raise BadInput(f"{str(out)!r} holds a run: name another folder with --out")
    header = header_of(log)
    pairs = list(_attempts(read_inspect(log)))
    if not pairs:
        raise BadInput(f"{str(log)!r}: expected at least one sample, found none")
    with RunWriter(out, _lock(header, [item for item, _ in pairs])) as run:
        for item, trajectory in pairs:
            run.append_trajectory(trajectory.model_dump(mode="json", exclude_none=True))
            run.append_item(item.model_dump(mode="json"))
    return read_report(out)


def _attempts(trajectories: Iterator[Trajectory]) -> Iterator[tuple[ItemRecord, Trajectory]]:
    """Records in the order of the log; attempts at one task are numbered as they come."""
    epochs: Counter[str] = Counter()
    for trajectory in trajectories:
        facts = trajectory.harness
        task = str(facts["task_id"])
        epoch = epochs[task]
        epochs[task] += 1
        name = task if epoch == 0 else f"{task}@{epoch}"
        value, answer = facts.get("score"), facts.get("answer")
        reason = str(facts.get("reason") or "")
        value = float(value) if isinstance(value, int | float) else math.nan
        outcome: Outcome = "pass" if facts.get("outcome") == "pass" else "fail"
        if facts.get("outcome") == "invalid" or math.isnan(value):
            outcome, value, reason = "invalid", 0.0, reason or NO_SCORE
        seconds = mapping(facts.get("inspect")).get("total_time")
        total = trajectory.final_metrics
        usage = Usage(
            calls=sum(step.source == "agent" for step in trajectory.steps),
            prompt_tokens=(total.total_prompt_tokens if total else 0) or 0,
            completion_tokens=(total.total_completion_tokens if total else 0) or 0,
            cached_tokens=(total.total_cached_tokens if total else 0) or 0,
            cost_usd=None,
            seconds=float(seconds) if isinstance(seconds, int | float) else 0.0,
        )
        item = ItemRecord(
            id=name, task_id=task, epoch=epoch, outcome=outcome,
            value=min(1.0, max(0.0, value)),  # partial credit has no outcome there
            reason=reason, answer=answer if isinstance(answer, str) else None, usage=usage,
        )  # fmt: skip
        extra = dict(trajectory.extra or {})
        extra["harness"] = {**facts, "outcome": outcome, "reason": reason}
        yield item, trajectory.model_copy(update={"trajectory_id": name, "extra": extra})


def _lock(header: dict[str, Any], items: list[ItemRecord]) -> dict[str, Any]:
    about = mapping(header["eval"])
    scores = [mapping(score) for score in listing(mapping(header.get("results")).get("scores"))]
    model = str(about.get("model") or "unknown")
    return {
        "kind": "eval", "suite": str(about.get("task", "inspect")), "split": None,
        "tasks": digest(sorted({item.task_id for item in items})), "skill": None,
        "skill_name": None, "skill_mode": None, "agent": str(about.get("solver") or "inspect"),
        "model": model, "simulated": model.startswith("simulated/"), "prompts": "",
        "epochs": max(item.epoch for item in items) + 1, "seed": None, "limit": None,
        "sample_limits": {}, "version": string(mapping(about.get("packages")).get("inspect_ai")),
        "inspect": {
            "status": header.get("status"),
            "scores": {
                string(score.get("name")): {
                    name: mapping(metric).get("value")
                    for name, metric in mapping(score.get("metrics")).items()
                }
                for score in scores
            },
        },
    }  # fmt: skip
