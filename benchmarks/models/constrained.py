"""Tool calls that can be read, with replies held to the tools' schemas and without.

    python -m benchmarks.models.constrained --model local/qwen2.5-coder-0.5b
    python -m benchmarks.models.constrained --model openai/x --base-url http://127.0.0.1:8080/v1 \\
        --arms json text native

Five tools whose schemas have nested objects, enumerations, arrays, bounded integers, optional
fields and strings with quotes, line ends and letters of other alphabets; 60 requests for each, with
all five tools on offer, temperature 0. The arms are protocols of `graph:react`: `json` (the server
holds replies to the schemas), `text` and `native` (nothing is held). A call is unreadable
if there is none, its arguments are no JSON, or they do not fit the tool's schema; a reply that was
cut at `--tokens` counts as unreadable, and is also counted on its own. `ended` are replies that say
in the form of their protocol that nothing is left to do; with `native`, which has no such form, a
reply without a call counts as unreadable. `right tool` is the share of readable calls of the tool
that the request is about.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path
from typing import Any, cast

import jsonschema

from benchmarks.reports import Options, add_run, benchmark, option, share_interval
from harness.agents import (
    STOP,
    Action,
    Final,
    FormatError,
    ReactContext,
    ToolProtocol,
    read_action,
    read_arguments,
    read_text_reply,
)
from harness.models import CallStore, ChatModel, Reply, Sampling, open_model
from harness.tools import Arguments, Bench, Tool

NAMES = ("Zoë O'Hara", 'Łukasz "Lu" Nowak', "李小龙", "Anaïs Dupré", "Ibn Sīnā", "Søren Ødegård")
CITIES = ("Łódź", "São Paulo", "東京", "Málaga", "Zürich", "Αθήνα")
GOODS = ("lamp", 'desk 24" wide', "rope\tgreen", "kettle", "loom", "crate")


def record(required: list[str], **properties: Any) -> dict[str, Any]:
    """The schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


TEXT: dict[str, Any] = {"type": "string", "maxLength": 60}
ADDRESS = record(["street", "city"], street=TEXT, city=TEXT, postcode=TEXT)
LINE = record(["name", "count"], name=TEXT, count={"type": "integer", "minimum": 1, "maximum": 999})
SCHEMAS: dict[str, tuple[str, dict[str, Any]]] = {
    "ship": (
        "Send a parcel.",
        record(
            ["to", "speed"],
            to=record(["name", "address"], name=TEXT, address=ADDRESS),
            speed={"enum": ["slow", "normal", "express"]},
            note=TEXT,
        ),
    ),
    "order": (
        "Order goods for the store.",
        record(
            ["lines", "currency"],
            lines={"type": "array", "items": LINE, "minItems": 1, "maxItems": 5},
            currency={"enum": ["EUR", "USD", "JPY"]},
        ),
    ),
    "schedule": (
        "Put a meeting into the calendar.",
        record(
            ["title", "weekday", "hour", "minutes"],
            title=TEXT,
            weekday={"enum": ["Mon", "Tue", "Wed", "Thu", "Fri"]},
            hour={"type": "integer", "minimum": 7, "maximum": 19},
            minutes={"type": "integer", "minimum": 15, "maximum": 240},
            guests={"type": "array", "items": TEXT, "maxItems": 4},
        ),
    ),
    "write_file": (
        "Write a text file, line by line as given.",
        record(
            ["path", "content"],
            path=TEXT,
            content={"type": "string", "maxLength": 200},
            append={"type": "boolean"},
        ),
    ),
    "query": (
        "Look rows up in a table.",
        record(
            ["table", "where"],
            table={"enum": ["people", "parcels", "orders"]},
            where={
                "type": "array",
                "minItems": 1,
                "maxItems": 3,
                "items": record(
                    ["column", "is", "value"],
                    column=TEXT,
                    **{"is": {"enum": ["equal", "less", "more"]}},
                    value={"anyOf": [{"type": "number"}, TEXT, {"type": "null"}]},
                ),
            },
            limit={"type": "integer", "minimum": 1, "maximum": 100},
        ),
    ),
}


def request(tool: str, number: int) -> str:
    """Write a user's request; the tool is never named."""
    name, city, goods = (words[number % 6] for words in (NAMES, CITIES, GOODS))
    count, hour = 1 + number * 17 % 999, 7 + number % 13
    match tool:
        case "ship":
            text = f"Send a parcel to {name}, {count} Mill Lane, {city}, as fast as you can."
            return f'{text} Put the note "For {name}:\nhandle with care" on it.'
        case "order":
            return f"We need {count} of {goods!r} and {hour} of 'Ærø cloth' for the store, in yen."
        case "schedule":
            return f'Tuesday at {hour}: "Budget, part {number}" with {name}, an hour and a half.'
        case "write_file":
            lines = f'say "{name}"\nprint("{goods}")\n# {city}'
            return f"Put these three lines into notes/{number}.txt:\n{lines}"
        case _:
            return f"Which people from {city} are older than {hour + 20}? At most {1 + number}."


