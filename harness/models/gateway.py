"""A model of ours as an endpoint on loopback, for agents that are programs of their own.

Every attempt gets a key of its own, so that its calls, tokens and money are known although the
agent imports nothing of ours. Cache and budget of the run apply.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.core import HarnessError, LimitReached, Unreachable, Usage
from harness.models.limits import SampleLimitReached
from harness.models.loopback import serving
from harness.models.types import Model, Reply, Sampling

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_SAMPLING = (
    "temperature",
    "top_p",
    "max_tokens",
    "presence_penalty",
    "frequency_penalty",
    "seed",
)


@dataclass
class Account:
    """What one attempt has asked for.

    Attributes:
        usage: sum over its calls.
        calls: call ids, in order.
        limit: the budget error that a call met, if one did.
        ended: the limit of the attempt that a call met, if one did.
        model: answers.
        context: in which the attempt runs: those who watch see its calls within it.
    """

    model: Model
    context: Context
    usage: Usage = field(default_factory=Usage)
    calls: list[str] = field(default_factory=list[str])
    limit: LimitReached | None = None
    ended: SampleLimitReached | None = None


class Gateway:
    """The endpoint of one run. Made by :func:`open_gateway`."""

    def __init__(self, model: Model, seed: int | None) -> None:
        self._model = model
        self._seed = seed
        self._accounts: dict[str, Account] = {}
        self.url = ""

    def open_account(self, model: Model | None = None) -> tuple[str, dict[str, str]]:
        """A new key, and the variables that tell an agent where to ask and with what key.

        Args:
            model: answers in place of the run's.
        """
        key = secrets.token_urlsafe(24)
        self._accounts[key] = Account(model or self._model, copy_context())
        name = self._model.spec.partition("/")[2]
        variables = {
            "OPENAI_BASE_URL": self.url,
            "OPENAI_API_BASE": self.url,
            "OPENAI_API_KEY": key,
            "OPENAI_MODEL": name,
        }
        return key, variables

    def close_account(self, key: str) -> Account:
        """What the attempt used; its key is no longer taken."""
        return self._accounts.pop(key)

    async def chat(self, request: Request) -> Response:
        """`POST /v1/chat/completions`."""
        from starlette.responses import JSONResponse

        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        account = self._accounts.get(key)
        if account is None:
            return _error(401, "unknown key: use OPENAI_API_KEY as the harness set it")
        try:
            body = await request.json()
            if body.get("stream"):
                return _error(400, "this endpoint does not stream: send stream=false")
            answer = self._answer(account.model, body)
            # A copy: calls that overlap would leave each other's variables in a shared one.
            reply = await asyncio.create_task(answer, context=account.context.copy())
        except LimitReached as error:
            account.limit = error
            return _error(429, str(error))
        except SampleLimitReached as error:
            account.ended = error
            return _error(429, str(error))
        except Unreachable as error:
            return _error(502, str(error))
        except (HarnessError, ValueError, KeyError, AttributeError) as error:
            return _error(400, f"{type(error).__name__}: {error}")
        account.usage += reply.usage
        account.calls.append(reply.call_id)
        return JSONResponse(_completion(reply))

    async def _answer(self, model: Model, body: dict[str, Any]) -> Reply:
        values = {name: body[name] for name in _SAMPLING if body.get(name) is not None}
        values.setdefault("max_tokens", body.get("max_completion_tokens"))
        values.setdefault("seed", self._seed)
        stop = body.get("stop")
        sampling = Sampling(**values, stop=(stop,) if isinstance(stop, str) else stop)
        return await model.complete(
            body["messages"],
            tools=body.get("tools"),
            sampling=sampling,
            response_format=body.get("response_format"),
        )


@contextlib.asynccontextmanager
async def open_gateway(model: Model, seed: int | None = None) -> AsyncGenerator[Gateway]:
    """Serve `model` on a free port of 127.0.0.1 until the block ends.

    Raises:
        BadInput: if no port can be had.
    """
    from starlette.applications import Starlette
    from starlette.routing import Route

    gateway = Gateway(model, seed)
    routes = [Route("/v1/chat/completions", gateway.chat, methods=["POST"])]
    async with serving(Starlette(routes=routes)) as origin:
        gateway.url = f"{origin}/v1"
        yield gateway


def _completion(reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in reply.tool_calls
        ]
    usage = reply.usage
    return {
        "id": reply.call_id,
        "object": "chat.completion",
        "created": 0,
        "model": reply.model,
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.tokens,
        },
    }


def _error(status: int, message: str) -> Response:
    from starlette.responses import JSONResponse

    return JSONResponse({"error": {"message": message}}, status_code=status)
