"""Between the gateway's chat completions and llama.cpp's.

llama.cpp passes over parameters that it does not know and has sampling defaults of its own; here
each parameter is honoured or refused by name, and what is absent means what it means to OpenAI's
clients. Answers are put together from a stream.
"""

from __future__ import annotations

import json
import uuid
from itertools import product
from typing import TYPE_CHECKING, Any, cast

from harness.models import Body, Refused

if TYPE_CHECKING:
    import httpx

DEFAULT_MAX_TOKENS = 1024
"""Where a request sets none: a small model that loops must not fill its whole context."""
HONOURED = frozenset(
    {"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "response_format",
     "grammar", "temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty",
     "repetition_penalty", "logit_bias", "logprobs", "top_logprobs", "max_tokens",
     "max_completion_tokens", "stop", "seed", "stream", "stream_options", "n",
     "chat_template_kwargs", "lora"}
)  # fmt: skip
BOOKKEEPING = frozenset(
    {"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"}
)
"""How a provider accounts for a request and serves it; the answer does not depend on it."""
RANGES = {
    "temperature": (0, 2), "top_p": (0, 1), "min_p": (0, 1), "presence_penalty": (-2, 2),
    "frequency_penalty": (-2, 2), "repetition_penalty": (0, 10), "top_k": (0, 1 << 20),
    "seed": (0, (1 << 32) - 2), "max_tokens": (1, 1 << 20), "max_completion_tokens": (1, 1 << 20),
    "n": (1, 1),
}  # fmt: skip
"""What a number may be; llama.cpp takes any."""
OPEN = {"temperature": 0, "top_p": 1, "top_k": 0, "min_p": 0}
"""Nothing is cut off where the request does not ask for it; greedy without a temperature."""


def llama_request(body: Body, name: str) -> Body:
    """A chat request as llama.cpp reads it.

    Args:
        body: the request.
        name: of the model, without `local/`.

    Raises:
        Refused: with the parameter that cannot be honoured.
    """
    if body.get("model") not in (name, f"local/{name}"):
        raise _rejected("model", f"expected {name!r}", body.get("model"))
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        raise _rejected("messages", "expected a list of messages", body.get("messages"))
    values = {
        param: value
        for param, value in body.items()
        if value is not None and param not in BOOKKEEPING
    }
    for param, value in values.items():
        if param not in HONOURED:
            raise Refused(400, f"{param}: the embedded engine has no such parameter", param)
        if param in RANGES:
            low, high = RANGES[param]
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not low <= value <= high:
                raise _rejected(param, f"expected a number from {low} to {high}", value)
    tools: Any = values.get("tools", [])
    if not isinstance(tools, list) or not all(
        isinstance(tool, dict) and cast("dict[str, Any]", tool).get("function", {}).get("name")
        for tool in cast("list[Any]", tools)
    ):
        raise _rejected("tools", "expected a list of functions with names", tools)
    stop: Any = values.get("stop", [])
    if stop == "" or not isinstance(stop, str | list) or (isinstance(stop, list) and "" in stop):
        raise _rejected("stop", "expected stop strings that are not empty", stop)
    form: Any = values.get("response_format")
    kinds = ("text", "json_object", "json_schema")
    if form is not None and getattr(form, "get", dict[str, Any]().get)("type") not in kinds:
        raise _rejected("response_format", f"expected a type, one of {', '.join(kinds)}", form)
    values["max_tokens"] = (
        values.pop("max_completion_tokens", None) or values.get("max_tokens") or DEFAULT_MAX_TOKENS
    )
    if "repetition_penalty" in values:
        values["repeat_penalty"] = values.pop("repetition_penalty")
    return OPEN | values


def required_functions(request: Body) -> list[dict[str, Any]]:
    """The functions of which one must be called; none where the model may also speak."""
    choice: Any = request.get("tool_choice")
    functions = [tool["function"] for tool in request.get("tools", ())]
    if isinstance(choice, dict):
        name: Any = cast("dict[str, Any]", choice).get("function", {}).get("name")
        functions = [function for function in functions if function["name"] == name]
        if not functions:
            raise _rejected("tool_choice", "expected the name of a tool", name)
    return functions if choice == "required" or isinstance(choice, dict) else []


def held_to_calls(request: Body, functions: list[dict[str, Any]]) -> Body:
    """A request whose reply is one call: llama.cpp lets a model speak before a required one."""
    from harness.agents import call_schemas

    schema = {"anyOf": call_schemas(functions, "#/anyOf")}
    form = {"type": "json_schema", "json_schema": {"name": "call", "schema": schema}}
    return request | {"tool_choice": "none", "response_format": form}


