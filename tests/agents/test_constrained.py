"""Replies that the server holds to a JSON schema: actions, typed answers, the limit of tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from harness.agents import read_action
from harness.agents.constrained import action_format
from harness.agents.types import AgentRun
from harness.core import BadInput
from harness.models import Sampling
from harness.tools import TOOLS, Tool
from tests.agents.scripted import attempt, completion, in_order
from tests.models.http_server import Answer, Served, error


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key that the openai client wants to see."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")


def acting(name: str, **arguments: Any) -> Answer:
    """A reply that is a thought and an action."""
    action = {"name": name, "arguments": arguments}
    return completion(json.dumps({"thought": "Go on.", "action": action}))


def cut(text: str = '{"thought": "I will') -> Answer:
    """A reply that met its limit of tokens."""
    status, headers, content = completion(text)
    body = json.loads(content)
    body["choices"][0]["finish_reason"] = "length"
    return status, headers, json.dumps(body).encode()


def constrained(folder: Path, *answers: Answer, **settings: Any) -> tuple[AgentRun, Served]:
    """An attempt with bash whose replies are held to its schema."""
    settings = {"tools": ("bash",), "protocol": "json", **settings}
    return attempt(in_order(*answers), folder, **settings)


def schema_of(body: dict[str, Any]) -> dict[str, Any]:
    """Return the schema that the replies to a request are held to."""
    return body["response_format"]["json_schema"]["schema"]


def test_a_tool_runs_and_finish_ends(tmp_path: Path) -> None:
    run, served = constrained(
        tmp_path, acting("bash", command="echo hi"), acting("finish", answer=" 42 ")
    )
    assert (run.answer, run.invalid) == ("42", None)
    first, second = served.bodies
    assert "tools" not in first
    assert "stop" not in first
    assert "finish" in first["messages"][0]["content"]
    assert second["messages"][-1] == {"role": "user", "content": "Observation:\n```\nhi\n```"}
    assert run.trajectory.steps[2].tool_calls is not None


def test_the_schema_takes_each_tool_with_its_own_arguments_only(tmp_path: Path) -> None:
    _, served = constrained(tmp_path, acting("finish", answer=""))
    schema = schema_of(served.bodies[0])

    def fits(name: str, arguments: dict[str, Any]) -> bool:
        reply = {"thought": "", "action": {"name": name, "arguments": arguments}}
        validator: Any = jsonschema.Draft202012Validator(schema)
        return validator.is_valid(reply)

    assert fits("bash", {"command": "ls"})
    assert fits("finish", {"answer": "x"})
    assert not fits("bash", {"answer": "x"})
    assert not fits("python", {"code": "1"})
    assert not fits("finish", {})
    assert list(schema["properties"]) == ["thought", "action"]  # reason first, then act


def test_references_of_a_tools_schema_lead_to_where_it_stands_now() -> None:
    inner: dict[str, Any] = {
        "type": "object",
        "$defs": {"point": {"type": "object", "properties": {"x": {"type": "integer"}}}},
        "properties": {"at": {"$ref": "#/$defs/point"}},
    }
    tools = [TOOLS["bash"], Tool("plot", "Plot.", inner, TOOLS["bash"].run)]
    form: Any = action_format(tools, {"type": "integer"})
    validator: Any = jsonschema.Draft202012Validator(form["json_schema"]["schema"])

    def fits(name: str, arguments: dict[str, Any]) -> bool:
        action = {"name": name, "arguments": arguments}
        return validator.is_valid({"thought": "", "action": action})

    assert fits("plot", {"at": {"x": 1}})
    assert not fits("plot", {"at": {"x": "far"}})
    assert fits("finish", {"answer": 3})
    assert not fits("finish", {"answer": "3"})


def test_no_tool_may_take_the_name_of_the_end() -> None:
    with pytest.raises(BadInput, match="'finish'"):
        action_format([Tool("finish", "End.", {}, TOOLS["bash"].run)], None)


def test_half_a_surrogate_pair_is_replaced() -> None:
    action = read_action(
        '{"thought": "", "action": {"name": "bash", "arguments": {"c": "\\ud800"}}}'
    )
    assert vars(action)["arguments"] == {"c": "\ufffd"}


def test_a_server_that_ignores_the_schema_is_told_the_form(tmp_path: Path) -> None:
    run, served = constrained(tmp_path, completion("Sure!"), acting("finish", answer="x"))
    assert run.answer == "x"
    assert "Format error" in served.bodies[1]["messages"][-1]["content"]


def test_a_cut_reply_is_no_format_error(tmp_path: Path) -> None:
    long = '{"thought": "' + "so " * 500
    run, served = constrained(tmp_path, cut(long), acting("finish", answer="x"))
    assert (run.answer, run.invalid) == ("x", None)
    reply, reminder = served.bodies[1]["messages"][-2:]
    assert len(reply["content"]) < 300  # it does not crowd the conversation out
    assert "cut at its limit of tokens" in reminder["content"]
    assert "Format error" not in reminder["content"]


def test_two_cut_replies_in_a_row_end_the_attempt_as_length(tmp_path: Path) -> None:
    run, served = constrained(tmp_path, cut(), cut(), acting("finish", answer="x"))
    assert run.answer is None
    assert run.invalid == "length: 2 replies in a row were cut at their limit of tokens"
    assert len(served.bodies) == 2


def test_a_reply_that_is_whole_counts_although_it_met_the_limit(tmp_path: Path) -> None:
    _, _, content = acting("finish", answer="x")
    text = json.loads(content)["choices"][0]["message"]["content"]
    assert constrained(tmp_path, cut(text))[0].answer == "x"


def test_unconstrained_replies_that_are_cut_are_named_in_the_reason(tmp_path: Path) -> None:
    run, _ = constrained(tmp_path, *[cut()] * 5, protocol="text")
    assert "cut at its limit" in (run.invalid or "")


def test_a_constrained_reply_always_has_a_limit(tmp_path: Path) -> None:
    _, served = constrained(tmp_path, acting("finish", answer=""))
    assert served.bodies[0]["max_tokens"] == 2048
    _, served = constrained(
        tmp_path, acting("finish", answer=""), sampling=Sampling(max_tokens=100)
    )
    assert served.bodies[0]["max_tokens"] == 100


def test_a_schema_that_the_server_does_not_take_names_its_tool(tmp_path: Path) -> None:
    place = "JSON schema error at #/properties/action/anyOf/0/properties/arguments: unrecognized"
    run, _ = constrained(tmp_path, error(400, place))
    assert "schema of the tool 'bash'" in (run.invalid or "")
    assert "protocol: native" in (run.invalid or "")
    run, _ = constrained(tmp_path, error(400, "the context is too long"))
    assert "schema" not in (run.invalid or "")


@pytest.mark.parametrize(
    ("schema", "reply", "answer"),
    [
        ({"type": "number"}, "4.5", "4.5"),
        ({"enum": ["yes", "no"]}, '"no"', "no"),
        ({"type": "array", "items": {"type": "string"}}, '["a b", "c"]', "a b, c"),
        ({"type": "number"}, "about 4", "about 4"),  # a server that ignores the schema
    ],
)
@pytest.mark.parametrize("graph", ["graph:answer", "graph:react"])
def test_an_answer_of_a_declared_type(
    schema: dict[str, Any], reply: str, answer: str, graph: str, tmp_path: Path
) -> None:
    run, served = attempt(
        lambda _: completion(reply), tmp_path,
        spec=graph, answer_schema=schema, protocol="json",
    )  # fmt: skip
    assert run.answer == answer
    assert schema_of(served.bodies[0]) == schema


def test_an_answer_of_no_declared_type_is_free(tmp_path: Path) -> None:
    run, served = attempt(
        lambda _: completion(' "quoted" '), tmp_path, spec="graph:answer", protocol="json"
    )
    assert run.answer == '"quoted"'
    assert "response_format" not in served.bodies[0]


def test_an_unconstrained_request_has_no_schema(tmp_path: Path) -> None:
    _, served = attempt(
        lambda _: completion("4"), tmp_path, spec="graph:answer", answer_schema={"type": "number"}
    )
    assert "response_format" not in served.bodies[0]


def test_graphs_with_a_form_of_their_own_are_not_held_to_actions(tmp_path: Path) -> None:
    """A program, say, is asked for as it is where the model's server could hold it to a schema."""
    program = completion("```python\nprint(40 + 2)\n```")
    _, served = attempt(lambda _: program, tmp_path, spec="graph:program", protocol="json")
    assert served.bodies
    assert all("response_format" not in body for body in served.bodies)
