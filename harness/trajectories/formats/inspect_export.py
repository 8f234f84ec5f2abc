"""Trajectories as an inspect `.eval` log that inspect's own reader and viewer open.

Source of the fields: inspect_ai's `log/_log.py` (EvalLog, EvalSample, EvalStats) and
`event/_model.py`, `event/_tool.py` (ModelEvent, ToolEvent).
"""

from __future__ import annotations

import json
import math
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from harness.core import Trajectory, digest
from harness.trajectories.building import ROLES
from harness.trajectories.text import content_text

_GRADES = {"pass": "C", "fail": "I"}
# Characters of a sample's id; a longer one is cut and gets its digest.
MAX_ID = 1000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC).isoformat()


def write_inspect(
    trajectories: Iterable[Trajectory],
    file: Path,
    task: str = "trajectories",
    seconds: Mapping[str, float] | None = None,
) -> int:
    """Write one log with a sample for each trajectory; deterministic, whole or not at all.

    Samples of one task get epochs 1, 2, ...; a tool call's result follows its message. Every reply
    is a model event with its tokens, every call a tool event. The facts in `extra.harness` go to
    the sample's metadata, the outcome to a score `outcome`, with the answer and the scorer's reason
    beside it; the log's results are its mean over tasks and the standard error of that, its stats
    the tokens of each model. An invalid run has an error in place of a score.

    Args:
        trajectories: in the order of the log.
        file: to write.
        task: name of the task in the log.
        seconds: trajectory id -> duration of the attempt; default from the times of its steps.

    Returns:
        Number of samples.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.part")
    epochs: Counter[str] = Counter()
    models: Counter[str] = Counter()
    stats: dict[str, Counter[str]] = {}
    summaries: list[dict[str, Any]] = []
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for trajectory in trajectories:
                # Inspect looks samples up by a member's name, which holds the id as it is; a name
                # ends at a NUL and has at most 65,535 bytes.
                sample_id = trajectory.task_id.replace("\0", "\ufffd")
                if len(sample_id) > MAX_ID:
                    sample_id = f"{sample_id[:MAX_ID]}-{digest(sample_id)[:12]}"
                epochs[sample_id] += 1
                duration = (seconds or {}).get(trajectory.trajectory_id)
                sample = _sample(trajectory, sample_id, epochs[sample_id], duration)
                for model, usage in sample["model_usage"].items():
                    models[model] += 1
                    stats.setdefault(model, Counter()).update(usage)
                _put(archive, f"samples/{sample_id}_epoch_{epochs[sample_id]}.json", sample)
                summaries.append(_summary(sample))
            header = _header(task, epochs, models)
            _put(archive, "_journal/start.json", header)
            _put(archive, "summaries.json", summaries)
            header |= {"status": "success", "results": _results(summaries)}
            times = {"started_at": _EPOCH, "completed_at": _EPOCH}
            header["stats"] = {**times, "model_usage": stats}
            _put(archive, "header.json", header)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return len(summaries)


def _put(archive: zipfile.ZipFile, name: str, value: Any) -> None:
    # A fixed date: the same trajectories give the same bytes.
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, json.dumps(value, ensure_ascii=False))


def _header(task: str, epochs: Counter[str], models: Counter[str]) -> dict[str, Any]:
    return {
        "version": 2,
        "eval": {
            "created": _EPOCH,
            **dict.fromkeys(("task", "task_id", "eval_id", "run_id"), task),
            "dataset": {"name": task, "samples": len(epochs), "sample_ids": list(epochs)},
            "model": models.most_common(1)[0][0] if models else "unknown/unknown",
            "config": {"epochs": max(epochs.values(), default=1)},
        },
        "plan": {"name": "plan", "steps": []},
    }


def _results(summaries: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and standard error over tasks of what has a score, as inspect's viewer shows them."""
    by_task: dict[str, list[float]] = {}
    for summary in summaries:
        if summary["scores"]:
            passed = float(summary["scores"]["outcome"]["value"] == _GRADES["pass"])
            by_task.setdefault(summary["id"], []).append(passed)
    total = len(summaries)
    results = {"total_samples": total, "completed_samples": total, "scores": list[Any]()}
    if by_task:
        means = [fmean(values) for values in by_task.values()]
        error = stdev(means) / math.sqrt(len(means)) if len(means) > 1 else 0.0
        metrics = {"accuracy": fmean(means), "stderr": error}
        scored = sum(map(len, by_task.values()))
        score = {
            "name": "outcome",
            "scorer": "outcome",
            "scored_samples": scored,
            "unscored_samples": total - scored,
            "metrics": {name: {"name": name, "value": value} for name, value in metrics.items()},
        }
        results["scores"] = [score]
    return results


