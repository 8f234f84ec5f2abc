"""Logs of inspect: read, written, read again."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from harness.core import (
    AgentInfo,
    BadInput,
    Observation,
    ObservationResult,
    Step,
    ToolCall,
    Trajectory,
)
from harness.core.rundir import RunWriter
from harness.core.trajectory import Metrics
from harness.trajectories import content_text, export_trajectories, open_trajectories, write_inspect

CALL = {"id": "c1", "function": "add", "arguments": {"x": 1}, "type": "function"}
SAMPLE: dict[str, Any] = {
    "id": "a",
    "epoch": 2,
    "input": "1+2?",
    "target": "3",
    "messages": [
        {"role": "user", "content": "attachment://h1"},
        {
            "id": "m1",
            "role": "assistant",
            "content": [{"type": "reasoning", "reasoning": "add"}, {"type": "text", "text": "so"}],
            "tool_calls": [CALL],
        },
        {"role": "tool", "tool_call_id": "c1", "function": "add", "content": "3"},
    ],
    "attachments": {"h1": "a long question"},
    "scores": {"match": {"value": "C"}},
    "events": [
        {
            "event": "model",
            "output": {
                "choices": [{"message": {"id": "m1"}}],
                "usage": {"input_tokens": 10, "output_tokens": 5, "input_tokens_cache_read": 4},
            },
        }
    ],
}
HEADER = {"version": 2, "status": "success", "eval": {"task": "t", "model": "p/m"}}


def _archive(path: Path, sample: Any) -> Path:
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("header.json", json.dumps(HEADER))
        opened.writestr("samples/a_epoch_2.json", json.dumps(sample))
    return path


def test_both_forms_give_the_same_trajectory(tmp_path: Path) -> None:
    (found,) = open_trajectories(_archive(tmp_path / "log.eval", SAMPLE))
    plain = tmp_path / "log.json"
    plain.write_text(json.dumps({**HEADER, "samples": [SAMPLE]}), "utf-8")
    assert list(open_trajectories(plain)) == [found]
    question, reply = found.steps
    assert question.message == "a long question"
    assert (reply.message, reply.reasoning_content) == ("so", "add")
    assert reply.metrics is not None
    assert (reply.metrics.prompt_tokens, reply.metrics.cached_tokens) == (14, 4)
    assert reply.observation is not None
    assert reply.observation.results[0].source_call_id == "c1"
    assert (found.trajectory_id, found.harness["outcome"]) == ("a_epoch_2", "pass")


@pytest.mark.parametrize(
    ("value", "outcome", "score"),
    [("I", "fail", 0.0), (1, "pass", 1.0), (0.4, "fail", 0.4), ("P", None, 0.5), ({}, None, None)],
)
def test_scores_become_outcomes(
    tmp_path: Path, value: Any, outcome: str | None, score: float | None
) -> None:
    sample = {**SAMPLE, "scores": {"one": {"value": value}, "two": {"value": "C"}}}
    (found,) = open_trajectories(_archive(tmp_path / "log.eval", sample))
    assert (found.harness.get("outcome"), found.harness.get("score")) == (outcome, score)


def test_an_error_is_an_invalid_run(tmp_path: Path) -> None:
    sample = {**SAMPLE, "error": {"message": "sandbox died"}}
    (found,) = open_trajectories(_archive(tmp_path / "log.eval", sample))
    assert found.harness["outcome"] == "invalid"


def test_zstd_entries_are_read(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = _archive(tmp_path / "log.eval", SAMPLE)
    expected = list(open_trajectories(path))
    with zipfile.ZipFile(path) as opened:
        packed = {
            i.filename: zstandard.ZstdCompressor().compress(opened.read(i))
            for i in opened.infolist()
        }
        crcs = {i.filename: (i.CRC, i.file_size) for i in opened.infolist()}
    _write_zip(path, packed, crcs)
    assert list(open_trajectories(path)) == expected


def _write_zip(path: Path, packed: dict[str, bytes], facts: dict[str, tuple[int, int]]) -> None:
    """A zip with method 93, which the standard library of Python 3.11 cannot write."""
    body, directory = b"", b""
    for name, raw in packed.items():
        crc, size = facts[name]
        fields = struct.pack("<HHHHHIIIHH", 63, 0, 93, 0, 33, crc, len(raw), size, len(name), 0)
        tail = struct.pack("<HHHII", 0, 0, 0, 0, len(body))
        directory += b"PK\x01\x02" + struct.pack("<H", 63) + fields + tail + name.encode()
        body += b"PK\x03\x04" + fields + name.encode() + raw
    count = len(packed)
    end = struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(body), 0)
    path.write_bytes(body + directory + b"PK\x05\x06" + end)


def _own(number: int, outcome: str) -> Trajectory:
    call = ToolCall(tool_call_id="c", function_name="python", arguments={"code": "1"})
    seen = Observation(results=(ObservationResult(source_call_id="c", content="one"),))
    return Trajectory(
        trajectory_id=f"run/{number}",
        agent=AgentInfo(name="react", version="1", model_name="p/m"),
        steps=(
            Step(step_id=1, source="system", message="be brief"),
            Step(step_id=2, source="user", message="go"),
            Step(
                step_id=3,
                source="agent",
                message="running",
                reasoning_content="hm",
                tool_calls=(call,),
                observation=seen,
            ),
        ),
        extra={"harness": {"task_id": "t/1", "outcome": outcome}},
    )


def test_outcome_and_messages_come_back(tmp_path: Path) -> None:
    own = [_own(1, "pass"), _own(2, "fail"), _own(3, "invalid")]
    write_inspect(own, tmp_path / "log.eval")
    again = list(open_trajectories(tmp_path / "log.eval"))
    assert [one.trajectory_id for one in again] == [one.trajectory_id for one in own]
    assert [one.harness["outcome"] for one in again] == ["pass", "fail", "invalid"]
    assert [one.harness["epoch"] for one in again] == [1, 2, 3]
    for before, after in zip(own, again, strict=True):
        for left, right in zip(before.steps, after.steps, strict=True):
            assert content_text(left.message) == content_text(right.message)
            assert left.tool_calls == right.tool_calls
            assert left.observation == right.observation
            assert left.reasoning_content == right.reasoning_content


def test_an_export_is_deterministic(tmp_path: Path) -> None:
    log = _archive(tmp_path / "log.eval", SAMPLE)
    for name in ("one", "two"):
        export_trajectories(log, tmp_path / name, "inspect")
    first, second = (tmp_path / name / "trajectories.eval" for name in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()


def test_a_sample_without_messages_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="samples/a_epoch_2"):
        list(open_trajectories(_archive(tmp_path / "log.eval", {"id": "a"})))


def test_the_log_of_a_run_has_its_suite_its_results_and_its_reasons(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with RunWriter(run, {"kind": "eval", "suite": "sums"}) as writer:
        for number, outcome in enumerate(["pass", "fail", "pass", "invalid"]):
            facts = {"task_id": f"t{number % 3}", "outcome": outcome, "answer": "4", "reason": "so"}
            tokens = {"prompt": 10, "completion": 2, "cached": 4}
            row: dict[str, Any] = {
                "schema_version": "ATIF-v1.8",
                "trajectory_id": f"t{number}",
                "agent": {"name": "a", "version": "1", "model_name": "p/m"},
                "steps": [{"step_id": 1, "source": "user", "message": "asked"}],
                "final_metrics": {f"total_{key}_tokens": one for key, one in tokens.items()},
                "extra": {"harness": facts},
            }
            writer.append_trajectory(row)
            writer.append_item({"id": f"t{number}", "usage": {"seconds": 2.5}})
    export_trajectories(run, tmp_path / "out", "inspect")
    with zipfile.ZipFile(tmp_path / "out" / "trajectories.eval") as opened:
        header = json.loads(opened.read("header.json"))
        scored = json.loads(opened.read("samples/t1_epoch_1.json"))
        failed = json.loads(opened.read("samples/t0_epoch_2.json"))
    assert header["eval"]["task"] == "sums"
    (score,) = header["results"]["scores"]
    assert (score["scored_samples"], score["unscored_samples"]) == (3, 1)
    assert score["metrics"]["accuracy"]["value"] == pytest.approx(2 / 3)
    assert score["metrics"]["stderr"]["value"] == pytest.approx(1 / 3)
    assert scored["scores"]["outcome"] == {"value": "I", "answer": "4", "explanation": "so"}
    assert scored["model_usage"]["p/m"] == {
        "input_tokens": 6, "output_tokens": 2, "total_tokens": 12, "input_tokens_cache_read": 4
    }  # fmt: skip
    assert (failed["scores"], failed["error"]["message"]) == ({}, "so")
    assert scored["total_time"] == 2.5
    assert header["stats"]["model_usage"]["p/m"] == {
        "input_tokens": 24, "output_tokens": 8, "total_tokens": 48, "input_tokens_cache_read": 16
    }  # fmt: skip


def test_ids_that_no_archive_can_hold_are_cut_apart(tmp_path: Path) -> None:
    ids = ["a" * 70_000, "a" * 70_000 + "b", "n\0", "n"]
    facts = [{"task_id": name, "outcome": "pass"} for name in ids]
    runs = [_own(1, "pass").model_copy(update={"extra": {"harness": row}}) for row in facts]
    assert write_inspect(runs, tmp_path / "log.eval") == 4
    with zipfile.ZipFile(tmp_path / "log.eval") as opened:
        summaries = json.loads(opened.read("summaries.json"))
        samples = [
            json.loads(opened.read(f"samples/{row['id']}_epoch_1.json")) for row in summaries
        ]
    assert [sample["id"] for sample in samples] == [row["id"] for row in summaries]
    assert len({row["id"] for row in summaries}) == 4


def test_replies_and_calls_are_events_with_their_tokens_and_times(tmp_path: Path) -> None:
    own = _own(1, "pass")
    metrics = Metrics(prompt_tokens=9, completion_tokens=3, cached_tokens=4)
    first, second, reply = own.steps
    times = {"metrics": metrics, "timestamp": "2026-01-02T03:04:07Z"}
    timed = first.model_copy(update={"timestamp": "2026-01-02T03:04:05Z"})
    steps = (timed, second, reply.model_copy(update=times))
    write_inspect([own.model_copy(update={"steps": steps})], tmp_path / "log.eval")
    with zipfile.ZipFile(tmp_path / "log.eval") as opened:
        sample = json.loads(opened.read("samples/t/1_epoch_1.json"))
    model, tool = sample["events"]
    assert (model["event"], model["model"], len(model["input"])) == ("model", "p/m", 2)
    assert model["output"]["choices"][0]["message"] == sample["messages"][2]
    assert (tool["event"], tool["function"], tool["result"]) == ("tool", "python", "one")
    assert sample["total_time"] == 2.0
    (again,) = open_trajectories(tmp_path / "log.eval")
    assert again.steps[2].metrics == metrics
