"""Exports of tracing tools, written here in the forms that their documentation describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from harness.core import BadInput, Trajectory
from harness.trajectories import (
    content_text,
    detect_format,
    export_trajectories,
    open_trajectories,
)
from harness.trajectories.formats.trace_exports import objects

Row = dict[str, Any]
COMMAND, OUTPUT = "pytest -q", "5 passed in 0.12s"
THANKS = "Perfect, thanks!"


def _value(value: Any) -> Row:
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(one) for one in cast("list[Any]", value)]}}
    if isinstance(value, dict):
        items = cast("Row", value).items()
        pairs = [{"key": key, "value": _value(one)} for key, one in items]
        return {"kvlistValue": {"values": pairs}}
    return {"stringValue": value}


def _span(start: int, **held: Any) -> Row:
    named = {f"gen_ai.{name.replace('__', '.')}": value for name, value in held.items()}
    rows = [{"key": key, "value": _value(value)} for key, value in named.items()]
    return {
        "traceId": "t" * 32, "spanId": f"{start:016d}", "name": "chat m-1",
        "startTimeUnixNano": str((1_772_000_000 + start) * 10**9), "attributes": rows,
    }  # fmt: skip


def otel(text: bool) -> Row:
    """Two model calls, the second given the first one's history, and a tool."""
    ask = {"role": "user", "parts": [{"type": "text", "content": "run the tests"}]}
    call = {"type": "tool_call", "id": "c1", "name": "bash", "arguments": {"command": COMMAND}}
    reply = {"role": "assistant", "parts": [call], "finish_reason": "tool_call"}
    result = {"type": "tool_call_response", "id": "c1", "response": OUTPUT}
    done = {"role": "assistant", "parts": [{"type": "text", "content": "all pass"}]}
    thanks = {"role": "user", "parts": [{"type": "text", "content": THANKS}]}
    pack = json.dumps if text else (lambda value: value)  # pyright: ignore[reportUnknownVariableType, reportUnknownLambdaType]  # as text, or in structured form
    history = [ask, reply, {"role": "tool", "parts": [result]}, done, thanks]
    spans = [
        _span(5, operation__name="chat", input__messages=pack(history), request__model="m-1",
              output__messages=pack([{**done, "parts": [{"type": "text", "content": "welcome"}]}]),
              usage__input_tokens=40, usage__output_tokens=3),
        _span(1, operation__name="chat", input__messages=pack([ask]), request__model="m-1",
              output__messages=pack([reply]),
              system_instructions=pack([{"type": "text", "content": "be brief"}])),
    ]  # fmt: skip
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}


def _openai() -> list[Row]:
    call = {"name": "bash", "arguments": json.dumps({"command": COMMAND})}
    return [
        {"role": "user", "content": "run the tests"},
        {"role": "assistant", "content": None,
         "tool_calls": [{"id": "c1", "type": "function", "function": call}]},
        {"role": "tool", "tool_call_id": "c1", "content": OUTPUT},
        {"role": "assistant", "content": "all pass"},
        {"role": "user", "content": THANKS},
    ]  # fmt: skip


def langfuse(snake: bool) -> list[Row]:
    """Observations of one trace; in snake case input and output are JSON text."""
    said = _openai()
    rows: list[Row] = [
        {"id": "o1", "traceId": "lf", "type": "GENERATION", "startTime": "2026-03-01T09:00:01Z",
         "name": "chat", "model": "m-1", "input": {"messages": said[:1]}, "output": said[1]},
        {"id": "o2", "traceId": "lf", "type": "TOOL", "startTime": "2026-03-01T09:00:02Z",
         "name": "bash", "input": {"command": COMMAND}, "output": OUTPUT},
        {"id": "o3", "traceId": "lf", "type": "GENERATION", "startTime": "2026-03-01T09:00:03Z",
         "name": "chat", "model": "m-1", "input": said, "output": "welcome",
         "usageDetails": {"input": 40, "output": 3}},
    ]  # fmt: skip
    if not snake:
        return rows
    names = {"traceId": "trace_id", "startTime": "start_time", "usageDetails": "usage_details"}
    return [
        {
            names.get(key, key): json.dumps(value) if isinstance(value, (dict, list)) else value
            for key, value in row.items()
        }
        for row in rows
    ]


