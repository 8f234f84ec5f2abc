"""Trajectories as an inspect `.eval` log that inspect's own reader and viewer open."""

from __future__ import annotations

import json
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


def write_inspect(trajectories: Iterable[Trajectory], file: Path) -> int:
    """Write one log with a sample for each trajectory; deterministic, whole or not at all.

    Samples of one task get epochs 1, 2, ...; a tool call's result follows its message. The
    facts in `extra.harness` go to the sample's metadata, the outcome to a score `outcome`.

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
                task = str(trajectory.harness.get("task_id") or trajectory.trajectory_id)
                epochs[task] += 1
                models[trajectory.agent.model_name or "unknown/unknown"] += 1
                sample = _sample(trajectory, task, epochs[task])
                name = task.replace("/", "_")
                _put(opened, f"samples/{name}_epoch_{epochs[task]}.json", sample)
                summaries.append(_summary(sample))
            header = _header(list(epochs), max(epochs.values(), default=1), models)
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


def _header(tasks: list[str], epochs: int, models: Counter[str]) -> dict[str, Any]:
    model = models.most_common(1)[0][0] if models else "unknown/unknown"
    dataset = {"name": "trajectories", "samples": len(tasks), "sample_ids": tasks}
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "created": _EPOCH,
            "task": "trajectories",
            "task_id": "trajectories",
            "eval_id": "trajectories",
            "run_id": "trajectories",
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
    model = trajectory.agent.model_name or "unknown/unknown"
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
        sample["scores"] = {"outcome": {"value": grade}}
    if facts.get("outcome") == "invalid":
        sample["error"] = {"message": "invalid run", "traceback": "", "traceback_ansi": ""}
    return sample


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
    keys = ("id", "epoch", "input", "target", "scores", "metadata")
    return {key: sample[key] for key in keys} | {"completed": True}