def _sample(trajectory: Trajectory, task: str, epoch: int, seconds: float | None) -> dict[str, Any]:
    metadata = trajectory.harness
    model = trajectory.agent.model_name or "unknown/unknown"
    messages, events = _messages(trajectory, model)
    questions = [message["content"] for message in messages if message["role"] == "user"]
    replies = [message for message in messages if message["role"] == "assistant"]
    total = trajectory.final_metrics
    sample: dict[str, Any] = {
        "id": task,
        "epoch": epoch,
        "input": questions[0] if questions else "",
        "target": "",
        "messages": messages,
        "output": {"model": model, "choices": _choices(replies[-1:])},
        "scores": {},
        "metadata": {"harness": metadata, "trajectory_id": trajectory.trajectory_id},
    }
    grade = _GRADES.get(str(metadata.get("outcome")))
    if grade is not None:
        answer, reason = metadata.get("answer"), metadata.get("reason")
        sample["scores"] = {"outcome": {"value": grade, "answer": answer, "explanation": reason}}
    if metadata.get("outcome") == "invalid":
        reason = str(metadata.get("reason") or metadata.get("invalid") or "invalid run")
        sample["error"] = {"message": reason, "traceback": "", "traceback_ansi": ""}
    sample["model_usage"] = {
        model: _usage(
            total and total.total_prompt_tokens,
            total and total.total_completion_tokens,
            total and total.total_cached_tokens,
        )
    }
    sample["events"] = events
    if seconds is None:
        times = [step.timestamp for step in trajectory.steps if step.timestamp]
        first, last = (_time(times[index]) for index in (0, -1)) if times else (None, None)
        seconds = (last - first).total_seconds() if first and last else None
    return sample if seconds is None else {**sample, "total_time": seconds}


def _time(timestamp: str) -> datetime:
    time = datetime.fromisoformat(timestamp.replace("Z", "+00:00"))
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _usage(prompt: int | None, completion: int | None, cached: int | None) -> dict[str, int]:
    """Tokens; inspect counts what came from a prompt cache apart."""
    prompt, completion, cached = prompt or 0, completion or 0, cached or 0
    return {
        "input_tokens": max(0, prompt - cached),
        "output_tokens": completion,
        "total_tokens": prompt + completion,
        "input_tokens_cache_read": cached,
    }


def _choices(replies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"message": reply, "stop_reason": "stop"} for reply in replies]


def _messages(
    trajectory: Trajectory, model: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(messages, events): replies are model events, their calls tool events.

    A model event's input holds the messages since the event before it: together they are the
    conversation, and a log stays as long as what it tells.
    """
    messages: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    start = 0
    for step in trajectory.steps:
        text = content_text(step.message)
        message: dict[str, Any] = {
            "id": f"step-{step.step_id}",
            "role": ROLES[step.source],
            "content": text,
        }
        if step.reasoning_content:
            reasoning = {"type": "reasoning", "reasoning": step.reasoning_content}
            message["content"] = [reasoning, {"type": "text", "text": text}]
        calls: list[dict[str, Any]] = [
            {
                "id": call.tool_call_id,
                "function": call.function_name,
                "arguments": call.arguments,
                "type": "function",
            }
            for call in step.tool_calls or ()
        ]
        if calls:
            message["tool_calls"] = calls
        about = {"timestamp": step.timestamp or _EPOCH, "working_start": 0.0}
        if step.source == "agent":
            name, metrics = step.model_name or model, step.metrics
            output: dict[str, Any] = {"model": name, "choices": _choices([message])}
            if metrics:
                counts = (metrics.prompt_tokens, metrics.completion_tokens, metrics.cached_tokens)
                output["usage"] = _usage(*counts)
            event = {"event": "model", **about, "model": name, "input": messages[start:]}
            event |= {"tools": [], "tool_choice": "auto", "config": {}, "output": output}
            events.append(event)
        messages.append(message)
        results: dict[str, str] = {}
        names = {call["id"]: call["function"] for call in calls}
        for result in step.observation.results if step.observation else ():
            result_text, call_id = content_text(result.content or ""), result.source_call_id
            if call_id is None:
                messages.append({"role": "user", "content": result_text})
            else:
                results[call_id] = result_text
                tool_fields = {"tool_call_id": call_id, "function": names.get(call_id)}
                messages.append({"role": "tool", "content": result_text, **tool_fields})
        for call in calls:
            result = results.get(call["id"], "")
            events.append({"event": "tool", **about, **call, "result": result})
        start = len(messages) if step.source == "agent" else start
    return messages, events


def _summary(sample: dict[str, Any]) -> dict[str, Any]:
    keys = ("id", "epoch", "input", "target", "scores", "metadata", "model_usage", "total_time")
    summary = {key: sample[key] for key in keys if key in sample} | {"completed": True}
    return summary | ({"error": sample["error"]["message"]} if "error" in sample else {})