def langsmith() -> list[Row]:
    """Runs of one trace with messages as LangChain writes them out."""

    def message(kind: str, **kwargs: Any) -> Row:
        name = ["langchain", "schema", "messages", kind]
        return {"lc": 1, "type": "constructor", "id": name, "kwargs": kwargs}

    ask = message("HumanMessage", content="run the tests", type="human")
    calls = [{"name": "bash", "args": {"command": COMMAND}, "id": "c1", "type": "tool_call"}]
    reply = message("AIMessage", content="", tool_calls=calls, type="ai")
    result = message("ToolMessage", content=OUTPUT, tool_call_id="c1", type="tool")
    done = message("AIMessage", content="all pass", type="ai")
    thanks = message("HumanMessage", content=THANKS, type="human")
    welcome = message("AIMessage", content="welcome", type="ai")

    def run(number: int, kind: str, given: list[Row], answered: Row) -> Row:
        return {
            "id": f"r{number}", "trace_id": "ls", "parent_run_id": "r0", "run_type": kind,
            "name": "ChatModel", "start_time": f"2026-03-01T09:00:0{number}",
            "inputs": {"messages": [given]},
            "outputs": {"generations": [[{"text": "", "message": answered}]]},
            "extra": {"metadata": {"ls_model_name": "m-1"}}, "prompt_tokens": 40,
            "completion_tokens": 3,
        }  # fmt: skip

    return [
        {"id": "r0", "trace_id": "ls", "run_type": "chain", "name": "agent", "inputs": {},
         "start_time": "2026-03-01T09:00:00", "parent_run_id": None, "outputs": {}},
        run(1, "llm", [ask], reply),
        run(3, "llm", [ask, reply, result, done, thanks], welcome),
    ]  # fmt: skip


def _check(found: Trajectory) -> None:
    said = [(step.source, content_text(step.message)) for step in found.steps]
    said = [one for one in said if one[0] != "system"]
    assert said == [
        ("user", "run the tests"),
        ("agent", ""),
        ("agent", "all pass"),
        ("user", THANKS),
        ("agent", "welcome"),
    ]
    step = next(step for step in found.steps if step.tool_calls)
    assert step.tool_calls is not None
    assert [(call.function_name, call.arguments) for call in step.tool_calls] == [
        ("bash", {"command": COMMAND})
    ]
    assert step.observation is not None
    assert [one.content for one in step.observation.results] == [OUTPUT]
    assert found.agent.model_name == "m-1"
    assert found.steps[-1].metrics is not None
    assert found.steps[-1].metrics.prompt_tokens == 40


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("otel", [otel(text=True)]),
        ("otel", [otel(text=False)]),
        ("langfuse", langfuse(snake=False)),
        ("langfuse", langfuse(snake=True)),
        ("langfuse", [{"id": "lf", "observations": langfuse(snake=False), "scores": []}]),
        ("langsmith", langsmith()),
    ],
)
def test_an_export_is_one_conversation(
    name: str, rows: list[Row], lines: bool, tmp_path: Path
) -> None:
    path = tmp_path / f"export.{'jsonl' if lines else 'json'}"
    text = "".join(json.dumps(row) + "\n" for row in rows) if lines else json.dumps(rows)
    path.write_text(text)
    assert detect_format(path) == name
    (found,) = open_trajectories(path)
    _check(found)
    assert found.harness["source"] == name
    (again,) = open_trajectories(tmp_path)
    assert again.steps == found.steps


def test_a_result_that_no_later_call_was_given_comes_from_the_tool(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"id": "lf", "observations": langfuse(snake=False)[:2]}))
    (found,) = open_trajectories(path)
    assert found.steps[-1].observation is not None
    assert found.steps[-1].observation.results[0].content == OUTPUT


@pytest.mark.parametrize("text", ['{"answer": 5}', '["a", "b"]', '[{"type": 1}]'])
def test_an_answer_in_json_is_text(text: str, tmp_path: Path) -> None:
    rows = langfuse(snake=False)[:1]
    rows[0]["output"] = {"role": "assistant", "content": text}
    path = tmp_path / "observations.json"
    path.write_text(json.dumps(rows))
    (found,) = open_trajectories(path)
    assert content_text(found.steps[-1].message) == text


def test_what_was_said_twice_stands_twice(tmp_path: Path) -> None:
    rows = langfuse(snake=False)
    rows[2]["input"] = [*_openai(), {"role": "assistant", "content": "so"}, _openai()[-1]]
    path = tmp_path / "observations.json"
    path.write_text(json.dumps(rows))
    (found,) = open_trajectories(path)
    said = [content_text(step.message) for step in found.steps]
    assert said.count(THANKS) == 2


