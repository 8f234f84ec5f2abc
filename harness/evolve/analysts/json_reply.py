"""Asking a model for one JSON object, with room to repair it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import ValidationError

from harness.core import BadInput, Usage, first_fault
from harness.evolve.repair import parse_object
from harness.models import Message, Model

ValueT = TypeVar("ValueT")
REPAIRS = 2


async def ask_json(
    model: Model, prompt: str, read: Callable[[dict[str, Any]], ValueT]
) -> tuple[ValueT | None, str, Usage]:
    """(what `read` made of the reply, "", usage), or (None, why not, usage).

    A reply that is no JSON object, or that `read` refuses with a ValueError, goes back to the
    model with the complaint, at most twice. A rejected request is a failure of this one reply.

    Raises:
        Unreachable: if the endpoint does not answer.
        LimitReached: if the budget cannot hold the call.
    """
    messages: list[Message] = [{"role": "user", "content": prompt}]
    usage = Usage()
    reason = ""
    for _ in range(1 + REPAIRS):
        try:
            reply = await model.complete(messages)
        except BadInput as error:
            return None, f"the endpoint rejected the request: {error}", usage
        usage += reply.usage
        try:
            if not reply.text.strip():
                raise ValueError(f"empty reply (finish reason {reply.finish_reason!r})")
            return read(parse_object(reply.text)[0]), "", usage
        except ValidationError as error:
            reason = first_fault(error)
        except ValueError as error:
            reason = str(error)
        complaint = f"That could not be used: {reason}. Reply with the corrected JSON object only."
        messages = [
            messages[0],
            {"role": "assistant", "content": reply.text[-4000:] or "(empty)"},
            {"role": "user", "content": complaint},
        ]
    return None, f"unusable after {REPAIRS} repairs: {reason}", usage
