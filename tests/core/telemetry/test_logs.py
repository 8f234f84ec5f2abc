"""The log: JSON lines with ids, and nothing that was said."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput, tracing
from harness.core.telemetry import telemetry
from tests.core.telemetry.collector import SECRET_WORD, evaluated
from tests.models.http_server import completion, error

KEY = "sk-" + "a1B2" * 8


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_every_line_has_its_ids(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "run.jsonl"
    with telemetry(log=log, level="debug"):
        evaluated(tmp_path, tasks=2)
    rows = lines(log)
    assert all({"time", "level", "event", "run"} <= row.keys() for row in rows)
    calls = [row for row in rows if row["event"] == "chat ended"]
    assert len(calls) == 4
    assert {row["sample"] for row in calls} == {"t0", "t1"}
    assert all(len(row["call"]) == 64 and row["input_tokens"] for row in calls)
    tools = [row for row in rows if row["event"] == "execute_tool ended"]
    assert {(row["name"], row["tool_call"]) for row in tools} == {("python", "call-7")}
    ended = [row for row in rows if row["event"] == "invoke_agent ended"]
    assert [(row["outcome"], row["level"]) for row in ended] == [("pass", "info")] * 2
    assert [row["event"] for row in (rows[0], rows[-1])] == ["run began", "run ended"]


def test_nothing_said_and_no_key_stands_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    log = tmp_path / "log.jsonl"
    answers = iter([error(500, SECRET_WORD), completion(f"{SECRET_WORD} {KEY}")])
    agent = f"cmd:echo {KEY}"
    with telemetry(log=log, level="debug"):
        evaluated(tmp_path, lambda _: next(answers), tasks=1)
        evaluated(tmp_path, tasks=1, agent=agent, out=tmp_path / "cmd", sandbox="none")
        logging.getLogger("harness.models").warning("the key is %s", KEY)
    text = log.read_text("utf-8")
    assert SECRET_WORD not in text and KEY not in text
    events = [row["event"] for row in lines(log)]
    assert {"retry", "log", "chat ended"} <= set(events)
    assert '"cmd:echo"' in text


def test_levels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log.jsonl"
    with telemetry(log=log):
        evaluated(tmp_path, tasks=1)
    assert [row["event"] for row in lines(log)] == ["run began", "invoke_agent ended", "run ended"]
    log.unlink()
    monkeypatch.setenv("HARNESS_LOG_LEVEL", "WARNING")
    with telemetry(log=log):
        evaluated(tmp_path, lambda _: error(400), tasks=1, out=tmp_path / "bad")
    assert [(row["event"], row.get("error"), row.get("outcome")) for row in lines(log)] == [
        ("chat ended", "BadInput", None),
        ("invoke_agent ended", None, "invalid"),
    ]
    with pytest.raises(BadInput, match="expected one of debug"), telemetry(log=log, level="loud"):
        pass


def test_a_log_that_fails_ends_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    full = Path("/dev/full")
    if not full.exists():
        full = tmp_path
        with pytest.raises(BadInput), telemetry(log=full):
            pass
        return
    with telemetry(log=full, level="debug"):
        assert evaluated(tmp_path, tasks=1).passed == 1
    assert capsys.readouterr().err.count("ends here") == 1


def test_a_file_that_cannot_be_opened_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="log"), telemetry(log=tmp_path):
        pass
    assert not tracing.watched()


def test_an_operation_of_nobody_costs_next_to_nothing() -> None:
    assert tracing.operation("chat", "m", a=1) is tracing.operation("execute_tool", "t")
    tracing.note("retry", attempt=1)