async def _unused(arguments: Arguments, bench: Bench) -> str:
    raise AssertionError("no tool is run")


ENDED = "ended"
TOOLS = tuple(Tool(name, text, form, _unused) for name, (text, form) in SCHEMAS.items())


def fault(action: Action | Final | None, tool: str) -> str:
    """Explain why a reply is no readable call; "" if it is, right or wrong."""
    if isinstance(action, Final):
        return ENDED
    if action is None:
        return "no call"
    if action.name not in SCHEMAS:
        return "no such tool"
    try:
        jsonschema.validate(action.arguments, SCHEMAS[action.name][1])
    except jsonschema.ValidationError:
        return "does not fit the schema"
    return "" if action.name == tool else "wrong tool"


def action_in(reply: Reply, protocol: ToolProtocol) -> Action | Final | None:
    """Read the action in a reply.

    Raises:
        FormatError: if that cannot be read.
    """
    if protocol != "native":
        return read_action(reply.text) if protocol == "json" else read_text_reply(reply.text)
    calls = reply.tool_calls[:1]
    return next((Action(c.id, c.name, read_arguments(c.name, c.arguments)) for c in calls), None)


async def arm(model: ChatModel, protocol: ToolProtocol, calls: int, tokens: int) -> dict[str, Any]:
    """The figures of one protocol."""
    stop = (STOP,) if protocol == "text" else None
    context = ReactContext(
        model=model,
        sampling=Sampling(temperature=0.0, max_tokens=tokens, seed=41, stop=stop, timeout_s=1800),
        bench=Bench(Path()),
        tools=TOOLS,
        protocol=protocol,
    )
    native: Any = [tool.schema() for tool in TOOLS] if protocol == "native" else None

    async def outcome(number: int) -> tuple[str, bool, int]:
        tool = list(SCHEMAS)[number % len(SCHEMAS)]
        system = {"role": "system", "content": context.system_prompt()}
        user = {"role": "user", "content": request(tool, number // len(SCHEMAS))}
        reply = await context.ask([system, user], native, form=context.reply_format)
        try:
            reason = fault(action_in(reply, protocol), tool)
        except FormatError as error:
            reason = "cut" if reply.finish_reason == "length" else f"{error}"[:60]
        return reason, reply.finish_reason == "length", reply.usage.completion_tokens

    began = time.monotonic()
    outcomes = await asyncio.gather(*map(outcome, range(calls)))
    faults = Counter(reason for reason, _, _ in outcomes)
    wrong = faults.pop("wrong tool", 0)
    right, ended = faults.pop("", 0), faults.pop(ENDED, 0)
    unreadable = calls - right - wrong - ended
    return {
        "calls": calls,
        "unreadable": unreadable,
        "ci95": share_interval(unreadable, calls),
        "ended": ended,
        "cut": sum(cut for _, cut, _ in outcomes),
        "right tool": round(right / max(right + wrong, 1), 3),
        "faults": dict(faults.most_common(6)),
        "tokens a call": round(sum(tokens for _, _, tokens in outcomes) / calls),
        "seconds": round(time.monotonic() - began),
    }


async def measured(options: Any) -> dict[str, Any]:
    """All arms of one model."""
    arms = cast("list[ToolProtocol]", options.arms)
    with CallStore(options.store) as calls:
        model = open_model(
            options.model, base_url=options.base_url, calls=calls, concurrency=options.concurrency
        )
        try:
            return {name: await arm(model, name, options.calls, options.tokens) for name in arms}
        finally:
            await model.aclose()


@benchmark(
    model=option(required=True, help="model spec"),
    base_url=option(help="of its server"),
    name=option(help="of the model in the report, where the spec does not tell"),
    arms=["json", "text", "native"],
    calls=300,
    tokens=option(type=int, default=512, help="of a reply at most"),
    concurrency=4,
    store=option(type=Path, help="calls.sqlite: a run that was stopped resumes"),
    out=Path("evals/results/constrained.json"),
)
def main(options: Options) -> None:
    """Measure, print and add to the report."""
    arms = asyncio.run(measured(options))
    run = {"model": options.name or options.model, "tokens": options.tokens, "arms": arms}
    add_run(run, options.out, "model")
