"""A LangGraph graph of a user as an agent: the state that it is given, and the answer it leaves."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_type_hints
from urllib.parse import parse_qsl

from harness.core import BadInput

GRAPH_OPTIONS = ("input_key", "skill_key", "output_key", "answer_interrupts")
"""Settings of a graph in its spec: `graph:FILE.py:NAME?input_key=KEY&output_key=KEY`."""
MESSAGES = "messages"


def split_reference(reference: str) -> tuple[str, dict[str, str]]:
    """Return a reference without its settings, and these.

    Raises:
        BadInput: if there is no such setting.
    """
    name, _, query = reference.partition("?")
    options = dict(parse_qsl(query))
    if unknown := options.keys() - set(GRAPH_OPTIONS):
        raise BadInput(
            f"{name!r}: no setting {min(unknown)!r}: expected {', '.join(GRAPH_OPTIONS)}"
        )
    return name, options


def input_key(reference: str, graph: Any, options: Mapping[str, str]) -> str:
    """Return the key of the state that takes the prompt: the named one, `messages`, or the only
    one that a graph requires besides that of the skill.

    Raises:
        BadInput: if the state has no such key, or several that could be meant.
    """
    schema = getattr(getattr(graph, "builder", None), "input_schema", dict)
    keys = list(get_type_hints(schema))
    requested, skill_key = options.get("input_key", ""), options.get("skill_key", "")
    if keys and skill_key and skill_key not in keys:
        raise BadInput(
            f"the state of {reference!r} has no key {skill_key!r} for the skill, only "
            f"{', '.join(keys)}"
        )
    keys = [key for key in keys if key != skill_key]
    required = [key for key in keys if key in getattr(schema, "__required_keys__", ())]
    if requested in keys or (requested and not keys):
        return requested
    if requested or not (MESSAGES in keys or len(required) == 1 or not keys):
        raise BadInput(
            f"the state of {reference!r} has the keys {', '.join(keys)}: name the one that takes "
            f"the prompt, --agent 'graph:{reference}?input_key={(required or keys)[0]}'"
        )
    return MESSAGES if MESSAGES in keys or not keys else required[0]


def state_of(
    messages: Sequence[Mapping[str, str]], key: str, skill_key: str = ""
) -> dict[str, Any]:
    """Return the state that a graph is given: messages, or their text under another key.

    All but the last message, the prompt, are the skill's, which may have a key of its own.
    """
    if skill_key:
        skill = "\n\n".join(message["content"] for message in messages[:-1])
        return {**state_of(messages[-1:], key), skill_key: skill}
    if key == MESSAGES:
        return {MESSAGES: messages}
    return {key: "\n\n".join(message["content"] for message in messages)}


def graph_config(workdir: Path) -> dict[str, Any]:
    """Return the config of a graph that is run in a work folder."""
    configurable = {"workdir": str(workdir), "thread_id": "attempt"}
    return {"configurable": configurable, "recursion_limit": 200}


async def answer_of(
    graph: Any, state: dict[str, Any], config: Any, options: Mapping[str, str]
) -> str | None:
    """Run a graph to its end and return its answer.

    That is the last message, or the value at `output_key`, or else the only key that it set; of
    several, all of them as JSON.

    Raises:
        BadInput: if it stops at an interrupt and `answer_interrupts` is not among the options, or
            its last state has no `output_key`.
    """
    answer: Any = options.get("answer_interrupts")
    with contextlib.suppress(TypeError, ValueError):  # None, and a text that is no JSON
        answer = json.loads(answer)
    stops = [*graph.interrupt_before_nodes, *graph.interrupt_after_nodes]
    if graph.checkpointer is None and (answer is not None or stops):
        from langgraph.checkpoint.memory import InMemorySaver

        graph.checkpointer = InMemorySaver()
    result: Any = await graph.ainvoke(state, config)
    while waiting := await _interrupts(graph, result, config):
        if answer is None:
            raise BadInput(
                f"the graph stopped at an interrupt ({waiting[0]}): `?answer_interrupts=TEXT` "
                "behind the agent's name answers each"
            )
        from langgraph.types import Command

        result = await graph.ainvoke(Command(resume=answer), config)
    if not isinstance(result, dict):
        return _text(result)
    values = cast("dict[str, Any]", result)
    output = options.get("output_key") or (MESSAGES if MESSAGES in values else "")
    changed = {
        name: value for name, value in values.items() if name not in state and value is not None
    }
    if output and output not in values:
        raise BadInput(f"the graph's last state has no {output!r}, only {', '.join(values)}")
    if output or len(changed) == 1:
        return _text(values[output] if output else next(iter(changed.values())))
    return _text(changed or None)


def _text(value: Any) -> str | None:
    """Return the text of a value of a state, or of the last one of its messages; None of None."""
    last: Any = value
    if isinstance(value, list) and value:
        last = cast("list[Any]", value)[-1]
    content: Any = getattr(
        last, "content", cast("Any", value)
    )  # of LangChain, or a plain dictionary
    if isinstance(last, dict) and "content" in last:
        content = cast("dict[str, Any]", last)["content"]
    plain = content is None or isinstance(content, str)
    return content if plain else json.dumps(content, ensure_ascii=False, default=str)


async def _interrupts(graph: Any, result: Any, config: Any) -> list[str]:
    """Return what a graph waits for: values of interrupts, else the nodes it stopped before."""
    if isinstance(result, dict) and (raised := cast("Any", result).get("__interrupt__")):
        return [str(interrupt.value) for interrupt in raised]
    if graph.checkpointer is None:
        return []
    return [f"before {node!r}" for node in (await graph.aget_state(config)).next]
