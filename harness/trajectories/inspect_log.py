"""Logs of inspect (`.eval` archives and `.json`) as ATIF trajectories, one for each sample."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from pydantic import JsonValue

from harness.core import AgentInfo, BadInput, Trajectory
from harness.core.trajectory import FinalMetrics, Metrics
from harness.trajectories.building import Builder, Draft
from harness.trajectories.inspect_archive import MAX_ENTRY, archive, read_entry
from harness.trajectories.lenient import Notes, count, listing, load, mapping, string

_GRADES = {"C": "pass", "I": "fail", "N": "fail"}
_REFERENCE = "attachment://"


def is_inspect(document: Any) -> bool:
    """Whether a JSON document is such a log."""
    found = mapping(document)
    return isinstance(found.get("eval"), dict) and "status" in found and "version" in found


def header_of(path: Path) -> dict[str, Any]:
    """What stands before the samples of an `.eval` log: `eval`, `results`, `status`, ...

    Raises:
        BadInput: if it is no such log.
    """
    with archive(path) as opened:
        found = read_entry(opened, _head(opened))
    if not is_inspect({"status": "started", **mapping(found)}):
        raise BadInput(f"{str(path)!r}: expected the header of an inspect log")
    return mapping(found)


def _head(opened: ZipFile) -> str:
    # A log that is still being written has no header yet.
    return "header.json" if "header.json" in opened.namelist() else "_journal/start.json"


def read_inspect(path: Path) -> Iterator[Trajectory]:
    """Convert a log, or every `.eval` in a folder and below it; one sample is held at a time.

    Raises:
        BadInput: if a file is no such log, or a sample has no message.
    """
    for file in sorted(path.rglob("*.eval")) if path.is_dir() else [path]:
        if file.suffix == ".eval":
            yield from _read_archive(file)
        else:
            yield from _read_json(file)


def _read_archive(path: Path) -> Iterator[Trajectory]:
    with archive(path) as opened:
        names = opened.namelist()
        header = mapping(read_entry(opened, _head(opened)))
        for name in names:
            if name.startswith("samples/") and name.endswith(".json"):
                sample = mapping(read_entry(opened, name))
                yield _trajectory(sample, mapping(header.get("eval")), f"{path}: {name}")


def _read_json(path: Path) -> Iterator[Trajectory]:
    try:
        with path.open("rb") as handle:
            raw = handle.read(MAX_ENTRY + 1)
    except OSError as error:
        raise BadInput(f"cannot read {str(path)!r}: {error}") from error
    document = load(raw) if len(raw) <= MAX_ENTRY else None
    if not is_inspect(document):
        raise BadInput(f"{str(path)!r}: expected an inspect log under {MAX_ENTRY:,} bytes")
    log = mapping(document)
    for number, sample in enumerate(listing(log.get("samples"))):
        yield _trajectory(mapping(sample), mapping(log["eval"]), f"{path}: samples[{number}]")


def _trajectory(sample: dict[str, Any], about: dict[str, Any], where: str) -> Trajectory:
    notes = Notes()
    reader = _Messages(sample, notes)
    for message in listing(sample.get("messages")):
        reader.take(mapping(message))
    steps = reader.builder.steps()
    if not steps:
        raise BadInput(f"{where}: expected a sample with messages, found none")
    task_id, epoch = str(sample.get("id", "sample")), count(sample.get("epoch")) or 1
    return Trajectory(
        # A log that we exported names the trajectory that the sample was.
        trajectory_id=string(mapping(sample.get("metadata")).get("trajectory_id"))
        or f"{task_id}_epoch_{epoch}",
        session_id=string(sample.get("uuid")) or None,
        agent=AgentInfo(
            name="inspect",
            version=string(mapping(about.get("packages")).get("inspect_ai")) or "unknown",
            model_name=string(about.get("model")) or None,
        ),
        steps=steps,
        final_metrics=_used(sample),
        extra={"harness": {**_facts(sample, about, task_id, epoch), **notes.facts()}},
    )


def _used(sample: dict[str, Any]) -> FinalMetrics | None:
    """Tokens of all models; inspect counts what came from a prompt cache apart."""
    found = [mapping(one) for one in mapping(sample.get("model_usage")).values()]
    if not found:
        return None
    read = sum(count(one.get("input_tokens_cache_read")) for one in found)
    written = sum(count(one.get("input_tokens_cache_write")) for one in found)
    return FinalMetrics(
        total_prompt_tokens=sum(count(one.get("input_tokens")) for one in found) + read + written,
        total_completion_tokens=sum(count(one.get("output_tokens")) for one in found),
        total_cached_tokens=read,
    )


def _facts(
    sample: dict[str, Any], about: dict[str, Any], task_id: str, epoch: int
) -> dict[str, JsonValue]:
    facts: dict[str, JsonValue] = {"source": "inspect", "task_id": task_id, "epoch": epoch}
    facts["inspect"] = {
        "task": string(about.get("task")),
        "input": sample.get("input"),
        "target": sample.get("target"),
        "scores": mapping(sample.get("scores")),
        "metadata": mapping(sample.get("metadata")),
        "total_time": sample.get("total_time"),
    }
    # A log that we exported has our own facts in it, which say more than its scores.
    facts |= mapping(mapping(sample.get("metadata")).get("harness"))
    if sample.get("error"):
        reason = string(mapping(sample["error"]).get("message"))
        return {**facts, "outcome": "invalid", "reason": reason}
    for score in map(mapping, mapping(sample.get("scores")).values()):
        outcome, value = _graded(score.get("value"))
        facts |= {"outcome": outcome} if outcome else {}
        if value is not None and facts.get("score") is None:
            facts["score"] = value
        told = {"answer": score.get("answer"), "reason": score.get("explanation")}
        facts |= {name: text for name, text in told.items() if isinstance(text, str)}
        break  # the first scorer is the task's own
    return facts


def _graded(value: Any) -> tuple[str, float | None]:
    """Outcome and score; a value between 0 and 1 is partial credit and no pass."""
    if isinstance(value, str):
        outcome = _GRADES.get(value, "")
        return (
            (outcome, float(outcome == "pass")) if outcome else ("", 0.5 if value == "P" else None)
        )
    if isinstance(value, bool | int | float):
        return ("pass" if value >= 1 else "fail"), float(value)
    return "", None


class _Messages:
    def __init__(self, sample: dict[str, Any], notes: Notes) -> None:
        self.builder = Builder(notes)
        self._notes = notes
        self._attachments = mapping(sample.get("attachments"))
        self._usage: dict[str, dict[str, Any]] = {}
        for event in map(mapping, listing(sample.get("events"))):
            if event.get("event") == "model":
                output = mapping(event.get("output"))
                choice = mapping(next(iter(listing(output.get("choices"))), None))
                key = string(mapping(choice.get("message")).get("id"))
                self._usage[key] = mapping(output.get("usage"))

    def take(self, message: dict[str, Any]) -> None:
        role = string(message.get("role"))
        if role == "tool":
            failed = mapping(message.get("error"))
            text, _ = self._split(message.get("content"))
            extra: dict[str, JsonValue] = {"error": failed} if failed else {}
            shown = text or string(failed.get("message"))
            self.builder.result(message.get("tool_call_id"), shown, extra)
        elif role in ("system", "user"):
            draft = self.builder.begin("system" if role == "system" else "user")
            draft.texts.append(self._split(message.get("content"))[0])
        elif role == "assistant":
            self._reply(self.builder.begin("agent"), message)
        else:
            self._notes.add(f"unknown role: {role or 'none'}")

    def _reply(self, draft: Draft, message: dict[str, Any]) -> None:
        text, thought = self._split(message.get("content"))
        draft.texts.append(text)
        draft.thoughts += [thought] if thought else []
        draft.model = string(message.get("model")) or None
        for call in map(mapping, listing(message.get("tool_calls"))):
            self.builder.call(draft, call.get("id"), call.get("function"), call.get("arguments"))
        if usage := self._usage.get(string(message.get("id"))):
            read = count(usage.get("input_tokens_cache_read"))
            written = count(usage.get("input_tokens_cache_write"))
            draft.metrics = Metrics(
                prompt_tokens=count(usage.get("input_tokens")) + read + written,
                completion_tokens=count(usage.get("output_tokens")),
                cached_tokens=read,
            )

    def _split(self, content: Any) -> tuple[str, str]:
        """Text and reasoning of a content."""
        if isinstance(content, str):
            return self._resolve(content), ""
        texts: list[str] = []
        thoughts: list[str] = []
        for block in map(mapping, listing(content)):
            kind = string(block.get("type"))
            if kind == "text":
                texts.append(self._resolve(string(block.get("text"))))
            elif kind == "reasoning":
                thoughts.append(self._resolve(string(block.get("reasoning"))))
            else:
                texts.append(f"[{kind or json.dumps(block)[:40]}]")
        return "\n\n".join(texts), "\n\n".join(thoughts)

    def _resolve(self, text: str) -> str:
        """Long texts lie in the sample's attachments."""
        if not text.startswith(_REFERENCE):
            return text
        return string(self._attachments.get(text.removeprefix(_REFERENCE))) or text
