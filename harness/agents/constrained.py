"""Replies that are held to a JSON schema by the server: actions, and answers of a declared type.

A reply of an agent with tools is one JSON object,

    {"thought": "…", "action": {"name": "python", "arguments": {"code": "…"}}}

and `finish` is the action that ends the attempt. The thought comes first, so that the model can
reason before it acts. This is `response_format` and not `tool_choice: required`: llama.cpp lets a
model write whatever it likes before a call that it may never begin, and vLLM leaves no room for a
thought.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import JsonValue

from harness.agents.protocol import Action, Final, FormatError
from harness.core import BadInput, without_surrogates
from harness.tools import Tool

FINISH = "finish"
LONGEST_REPLY = 2048
"""Tokens of a reply where none are configured: a loop within a string would fill the context."""
LONGEST_THOUGHT = 200
"""Characters: two sentences."""
LONGEST_ANSWER = 1000
"""Characters of an answer of no declared type, for the same reason."""
CUT = (
    "Your reply was cut at its limit of tokens, in the middle of the JSON. Write a shorter one: "
    "a short thought, and a smaller step."
)

Schema = dict[str, JsonValue]


def finish_tool(answer: Schema | None) -> Schema:
    """The action that ends the attempt, as the prompt lists it.

    Args:
        answer: schema of the task's answer; None for any text.
    """
    answer = answer or {"type": "string", "maxLength": LONGEST_ANSWER}
    return {
        "name": FINISH,
        "description": "End the task. The answer is empty where none was asked for.",
        "parameters": _object({"answer": answer}),
    }


def action_format(tools: Sequence[Tool], answer: Schema | None) -> Schema:
    """The `response_format` of a reply that is a thought and one action.

    Raises:
        BadInput: if a tool has the name of the action that ends the attempt.
    """
    listed: list[Any] = [{"name": tool.name, "parameters": tool.parameters} for tool in tools]
    if FINISH in (tool.name for tool in tools):
        raise BadInput(f"no tool may be named {FINISH!r}: that action ends an attempt")
    actions = call_schemas([*listed, finish_tool(answer)], "#/properties/action/anyOf")
    thought: Schema = {"type": "string", "maxLength": LONGEST_THOUGHT}
    return _format("action", _object({"thought": thought, "action": {"anyOf": actions}}))


def call_schemas(functions: Sequence[Mapping[str, Any]], pointer: str) -> list[JsonValue]:
    """Schemas of calls of functions: `{"name": …, "arguments": {…}}` each.

    Args:
        functions: `name` and `parameters` of each.
        place: JSON pointer of the list in the schema that it becomes a part of.
    """
    return [
        _object(
            {
                "name": {"const": function["name"]},
                "arguments": _moved(
                    function.get("parameters") or {"type": "object"},
                    f"{pointer}/{index}/properties/arguments",
                ),
            }
        )
        for index, function in enumerate(functions)
    ]


def answer_format(answer: Schema) -> Schema:
    """The `response_format` of a reply that is an answer and nothing else."""
    return _format("answer", answer)


def read_action(text: str) -> Action | Final:
    """Read a reply in the form of :func:`action_format`.

    Raises:
        FormatError: if it is cut, or the server did not hold it to the form.
    """
    try:
        action = _parsed(text)["action"]
        name, arguments = action["name"], action["arguments"]
        if name == FINISH:
            return Final(answer_text(arguments["answer"]).strip())
    except (LookupError, TypeError) as error:
        raise FormatError(
            'Your reply must be one JSON object {"thought": …, "action": {"name": …, "arguments": '
            "{…}}}."
        ) from error
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise FormatError('The action needs a text "name" and an object "arguments".')
    return Action("text", name, cast("Schema", arguments))


def read_answer(text: str) -> str:
    """The answer in a reply in the form of :func:`answer_format`; of any other reply its text."""
    try:
        return answer_text(_parsed(text))
    except FormatError:
        return text.strip()


def answer_text(value: JsonValue) -> str:
    """An answer as scorers take it; the entries of a list are joined by commas."""
    if isinstance(value, list):
        return ", ".join(map(answer_text, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def rejected(error: BadInput, tools: Sequence[Tool]) -> BadInput:
    """The error for a server that does not take a schema, with the tool that has it."""
    match = re.search(r"anyOf/(\d+)", str(error))
    index = int(match[1]) if match else len(tools)
    of = f"tool {tools[index].name!r}" if index < len(tools) else "reply"
    if not re.search(r"schema|grammar|response_format", str(error)):
        return error
    names = ", ".join(tool.name for tool in tools) or "none"
    return BadInput(
        f"the server cannot hold replies to the schema of the {of} (tools: {names}): {error}; "
        "change the schema, or set `protocol: native` in the suite"
    )


def _parsed(text: str) -> Any:
    try:
        value: Any = json.loads(text, strict=False)
        return without_surrogates(value)  # a grammar lets half a surrogate pair pass
    except (ValueError, RecursionError) as error:
        raise FormatError(f"Your reply is no JSON: {error}.") from error


def _object(properties: dict[str, Any]) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _format(name: str, schema: Schema) -> Schema:
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}


def _moved(schema: Any, pointer: str) -> Any:
    """A schema as a part of another one: its references lead to where it stands now."""
    if isinstance(schema, list):
        return [_moved(part, pointer) for part in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    fields = cast("dict[str, Any]", schema)
    return {
        key: pointer + value[1:]
        if key == "$ref" and isinstance(value, str) and value.startswith("#")
        else _moved(value, pointer)
        for key, value in fields.items()
    }
