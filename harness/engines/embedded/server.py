"""The embedded engine as a back end: a chat request in, a completion or its chunks out."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core import BadInput
from harness.engines import weights
from harness.engines.embedded.engine import Engine, EngineFault, Job, Progress
from harness.engines.embedded.native import Settings, Text
from harness.engines.embedded.request import ChatRequest, Rejected, parse
from harness.models import Backend, Body, Endpoint, ModelSpec, Refused, base_urls, served

if TYPE_CHECKING:
    from starlette.applications import Starlette

_engines: dict[Path, Engine] = {}
_engines_lock = threading.Lock()


def endpoint(spec: ModelSpec, base_url: str | None) -> Endpoint:
    """The endpoint of `local/<name>`: a server of it at `base_url`, else the engine in here.

    Raises:
        BadInput: if the model is unknown, or its weights were not pulled.
    """
    if base_url:
        return Endpoint("local", spec.name, base_urls(base_url))
    return Endpoint("local", spec.name, backend=backend(spec.name))


def shared_engine(name: str) -> Engine:
    """The one engine of this process for a model; every app of that model shares it.

    Raises:
        BadInput: if there is no such model, its weights were not pulled, or the engine's library
            is not installed.
    """
    if find_spec("openvino_genai") is None:
        raise BadInput("the embedded engine needs `pip install 'agent-skill-harness[local]'`")
    path = weights.require(name)
    with _engines_lock:
        return _engines.setdefault(path, Engine(path))


def backend(name: str) -> Backend:
    """The back end of an embedded model.

    Args:
        name: model name without `local/`, or a folder with a vision model in OpenVINO form. The
            weights load on the first request.

    Raises:
        BadInput: as :func:`shared_engine`, or if the folder holds no such model.
    """
    if "/" in name:
        from harness.engines.embedded import vision

        return vision.backend(Path(name).expanduser())
    return _Service(name, shared_engine(name)).answer


def app(name: str) -> Starlette:
    """The application that serves an embedded model on a port; see :func:`backend`."""
    if "/" in name:
        return served(backend(name), Path(name).expanduser().name, owned_by="local")
    answers, engine = backend(name), shared_engine(name)
    context = weights.find(name).context
    facts = {"owned_by": "embedded", "max_model_len": context}
    return served(answers, name, lambda: engine.loaded, **facts)


@dataclass(frozen=True)
class _Answer:
    """What was generated so far; `finish` is set on the last one."""

    tokens: list[int]
    finish: str | None


class _Service:
    def __init__(self, name: str, engine: Engine) -> None:
        self._name = name
        self._engine = engine
        self._weights = weights.find(name)

    async def answer(self, body: Body) -> Body | AsyncIterator[Body]:
        """The completion of a chat request, or its chunks.

        Raises:
            Refused: for a request that cannot be honoured, or if the engine fails.
        """
        chat = parse(body, ChatRequest)
        settings = self._settings(chat)
        try:
            text = await asyncio.to_thread(self._engine.load)
        except EngineFault as error:
            raise Refused(500, str(error)) from error
        prompt = self._prompt(chat, text)
        room = self._weights.context - len(prompt)
        settings = replace(settings, limit=min(settings.limit, room))
        updates = self._generate(prompt, settings)
        answer = await anext(updates)  # a refusal must be a 400, not a broken stream
        if chat.stream:
            usage = chat.stream_options is not None and chat.stream_options.include_usage
            return self._chunks(answer, updates, text, len(prompt), usage)
        async for update in updates:
            answer = update
        message = {"role": "assistant", "content": text.decode(answer.tokens)}
        choice = {"index": 0, "message": message, "finish_reason": answer.finish, "logprobs": None}
        usage = token_usage(len(prompt), len(answer.tokens))
        return self._head("chat.completion") | {"choices": [choice], "usage": usage}

    def _settings(self, chat: ChatRequest) -> Settings:
        if chat.model not in (self._name, f"local/{self._name}"):
            raise Rejected("model", f"model: expected {self._name!r}, found {chat.model!r}")
        sampled = bool(chat.temperature)
        names = ("presence_penalty", "frequency_penalty", "repetition_penalty")
        if sampled:
            names += ("temperature", "top_p", "top_k")
        values = {name: getattr(chat, name) for name in names}
        return Settings(
            limit=chat.limit,
            sampled=sampled,
            options={name: value for name, value in values.items() if value is not None},
            stops=frozenset([chat.stop] if isinstance(chat.stop, str) else chat.stop or ()),
            seed=chat.seed,
            schema=chat.schema_text(),
        )

    def _prompt(self, chat: ChatRequest, text: Text) -> list[int]:
        tokens = text.encode_chat(chat.conversation)
        context = self._weights.context
        if len(tokens) >= context:
            raise Rejected(
                "messages", f"messages: {context} tokens or more, the context holds {context}"
            )
        if len(tokens) + chat.limit > context and (chat.max_tokens or chat.max_completion_tokens):
            name = "max_completion_tokens" if chat.max_completion_tokens else "max_tokens"
            raise Rejected(
                name,
                f"{name}: {chat.limit} after a prompt of {len(tokens)} tokens exceeds the "
                f"context of {context} tokens",
            )
        return tokens

    async def _generate(self, prompt: list[int], settings: Settings) -> AsyncGenerator[_Answer]:
        """Yield the growing answer."""
        loop = asyncio.get_running_loop()
        arrived: asyncio.Queue[Progress] = asyncio.Queue()

        def listen(progress: Progress) -> None:
            try:
                loop.call_soon_threadsafe(arrived.put_nowait, progress)
            except RuntimeError:  # the loop is closed: nobody waits for the answer
                job.cancel()

        job = Job(prompt, settings, listen)
        self._engine.submit(job)
        answer = _Answer([], None)
        try:
            while answer.finish is None:
                progress = await arrived.get()
                if progress.error is not None and progress.fault == "schema":
                    param = "response_format.json_schema.schema"
                    message = f"{param}: the engine cannot follow it: {progress.error}"
                    raise Rejected(param, message)
                if progress.error is not None:
                    raise Refused(500, f"embedded engine: {progress.error}")
                answer = _Answer([*answer.tokens, *progress.tokens], progress.finish)
                yield answer
        finally:
            job.cancel()

    async def _chunks(
        self,
        answer: _Answer,
        updates: AsyncGenerator[_Answer],
        text: Text,
        prompt_tokens: int,
        usage: bool,
    ) -> AsyncGenerator[Body]:
        """Chunks: role, text as it grows, finish reason, usage if asked for."""
        head = self._head("chat.completion.chunk")

        def chunk(delta: dict[str, str]) -> Body:
            choice = {"index": 0, "delta": delta, "finish_reason": answer.finish}
            return head | {"choices": [choice]}

        async with aclosing(updates):
            sent = text.decode(answer.tokens, complete=answer.finish is not None)
            yield chunk({"role": "assistant", "content": sent})
            async for answer in updates:
                decoded = text.decode(answer.tokens, complete=answer.finish is not None)
                new, sent = decoded[len(sent) :], decoded
                if new or answer.finish:
                    yield chunk({"content": new} if new else {})
        if usage:
            yield head | {"choices": [], "usage": token_usage(prompt_tokens, len(answer.tokens))}

    def _head(self, kind: str) -> dict[str, Any]:
        fingerprint = f"gguf-{self._weights.sha256[:16]}"
        return reply_head(kind, self._name) | {"system_fingerprint": fingerprint}


def reply_head(kind: str, model: str) -> dict[str, Any]:
    """The fields that every reply of the OpenAI API begins with."""
    name = f"chatcmpl-{uuid.uuid4().hex}"
    return {"id": name, "object": kind, "created": int(time.time()), "model": model}


def token_usage(prompt: int, completion: int) -> dict[str, int]:
    """Counted tokens in the form of the OpenAI API."""
    total = prompt + completion
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
