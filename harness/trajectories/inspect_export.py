"""Trajectories as an inspect `.eval` log that inspect's own reader and viewer open."""

from __future__ import annotations

import json
import math
import zipfile
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.core import Step, Trajectory
from harness.trajectories.text import content_text

_GRADES = {"pass": "C", "fail": "I"}
_ROLES = {"system": "system", "user": "user", "agent": "assistant"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC).isoformat()


def write_inspect(
    trajectories: Iterable[Trajectory], file: Path, task: str = "trajectories"
) -> int:
    """Write one log with a sample for each trajectory; deterministic, whole or not at all.

    Samples of one task get epochs 1, 2, ...; a tool call's result follows its message. The
    facts in `extra.harness` go to the sample's metadata, the outcome to a score `outcome`, with
    the answer and the scorer's reason beside it; the log's results are its mean over tasks and the
    standard error of that. An invalid run has an error in place of a score.

    Args:
        trajectories: in the order of the log.
        file: to write.
        task: name of the task in the log.

    Returns:
        Number of samples.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.part")
    epochs: Counter[str] = Counter()
    models: Counter[str] = Counter()
    summaries: list[dict[str, Any]] = []
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as opened:
            for trajectory in trajectories:
                sample_id = str(trajectory.harness.get("task_id") or trajectory.trajectory_id)
                epochs[sample_id] += 1
                models[_model(trajectory)] += 1
                sample = _sample(trajectory, sample_id, epochs[sample_id])
                name = sample_id.replace("/", "_")
                _put(opened, f"samples/{name}_epoch_{epochs[sample_id]}.json", sample)
                summaries.append(_summary(sample))
            header = _header(task, list(epochs), max(epochs.values(), default=1), models)
            header["results"] = _results(summaries)
            _put(opened, "_journal/start.json", {k: header[k] for k in ("version", "eval", "plan")})
            _put(opened, "summaries.json", summaries)
            _put(opened, "header.json", header)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return len(summaries)


def _put(opened: zipfile.ZipFile, name: str, value: Any) -> None:
    # A fixed date: the same trajectories give the same bytes.
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    opened.writestr(info, json.dumps(value, ensure_ascii=False))


def _results(summaries: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and standard error over tasks of what has a score, as inspect's viewer shows them."""
    by_task: dict[str, list[float]] = {}
    for one in summaries:
        if one["scores"]:
            passed = float(one["scores"]["outcome"]["value"] == _GRADES["pass"])
            by_task.setdefault(one["id"], []).append(passed)
    means = [sum(values) / len(values) for values in by_task.values()]
    found: dict[str, Any] = {
        "total_samples": len(summaries),
        "completed_samples": len(summaries),
        "scores": [],
    }
    if means:
        mean = sum(means) / len(means)
        squares = sum((one - mean) ** 2 for one in means)
        error = math.sqrt(squares / max(1, len(means) - 1) / len(means))
        metrics = {"accuracy": mean, "stderr": error}
        scored = sum(bool(one["scores"]) for one in summaries)
        found["scores"] = [
            {
                "name": "outcome",
                "scorer": "outcome",
                "scored_samples": scored,
                "unscored_samples": len(summaries) - scored,
                "metrics": {key: {"name": key, "value": one} for key, one in metrics.items()},
            }
        ]
    return found


def _header(task: str, tasks: list[str], epochs: int, models: Counter[str]) -> dict[str, Any]:
    model = models.most_common(1)[0][0] if models else "unknown/unknown"
    dataset = {"name": task, "samples": len(tasks), "sample_ids": tasks}
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "created": _EPOCH,
            "task": task,
            "task_id": task,
            "eval_id": task,
            "run_id": task,
            "dataset": dataset,
            "model": model,
            "config": {"epochs": epochs},
        },
        "plan": {"name": "plan", "steps": []},
        "stats": {"started_at": _EPOCH, "completed_at": _EPOCH},
    }


def _sample(trajectory: Trajectory, task: str, epoch: int) -> dict[str, Any]:
    facts = trajectory.harness
    messages = [message for step in trajectory.steps for message in _messages(step)]
    asked = next((one["content"] for one in messages if one["role"] == "user"), "")
    replies = [one for one in messages if one["role"] == "assistant"]
    model = _model(trajectory)
    choices = [{"message": one, "stop_reason": "stop"} for one in replies[-1:]]
    sample: dict[str, Any] = {
        "id": task,
        "epoch": epoch,
        "input": asked,
        "target": "",
        "messages": messages,
        "output": {"model": model, "choices": choices},
        "scores": {},
        "metadata": {"harness": facts, "trajectory_id": trajectory.trajectory_id},
    }
    grade = _GRADES.get(str(facts.get("outcome")))
    if grade is not None:
        answer, reason = facts.get("answer"), facts.get("reason")
        sample["scores"] = {"outcome": {"value": grade, "answer": answer, "explanation": reason}}
    if facts.get("outcome") == "invalid":
        reason = str(facts.get("reason") or facts.get("invalid") or "invalid run")
        sample["error"] = {"message": reason, "traceback": "", "traceback_ansi": ""}
    sample["model_usage"] = {model: _usage(trajectory)}
    return sample


def _model(trajectory: Trajectory) -> str:
    return trajectory.agent.model_name or "unknown/unknown"


def _usage(trajectory: Trajectory) -> dict[str, Any]:
    """Tokens of all calls; inspect counts what came from a prompt cache apart."""
    total = trajectory.final_metrics
    read, made = (total.total_prompt_tokens, total.total_completion_tokens) if total else (0, 0)
    cached = (total.total_cached_tokens if total else 0) or 0
    return {
        "input_tokens": max(0, (read or 0) - cached),
        "output_tokens": made or 0,
        "total_tokens": (read or 0) + (made or 0),
        "input_tokens_cache_read": cached,
    }


def _messages(step: Step) -> list[dict[str, Any]]:
    text = content_text(step.message)
    message: dict[str, Any] = {"role": _ROLES[step.source], "content": text}
    if step.reasoning_content:
        reasoning = {"type": "reasoning", "reasoning": step.reasoning_content}
        message["content"] = [reasoning, {"type": "text", "text": text}]
    if step.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.tool_call_id,
                "function": call.function_name,
                "arguments": call.arguments,
                "type": "function",
            }
            for call in step.tool_calls
        ]
    names = {call.tool_call_id: call.function_name for call in step.tool_calls or ()}
    found = [message]
    for result in step.observation.results if step.observation else ():
        shown = content_text(result.content or "")
        if result.source_call_id is None:
            found.append({"role": "user", "content": shown})
            continue
        name = names.get(result.source_call_id)
        call = result.source_call_id
        found.append({"role": "tool", "content": shown, "tool_call_id": call, "function": name})
    return found


def _summary(sample: dict[str, Any]) -> dict[str, Any]:
    keys = ("id", "epoch", "input", "target", "scores", "metadata", "model_usage")
    found = {key: sample[key] for key in keys} | {"completed": True}
    return found | ({"error": sample["error"]["message"]} if "error" in sample else {})
