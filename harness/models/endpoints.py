"""Where a model spec leads: base URLs and a key, or an app in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from harness.core import BadInput
from harness.core.plugins import load
from harness.models.balancing import Balancer, Route
from harness.models.specs import ModelSpec

if TYPE_CHECKING:
    import openai

OPENAI_URL = "https://api.openai.com/v1"
VLLM_URL = "http://127.0.0.1:8000/v1"
IDLE_S = 4.0
"""Seconds after which an idle connection is not used again."""
IN_PROCESS_URL = "http://in-process/v1"


@dataclass(frozen=True)
class Endpoint:
    """Where to send requests.

    Attributes:
        kind: part of the cache key.
        model: model name on the wire.
        urls: base URLs; more than one are balanced with prefix affinity.
        key: API key, from the environment.
        key_variable: the variable it comes from, for messages.
        app: the ASGI application that answers in this process, if it is not reached by HTTP.
        simulated: whether a simulated model answers.
    """

    kind: str
    model: str
    urls: tuple[str, ...]
    key: str = "EMPTY"
    key_variable: str = ""
    app: Any = None
    simulated: bool = False

    @property
    def official(self) -> bool:
        """Whether this is OpenAI's own endpoint."""
        return self.kind == "openai" and self.urls == (OPENAI_URL,)

    @cached_property
    def balancer(self) -> Balancer | None:
        """Chooses among several servers; None where there is one."""
        return Balancer(self.urls) if len(self.urls) > 1 else None

    def route(self, body: Mapping[str, Any]) -> Route:
        """The servers for a request, one for each attempt."""
        return Route(self.balancer, body)

    def sending(self, index: int) -> AbstractContextManager[None]:
        """Around a request that is sent to a server, for its load and health."""
        return nullcontext() if self.balancer is None else self.balancer.sending(index)

    def client(self, index: int, concurrency: int) -> openai.AsyncOpenAI:
        """A client of one base URL; it never retries by itself."""
        import openai

        http: Any = None
        if self.app is not None:
            import httpx

            transport = httpx.ASGITransport(app=self.app)
            http = httpx.AsyncClient(transport=transport, base_url=self.urls[index])
        else:
            # Below the client, aiohttp: its parser is compiled and its pool does not look at every
            # connection for every request; a call takes 1.1 ms less processor time.
            compiled = find_spec("aiohttp") is not None
            kind = openai.DefaultAioHttpClient if compiled else openai.DefaultAsyncHttpxClient
            http = kind(limits=_limits(concurrency))
        return openai.AsyncOpenAI(
            api_key=self.key, base_url=self.urls[index], max_retries=0, http_client=http
        )


def on_loopback(url: str) -> bool:
    """Whether a URL leads to the machine that asks, whichever that is."""
    host = urlsplit(url).hostname or ""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def _limits(concurrency: int) -> Any:
    import openai

    usual: Any = openai.DEFAULT_CONNECTION_LIMITS
    most = max(concurrency, usual.max_connections or 0)
    # Many servers close a connection that was idle for five seconds: never race with them.
    return type(usual)(
        max_connections=most, max_keepalive_connections=most, keepalive_expiry=IDLE_S
    )


def resolve(spec: ModelSpec, base_url: str | None) -> Endpoint:
    """Find the endpoint of a spec.

    Raises:
        BadInput: for a missing key, a base URL that is none, an unknown embedded model, profile
            or recording.
    """
    resolver = _RESOLVERS.get(spec.kind) or load("engines", spec.kind)
    return resolver(spec, base_url)


def _openai(spec: ModelSpec, base_url: str | None) -> Endpoint:
    urls = base_urls(base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL)
    key = os.environ.get("OPENAI_API_KEY", "")
    if not key and urls == (OPENAI_URL,):
        raise BadInput(
            f"{spec}: OPENAI_API_KEY is not set; set it, or name another endpoint with --base-url"
        )
    return Endpoint("openai", spec.name, urls, key or "EMPTY", "OPENAI_API_KEY")


def _vllm(spec: ModelSpec, base_url: str | None) -> Endpoint:
    urls = base_urls(base_url or os.environ.get("VLLM_BASE_URL") or VLLM_URL)
    key = os.environ.get("VLLM_API_KEY") or "EMPTY"
    return Endpoint("vllm", spec.name, urls, key, "VLLM_API_KEY")


def base_urls(text: str) -> tuple[str, ...]:
    """Base URLs out of a text with commas.

    Raises:
        BadInput: for one that is none.
    """
    parts = (part.strip().rstrip("/") for part in text.split(","))
    urls = tuple(dict.fromkeys(part for part in parts if part))
    if not urls:
        raise BadInput(f"expected a base URL such as {VLLM_URL}, got {text!r}")
    for url in urls:
        if not url.startswith(("http://", "https://")):
            raise BadInput(f"expected a base URL such as {VLLM_URL}, got {url!r}")
    return urls


def _replay(spec: ModelSpec, base_url: str | None) -> Endpoint:
    from harness.models.replay import Recording

    recording = Recording(Path(spec.name))
    return Endpoint(
        "replay",
        "recorded",
        (IN_PROCESS_URL,),
        app=recording.app(),
        simulated=recording.simulated,
    )


_RESOLVERS: dict[str, Callable[[ModelSpec, str | None], Endpoint]] = {
    "openai": _openai,
    "vllm": _vllm,
    "replay": _replay,
}
