"""Asking a judge: judged text within marks that it cannot write, and replies that are one object.

Answers under judgement are untrusted. Each text stands between tags that carry a key made from all
texts of the request; a key that one of them holds is replaced, so that none can end its tag, also
where its writer searched for the key. The reply must be one JSON
object and nothing else, and carry the same key: an object that the judged text shows to the model
is no verdict, also where the model copies it. Enumerated values are compared as a whole: no letter
is looked for in words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from harness.core import (
    BadInput,
    Refused,
    Unreachable,
    Usage,
    digest,
    listing,
    mapping,
    parse_json,
    render,
    without_surrogates,
)
from harness.models import Model, SampleLimitReached, Sampling

_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*)\n```\Z", re.DOTALL)
_KINDS: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,),
    "integer": (int,), "number": (int, float),
}  # fmt: skip
# Tokens of a reply; characters of a reason in it.
LONGEST_REPLY, LONGEST_REASON = 700, 240
# A reply that cannot be read is asked for once more, with another seed.
TRIES = 2


class Asked(NamedTuple):
    """Outcome of a request.

    Attributes:
        reply: the object, checked; None if there is none.
        fault: why not.
        usage: of all tries.
    """

    reply: dict[str, Any] | None
    fault: str
    usage: Usage


async def ask(
    model: Model,
    template: str,
    texts: Mapping[str, str],
    fields: Mapping[str, Any],
    *,
    sampling: Sampling | None = None,
    tries: int = TRIES,
    **variables: Any,
) -> Asked:
    """Ask for one JSON object.

    Args:
        model: the judge.
        template: name of a prompt; it has the variables `key` and `texts` (name -> marked text).
        texts: what is untrusted, by name.
        fields: JSON schemas of the object's members, in their order; all are required. They are
            checked by :func:`fits`, which reads what this wing's schemas use.
        sampling: default temperature 0.
        tries: requests at most, each with a seed of its own.
        variables: of the template: criteria and other texts that the judge is to follow.

    Raises:
        LimitReached: if the budget cannot hold a call.
    """
    texts = {name: without_surrogates(text) for name, text in texts.items()}
    variables = without_surrogates(variables)
    key = digest([template, texts])[:8]
    while any(key in text for text in texts.values()):  # eight digits can be searched for
        key = digest([key, texts])[:8]
    marked = {name: f"<{name}-{key}>\n{text}\n</{name}-{key}>" for name, text in texts.items()}
    prompt = render(template, key=key, texts=marked, **variables)
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"key": {"const": key}, **fields},
        "required": ["key", *fields],
        "additionalProperties": False,
    }
    response_format: dict[str, Any] = {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "schema": schema, "strict": True},
    }
    settings = sampling or Sampling(temperature=0.0)
    settings = settings.model_copy(update={"max_tokens": settings.max_tokens or LONGEST_REPLY})
    usage, fault = Usage(), ""
    for number in range(tries):
        update = {"seed": (settings.seed or 0) + number}
        try:
            reply = await model.complete(
                [{"role": "user", "content": prompt}],
                sampling=settings.model_copy(update=update),
                response_format=response_format,
            )
        except (Unreachable, BadInput, Refused, SampleLimitReached) as error:
            return Asked(None, f"{type(error).__name__}: {error}", usage)
        usage += reply.usage
        value, fault = read_object(reply.text, schema)
        if value is not None:
            return Asked(value, "", usage)
    return Asked(None, fault, usage)


def read_object(text: str, schema: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """The object that a whole reply is, and otherwise why it is none.

    A fence around all of it is left out.
    """
    reply = text.strip()
    fenced = _FENCE.match(reply)
    try:
        value: Any = parse_json(fenced[1] if fenced else reply)
    except (ValueError, RecursionError):
        return None, f"expected one JSON object as the reply, found {reply!r:.120}"
    fault = fits(value, schema, "reply")
    return (None, fault) if fault else (mapping(value), "")


def fits(value: Any, schema: Mapping[str, Any], path: str) -> str:
    """Explain why a value does not fit a schema of this wing; "" if it does.

    `const`, `enum`, `type`, `properties` (all of them required, no others), `items`, `minItems`,
    `maxItems`, `minimum` and `maximum` are looked at; the length of a text is left to the server.
    """
    if "const" in schema:
        return "" if value == schema["const"] else f"{path}: not the key of this request"
    if "enum" in schema:
        is_listed = isinstance(value, str) and value in schema["enum"]
        return "" if is_listed else f"{path}: expected one of {schema['enum']}, found {value!r:.80}"
    kind = schema["type"]
    if not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return f"{path}: expected {kind}, found {value!r:.80}"
    if kind == "object":
        parts, members = mapping(schema["properties"]), mapping(value)
        if odd := parts.keys() ^ members.keys():
            return f"{path}: expected {sorted(parts)}, and lacking or odd are {sorted(odd)}"
        return next(filter(None, (fits(members[n], part, n) for n, part in parts.items())), "")
    if kind == "array":
        members = listing(value)
        if not schema.get("minItems", 0) <= len(members) <= schema.get("maxItems", len(members)):
            return f"{path}: has {len(members)} members"
        return next(filter(None, (fits(row, schema["items"], path) for row in members)), "")
    low, high = schema.get("minimum", value), schema.get("maximum", value)
    return "" if low <= value <= high else f"{path}: {value!r} is out of range"


def text_field(limit: int = LONGEST_REASON) -> dict[str, Any]:
    """The schema of a text."""
    return {"type": "string", "maxLength": limit}


def object_of(**fields: Any) -> dict[str, Any]:
    """The schema of an object whose members are all required."""
    return {
        "type": "object", "properties": fields, "required": list(fields),
        "additionalProperties": False,
    }  # fmt: skip
