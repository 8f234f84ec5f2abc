"""Applications on a loopback port, and a model of ours as one of them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING, Any

from harness.core import BadInput

if TYPE_CHECKING:
    from starlette.applications import Starlette

HOST = "127.0.0.1"


def served_app(spec: str) -> Starlette:
    """The app behind a model spec that this machine can serve.

    Raises:
        BadInput: if the spec is not `local/<name>`, or its weights were not pulled.
    """
    kind, _, name = spec.partition("/")
    if kind != "local" or not name:
        raise BadInput(
            f"expected a model that runs here, such as 'local/smollm2-135m', found {spec!r}; "
            "serve other models with their own server and reach them as openai/ or vllm/"
        )
    from harness.models.embedded import app

    return app(name)


def bind(port: int) -> socket.socket:
    """A socket on loopback; port 0 takes a free one.

    Raises:
        BadInput: if the port is taken or not allowed.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise BadInput(f"cannot listen on {HOST}:{port}: {error}; choose another --port") from error
    return listener


@contextlib.asynccontextmanager
async def serving(app: Any, port: int = 0, grace: int | None = None) -> AsyncGenerator[str]:
    """Serve an ASGI `app` on 127.0.0.1 while a block runs; gives `http://127.0.0.1:<port>`.

    Args:
        app: the application.
        port: TCP port; 0 takes a free one.
        grace: seconds that requests under way have when the block ends; None waits for them.

    Raises:
        BadInput: if the port cannot be had.
    """
    import uvicorn

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Generator[None]:
            yield  # Ctrl-C belongs to the run or the command that is served

    with bind(port) as listener:
        listener.listen(256)
        config = uvicorn.Config(
            app, log_level="critical", lifespan="off", timeout_graceful_shutdown=grace
        )
        server = Server(config)
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://{HOST}:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await running


def serve(
    spec: str,
    port: int,
    ready: Callable[[str], None],
    around: Callable[[Starlette], Starlette] | None = None,
) -> None:
    """Serve a model until SIGINT or SIGTERM.

    Args:
        spec: `local/<name>`.
        port: TCP port on 127.0.0.1; 0 takes a free one.
        ready: called once with the base URL, when the weights are loaded and requests are taken.
        around: puts an app in front of the model's.

    Raises:
        KeyboardInterrupt: when SIGINT has ended it.
        BadInput: if the model or the port cannot be used.
    """
    import uvicorn

    application = served_app(spec)
    if around is not None:
        application = around(application)
    with bind(port) as listener:
        _warm(spec)
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


def _warm(spec: str) -> None:
    from harness.models.embedded.server import engine

    engine(spec.partition("/")[2]).load()


class Chat:
    """A conversation with a model of this machine, in process.

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
        self._app = served_app(spec)
        self._body = {"model": spec, "max_tokens": max_tokens, "temperature": temperature}
        self._messages = [{"role": "system", "content": system}] if system else []

    def say(self, text: str) -> str:
        """One turn; the conversation so far is its context.

        Raises:
            BadInput: if the conversation outgrew the model's context; the turn is then forgotten.
        """
        import asyncio

        turn = [*self._messages, {"role": "user", "content": text}]
        answer = asyncio.run(self._post(turn))
        self._messages = [*turn, {"role": "assistant", "content": answer}]
        return answer

    async def _post(self, messages: list[dict[str, str]]) -> str:
        import httpx

        transport = httpx.ASGITransport(self._app)
        async with httpx.AsyncClient(transport=transport, base_url="http://embedded") as client:
            response = await client.post(
                "/v1/chat/completions", json=self._body | {"messages": messages}, timeout=None
            )
        body = response.json()
        if response.status_code != 200:
            raise BadInput(body["error"]["message"])
        return body["choices"][0]["message"]["content"]