def test_a_span_around_the_calls_is_no_call(tmp_path: Path) -> None:
    row = otel(text=True)
    spans = row["resourceSpans"][0]["scopeSpans"][0]["spans"]
    welcome = {"role": "assistant", "parts": [{"type": "text", "content": "welcome"}]}
    ask = {"role": "user", "parts": [{"type": "text", "content": "run the tests"}]}
    whole = _span(0, operation__name="invoke_agent", agent__name="tester", request__model="m-1",
                  input__messages=json.dumps([ask]), output__messages=json.dumps([welcome]),
                  usage__input_tokens=80, usage__output_tokens=9)  # fmt: skip
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([row]))
    (alone,) = open_trajectories(path)
    spans.append(whole)
    path.write_text(json.dumps([row]))
    (found,) = open_trajectories(path)
    assert found.steps == alone.steps
    assert found.agent.name == "tester"
    spans[:] = [whole]
    path.write_text(json.dumps([row]))
    (bare,) = open_trajectories(path)
    assert [content_text(step.message) for step in bare.steps] == ["run the tests", "welcome"]


def test_the_instructions_of_another_agent_stand_before_what_was_said(tmp_path: Path) -> None:
    def said(role: str, text: str) -> Row:
        return {"role": role, "content": text}

    talk = [said("user", "book it"), said("assistant", "I hand over")]
    second = [said("system", "You book."), *talk, said("user", "go on")]
    calls = [([said("system", "You sort."), talk[0]], talk[1]), (second, said("assistant", "ok"))]
    rows = [
        {"id": f"o{number}", "traceId": "lf", "type": "GENERATION", "name": "chat",
         "startTime": f"2026-03-01T09:00:0{number}Z", "input": given, "output": answered}
        for number, (given, answered) in enumerate(calls)
    ]  # fmt: skip
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(rows))
    (found,) = open_trajectories(path)
    texts = [content_text(step.message) for step in found.steps]
    assert texts == ["You sort.", "book it", "I hand over", "You book.", "go on", "ok"]


def _made(number: int) -> list[Row]:
    """Make a failing call, the same for the third time, with its result."""
    function = {"name": "bash", "arguments": json.dumps({"command": "make"})}
    call = {"id": f"c{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": "Error 1"},
    ]


@pytest.mark.parametrize("kept", [1, 2, 9])
def test_the_same_call_three_times_stands_three_times(kept: int, tmp_path: Path) -> None:
    """`kept`: rounds of the past that a model call is still given."""
    ask: Row = {"role": "user", "content": "build it"}
    rows: list[Row] = []
    past: list[Row] = []
    for number in range(4):
        given = [ask, *past[-2 * kept :]]
        answered = _made(number)[0] if number < 3 else {"role": "assistant", "content": "no"}
        rows.append(
            {"id": f"o{number}", "traceId": "lf", "type": "GENERATION", "name": "chat",
             "startTime": f"2026-03-01T09:00:0{number}Z", "input": given, "output": answered}
        )  # fmt: skip
        past += _made(number)
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([*rows, rows[1]]))  # and one span twice
    (found,) = open_trajectories(path)
    calls = [call.tool_call_id for step in found.steps for call in step.tool_calls or ()]
    assert calls == ["c0", "c1", "c2"]
    results = [step.observation.results for step in found.steps if step.observation]
    assert [[one.source_call_id for one in some] for some in results] == [["c0"], ["c1"], ["c2"]]
    assert content_text(found.steps[-1].message) == "no"
    assert len(found.steps) == 5


@pytest.mark.parametrize("text", ["[]", "{}", '{"resourceSpans": 3}', "[1]", '{"a": ['])
def test_what_is_no_export_is_no_format(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(BadInput):
        detect_format(path)


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a": "\xff"}', b'{"a": ['])
def test_a_document_that_cannot_be_read_is_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"x\.json"):
        list(objects(path))


@pytest.mark.parametrize("lines", [False, True])
def test_a_number_that_json_lacks_is_null(lines: bool, tmp_path: Path) -> None:
    path = tmp_path / f"export.{'jsonl' if lines else 'json'}"
    rows = [json.dumps(row).replace(json.dumps(COMMAND), "1e999") for row in langsmith()]
    assert any("1e999" in row for row in rows)
    path.write_text("\n".join(rows) if lines else f"[{','.join(rows)}]")
    (found,) = open_trajectories(path)
    (call,) = (call for step in found.steps for call in step.tool_calls or ())
    assert call.arguments == {"command": None}
    assert export_trajectories(path, tmp_path / "out", "openai")
