"""Endpoints that answer chat completions by rule: SIMULATED models of benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse


def chat_app(reply: Callable[[bytes], str], model: str) -> Starlette:
    """An app with `/v1/chat/completions`; `reply` makes the text from the body of a request."""
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def chat(request: Request) -> JSONResponse:
        return JSONResponse(completion(reply(await request.body()), model))

    return Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])


def completion(text: str, model: str) -> dict[str, Any]:
    """A chat completion with one message, counted as one token in and one out."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "s",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