def as_call(completion: Body) -> Body:
    """A completion whose text is a call, with the call in its place; as it is if it was cut."""
    [choice] = completion["choices"]
    if choice["finish_reason"] == "stop":
        call = json.loads(choice["message"]["content"], strict=False)
        held = _call(call["name"], call["arguments"])
        choice |= {
            "message": {"role": "assistant", "content": None, "tool_calls": [held]},
            "finish_reason": "tool_calls",
        }
    return completion


class WrittenCalls:
    """Makes calls of the text of a streamed answer that consists of calls of offered tools.

    A text that begins like such a call is held back until it turns out to be none, or ends.
    Which of the two depends on the whole text only, not on where its chunks are divided.

    Args:
        request: as llama.cpp is given it; where it offers no tools, wants no call, or holds the
            text to a form of its own, nothing is changed.
    """

    def __init__(self, request: Body) -> None:
        form: Any = request.get("response_format") or {}
        held = form.get("type", "text") != "text" or request.get("grammar")
        free = not held and request.get("tool_choice", "auto") == "auto"
        tools: Any = request.get("tools", ()) if free else ()
        self._names = {tool["function"]["name"] for tool in tools}
        self._most = 1 if request.get("parallel_tool_calls") is False else None
        self._text = ""
        self._held: list[Body] = []
        self._openings: list[str] = []  # how calls begin, without white space
        if self._names:
            from harness.agents import CLOSERS

            names = [json.dumps(name, ensure_ascii=False) for name in self._names]
            fields = [*(f'"name":{name}' for name in names), '"arguments":{']
            openings = map("".join, product(("", *CLOSERS), ("{", "[{"), fields))
            self._openings = ["".join(opening.split()) for opening in openings]

    def feed(self, chunk: Body) -> list[Body]:
        """Take a chunk; return what is now known to belong to the answer."""
        if not self._openings or not chunk.get("choices"):
            return [chunk]
        [choice] = chunk["choices"]
        delta, finish = choice["delta"], choice["finish_reason"]
        text = delta.get("content") or ""
        self._text += text
        if delta.get("tool_calls") or not self._may_be_calls():
            self._openings = []
            return [*self.rest(), chunk]
        if finish:
            return self._ended(chunk, finish)
        if text:
            self._held.append(chunk)
        return [] if text else [chunk]

    def rest(self) -> list[Body]:
        """Return what was held back, where nothing follows."""
        held, self._held = self._held, []
        return held

    def _may_be_calls(self) -> bool:
        """Return True if the text so far begins as calls do; white space does not count."""
        text = "".join(self._text.split())
        return any(
            opening.startswith(text) or text.startswith(opening) for opening in self._openings
        )

    def _ended(self, chunk: Body, finish: str) -> list[Body]:
        from harness.agents import written_calls

        calls = written_calls(self._text, self._names) if finish == "stop" else ()
        held = self.rest()
        if not calls:
            return [*held, chunk]
        parts = [
            {"index": number, **_call(call.name, call.arguments)}
            for number, call in enumerate(calls[: self._most])
        ]
        [choice] = chunk["choices"]
        called = choice | {"delta": {"tool_calls": parts}, "finish_reason": None}
        ending = choice | {"delta": {}, "finish_reason": "tool_calls"}
        return [chunk | {"choices": [called]}, chunk | {"choices": [ending]}]


def _call(name: str, arguments: Any) -> Body:
    """A call as an assistant's message has it."""
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"id": f"call_{uuid.uuid4().hex[:12]}", "type": "function", "function": function}


def _rejected(param: str, expected: str, value: Any) -> Refused:
    return Refused(400, f"{param}: {expected}, found {value!r:.80}", param)


FAULTS = {
    "parse tools": "tools",
    "schema": "response_format",
    "grammar": "response_format",
    "context size": "messages",
    "image input": "messages",
}
"""What llama.cpp says of a request that it cannot answer, some of it with a status of 500."""


def refusal(response: httpx.Response) -> Refused:
    """Return the engine's reason for a refusal."""
    try:
        message = str(response.json()["error"]["message"])
    except (ValueError, LookupError, TypeError):
        message = response.text[:300]
    for words, param in FAULTS.items():
        if words in message.lower():
            return Refused(400, f"{param}: {message}", param)
    return Refused(response.status_code, f"embedded engine: {message}")
