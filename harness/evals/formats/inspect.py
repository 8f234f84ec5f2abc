"""Logs of inspect: samples become attempts, with scores and tokens."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from harness.core import BadInput, Outcome, Usage, listing, mapping, read_json, string
from harness.evals.formats.building import Attempts, Figures
from harness.evals.report import Results
from harness.trajectories import header_of, read_inspect

NO_SCORE = "no score in the log"


def inspect_results(log: Path) -> list[Results]:
    """The run that an `.eval` or `.json` log is of.

    A sample passes with `C` or a value of 1 or more of its first scorer; less is a fail that keeps
    its value. Samples that ended in an error, or have no score, are invalid.

    Args:
        log: written by inspect, or exported by us.

    Raises:
        BadInput: if `log` is no such log or has no sample.
    """
    header = header_of(log) if log.suffix == ".eval" else mapping(read_json(log))
    attempts = Attempts()
    for trajectory in read_inspect(log):
        metadata = trajectory.harness
        value, answer = metadata.get("score"), metadata.get("answer")
        reason = str(metadata.get("reason") or "")
        value = float(value) if isinstance(value, int | float) else math.nan
        outcome: Outcome = "pass" if metadata.get("outcome") == "pass" else "fail"
        if metadata.get("outcome") == "invalid" or math.isnan(value):
            outcome, value, reason = "invalid", 0.0, reason or NO_SCORE
        seconds = mapping(metadata.get("inspect")).get("total_time")
        total = trajectory.final_metrics
        usage = Usage(
            calls=sum(step.source == "agent" for step in trajectory.steps),
            prompt_tokens=(total.total_prompt_tokens if total else 0) or 0,
            completion_tokens=(total.total_completion_tokens if total else 0) or 0,
            cached_tokens=(total.total_cached_tokens if total else 0) or 0,
            cost_usd=None,
            seconds=float(seconds) if isinstance(seconds, int | float) else 0.0,
        )
        attempts.add(
            str(metadata["task_id"]), outcome, value,
            reason=reason, answer=answer if isinstance(answer, str) else None, usage=usage,
            trajectory=trajectory,
        )  # fmt: skip
    if not attempts.items:
        raise BadInput(f"{str(log)!r}: expected at least one sample, found none")
    about = mapping(header["eval"])
    return [
        attempts.results(
            log.name, "inspect", suite=str(about.get("task", "")),
            model=str(about.get("model") or ""), agent=str(about.get("solver") or ""),
            version=string(mapping(about.get("packages")).get("inspect_ai")),
            figures=_figures(header),
        )
    ]  # fmt: skip


def _figures(header: dict[str, Any]) -> Figures:
    """Metrics by scorer; one that was no number in the log (NaN) is none."""
    figures: Figures = {"status": string(header.get("status"))}
    for score in map(mapping, listing(mapping(header.get("results")).get("scores"))):
        for name, metric in mapping(score.get("metrics")).items():
            figures[f"{string(score.get('name'))} {name}"] = mapping(metric).get("value")
    return figures
