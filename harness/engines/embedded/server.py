"""The OpenAI-compatible face of the embedded engine: chat completions, models, health."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from harness.core import BadInput
from harness.engines import pull
from harness.engines.embedded.engine import Engine, EngineFault, Job, Progress
from harness.engines.embedded.native import Settings, Text
from harness.engines.embedded.request import ChatRequest, Rejected, parse

_engines: dict[Path, Engine] = {}
_engines_lock = threading.Lock()


def engine(name: str) -> Engine:
    """The one engine of this process for a model; every app of that model shares it.

    Raises:
        BadInput: if there is no such model, its weights were not pulled, or the engine's library
            is not installed.
    """
    if find_spec("openvino_genai") is None:
        raise BadInput("the embedded engine needs `pip install 'agent-skill-harness[local]'`")
    weights = pull.require(name)
    with _engines_lock:
        return _engines.setdefault(weights, Engine(weights))


def app(name: str) -> Starlette:
    """The app of an embedded model: in process through an ASGI transport, or on a port.

    Args:
        name: model name without `local/`, or a folder with a vision model in OpenVINO form. The
            weights load on the first request.

    Raises:
        BadInput: as :func:`engine`, or if the folder holds no such model.
    """
    if "/" in name:
        from harness.engines.embedded import seeing

        return seeing.app(Path(name).expanduser())
    service = _Service(name, engine(name))
    return Starlette(
        routes=[
            Route("/v1/chat/completions", service.chat, methods=["POST"]),
            Route("/v1/models", service.models),
            Route("/health", service.health),
        ]
    )


@dataclass(frozen=True)
class _Answer:
    """What was generated so far; `finish` is set on the last one."""

    tokens: list[int]
    finish: str | None


class _Service:
    def __init__(self, name: str, engine: Engine) -> None:
        self._name = name
        self._engine = engine
        self._weights = pull.find(name)

    async def health(self, request: Request) -> Response:
        """Alive; `loaded` says whether the weights are in memory."""
        return JSONResponse({"status": "ok", "loaded": self._engine.loaded})

    async def models(self, request: Request) -> Response:
        """The one model that this app serves."""
        entry = {"id": self._name, "object": "model", "created": 0, "owned_by": "embedded"}
        entry |= {"max_model_len": self._weights.context}
        return JSONResponse({"object": "list", "data": [entry]})

    async def chat(self, request: Request) -> Response:
        """`POST /v1/chat/completions`."""
        try:
            wanted = parse(await request.body())
            settings = self._settings(wanted)
            text = await asyncio.to_thread(self._engine.load)
            prompt = self._prompt(wanted, text)
            room = self._weights.context - len(prompt)
            settings = replace(settings, limit=min(settings.limit, room))
            updates = self._generate(prompt, settings)
            answer = await anext(updates)  # a refusal must be a 400, not a broken stream
            if wanted.stream:
                usage = wanted.stream_options is not None and wanted.stream_options.include_usage
                events = self._events(answer, updates, text, len(prompt), usage)
                return StreamingResponse(events, media_type="text/event-stream")
            async for update in updates:
                answer = update
        except Rejected as error:
            return failed(400, str(error), error.param)
        except EngineFault as error:
            return failed(500, str(error), None)
        return JSONResponse(self._completion(answer, text, len(prompt)))

    def _settings(self, wanted: ChatRequest) -> Settings:
        if wanted.model not in (self._name, f"local/{self._name}"):
            raise Rejected("model", f"model: expected {self._name!r}, found {wanted.model!r}")
        names = ("presence_penalty", "frequency_penalty", "repetition_penalty")
        if wanted.sampled:
            names += ("temperature", "top_p", "top_k")
        values = {name: getattr(wanted, name) for name in names}
        return Settings(
            limit=wanted.limit,
            sampled=wanted.sampled,
            options={name: value for name, value in values.items() if value is not None},
            stops=frozenset(wanted.stops),
            seed=wanted.seed,
            schema=wanted.schema_text(),
        )

    def _prompt(self, wanted: ChatRequest, text: Text) -> list[int]:
        tokens = text.encode_chat(wanted.conversation)
        context = self._weights.context
        if len(tokens) >= context:
            raise Rejected(
                "messages", f"messages: {context} tokens or more, the context holds {context}"
            )
        if len(tokens) + wanted.limit > context and (
            wanted.max_tokens or wanted.max_completion_tokens
        ):
            name = "max_completion_tokens" if wanted.max_completion_tokens else "max_tokens"
            raise Rejected(
                name,
                f"{name}: {wanted.limit} after a prompt of {len(tokens)} tokens exceeds the "
                f"context of {context} tokens",
            )
        return tokens

    async def _generate(self, prompt: list[int], settings: Settings) -> AsyncIterator[_Answer]:
        """Yield the growing answer."""
        loop = asyncio.get_running_loop()
        arrived: asyncio.Queue[Progress] = asyncio.Queue()

        def listen(progress: Progress) -> None:
            try:
                loop.call_soon_threadsafe(arrived.put_nowait, progress)
            except RuntimeError:  # the loop is closed: nobody waits for the rest
                job.cancel()

        job = Job(prompt, settings, listen)
        self._engine.submit(job)
        tokens: list[int] = []
        try:
            while True:
                progress = await arrived.get()
                if progress.error is not None:
                    raise _fault(progress)
                tokens += progress.tokens
                yield _Answer(tokens, progress.finish)
                if progress.last:
                    return
        finally:
            job.cancel()

    def _completion(self, answer: _Answer, text: Text, prompt_tokens: int) -> dict[str, Any]:
        message = {"role": "assistant", "content": text.decode(answer.tokens)}
        choice = {"index": 0, "message": message, "finish_reason": answer.finish, "logprobs": None}
        return self._head("chat.completion") | {
            "choices": [choice],
            "usage": _usage(prompt_tokens, len(answer.tokens)),
        }

    async def _events(
        self,
        answer: _Answer,
        rest: AsyncIterator[_Answer],
        text: Text,
        prompt_tokens: int,
        usage: bool,
    ) -> AsyncIterator[str]:
        """Server-sent events: role, text as it grows, finish reason, usage if asked for."""
        head = self._head("chat.completion.chunk")
        sent = text.decode(answer.tokens, whole=answer.finish is not None)
        yield _event(head, {"role": "assistant", "content": sent}, answer.finish)
        try:
            async for answer in rest:
                whole = text.decode(answer.tokens, whole=answer.finish is not None)
                new, sent = whole[len(sent) :], whole
                if new or answer.finish:
                    yield _event(head, {"content": new} if new else {}, answer.finish)
        except (Rejected, EngineFault) as error:
            yield f"data: {json.dumps({'error': {'message': str(error)}})}\n\n"
            return
        if usage:
            counted = _usage(prompt_tokens, len(answer.tokens))
            yield f"data: {json.dumps(head | {'choices': [], 'usage': counted})}\n\n"
        yield "data: [DONE]\n\n"

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "object": kind,
            "created": int(time.time()),
            "model": self._name,
            "system_fingerprint": f"gguf-{self._weights.sha256[:16]}",
        }


def _fault(progress: Progress) -> Exception:
    if progress.fault == "schema":
        where = "response_format.json_schema.schema"
        return Rejected(where, f"{where}: the engine cannot follow it: {progress.error}")
    return EngineFault(f"embedded engine: {progress.error}")


def _usage(prompt: int, completion: int) -> dict[str, int]:
    total = prompt + completion
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}


def _event(head: dict[str, Any], delta: dict[str, str], finish: str | None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps(head | {'choices': [choice]})}\n\n"


def failed(status: int, message: str, param: str | None) -> JSONResponse:
    """An error in the form of the OpenAI API."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    body = {"message": message, "type": kind, "param": param, "code": None}
    return JSONResponse({"error": body}, status_code=status)
