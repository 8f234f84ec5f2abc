"""A model of this machine, served or talked to: `harness models serve` and `chat`."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from harness.core import BadInput
from harness.models import HOST, Refused, bind

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from harness.models import Backend, Layer


def served_app(spec: str) -> Starlette:
    """The app behind a model spec that this machine can serve.

    Raises:
        BadInput: if the spec is not `local/<name>`, or its weights were not pulled.
    """
    from harness.engines.embedded import app

    return app(_name(spec))


def _name(spec: str) -> str:
    kind, _, name = spec.partition("/")
    if kind != "local" or not name:
        raise BadInput(
            f"expected a model that runs here, such as 'local/smollm2-135m', found {spec!r}; "
            "serve other models with their own server and reach them as openai/ or vllm/"
        )
    return name


def serve(
    spec: str,
    port: int,
    ready: Callable[[str], None],
    around: Callable[[Backend], Starlette] | None = None,
    layer: Layer | None = None,
) -> None:
    """Serve a model until SIGINT or SIGTERM.

    Args:
        spec: `local/<name>`.
        port: TCP port on 127.0.0.1; 0 takes a free one.
        ready: called once with the base URL, when the weights are loaded and requests are taken.
        around: the application in front of the model, in place of its own.
        layer: stands between the two, such as a guard.

    Raises:
        KeyboardInterrupt: when SIGINT has ended it.
        BadInput: if the model or the port cannot be used.
    """
    import uvicorn

    from harness.engines.embedded import LocalModel, app, backend, is_folder

    name = _name(spec)
    application = app(name, layer) if around is None else around(backend(name, layer))
    with bind(port) as listener:
        if not is_folder(name):
            LocalModel(name).engine.start()
        config = uvicorn.Config(application, log_level="warning", lifespan="off")
        server = uvicorn.Server(config)
        started = server.startup

        async def startup(sockets: list[socket.socket] | None = None) -> None:
            await started(sockets)
            ready(f"http://{HOST}:{listener.getsockname()[1]}/v1")

        server.startup = startup
        server.run(sockets=[listener])
    if server.started:
        # uvicorn raises the signal again when it has closed; asyncio swallows that of Ctrl-C where
        # nothing was left to wait for.
        raise KeyboardInterrupt


class Chat:
    """A conversation with a model of this machine.

    Args:
        spec: `local/<name>`.
        system: system prompt, if any.
        max_tokens: of each answer.
        temperature: 0 is greedy.

    Raises:
        BadInput: if the model cannot be used.
    """

    def __init__(
        self, spec: str, system: str | None = None, *, max_tokens: int, temperature: float
    ) -> None:
        from harness.engines.embedded import backend

        self._backend = backend(_name(spec))
        self._body = {"model": spec, "max_tokens": max_tokens, "temperature": temperature}
        self._messages = [{"role": "system", "content": system}] if system else []

    def say(self, text: str) -> str:
        """One turn; the conversation so far is its context.

        Raises:
            BadInput: if the conversation outgrew the model's context; the turn is then forgotten.
        """
        import asyncio

        messages = [*self._messages, {"role": "user", "content": text}]

        async def ask() -> str:
            completion = await self._backend(self._body | {"messages": messages})
            assert isinstance(completion, dict)  # no stream was asked for
            return completion["choices"][0]["message"]["content"]

        try:
            answer = asyncio.run(ask())
        except Refused as error:
            raise BadInput(str(error)) from error
        self._messages = [*messages, {"role": "assistant", "content": answer}]
        return answer
