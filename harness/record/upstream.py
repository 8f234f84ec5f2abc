"""Destination of requests, and their prices.

A request goes to the provider that the client means, to a URL, or to a model spec of ours. Its
worst case is set aside from the budget before it is sent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpx

from harness.core import (
    BadInput,
    Usage,
    async_http_client,
    count,
    limit_async_reply,
    mapping,
    on_loopback,
    string,
)
from harness.models import (
    OPENAI_URL,
    PRICES_VARIABLE,
    Backend,
    Budget,
    Layer,
    ModelSpec,
    Price,
    Reservation,
    Spend,
    parse_spec,
    price_of,
    prompt_bound,
    refuse_unpriced,
    resolve,
)
from harness.models.client import DEFAULT_MAX_TOKENS
from harness.record.wires import Body, ChatTransport, Wire

ANTHROPIC_URL = "https://api.anthropic.com"
_DROPPED = ("host", "content-length", "accept-encoding", "connection", "transfer-encoding")
_SECONDS = httpx.Timeout(600.0, connect=30.0)


@dataclass(frozen=True)
class Upstream:
    """Destination of requests.

    Attributes:
        openai: base URL in the place of `/v1`, for all paths but Anthropic's.
        anthropic: URL in front of `/v1`, for Anthropic's.
        spec: the model that answers whatever model is asked for, if one was named.
        key: sent in place of the client's; None passes the client's through.
        backend: answers in this process in place of the URLs.
        adapt: puts a request into a form that the upstream takes.
        translate: whether it speaks chat completions only, so that the other formats are
            translated for it.
        layer: stands in front of it, such as a guard; it has to speak chat completions then.
    """

    openai: str
    anthropic: str
    spec: ModelSpec | None = None
    key: str | None = field(default=None, repr=False)
    backend: Backend | None = None
    adapt: Callable[[Body], Body] | None = None
    translate: bool = False
    layer: Layer | None = None

    def url(self, path: str, headers: Mapping[str, str]) -> str:
        """The URL of a path, which begins with `/v1` where it is a provider's."""
        anthropic = "anthropic-version" in headers or path.startswith("/v1/messages")
        if anthropic and not self.translate:
            return self.anthropic + path
        if path.startswith("/v1/"):
            return self.openai + path.removeprefix("/v1")
        return self.openai.removesuffix("/v1") + path

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Pass on the client's headers, and ask for an answer that is not compressed."""
        kept_headers = {name: value for name, value in headers.items() if name not in _DROPPED}
        if self.key is not None:
            kept_headers.pop("x-api-key", None)
            kept_headers["authorization"] = f"Bearer {self.key}"
        elif self.translate and "x-api-key" in kept_headers:
            kept_headers["authorization"] = f"Bearer {kept_headers.pop('x-api-key')}"
        return {**kept_headers, "accept-encoding": "identity"}

    def client(self) -> httpx.AsyncClient:
        """A client; the proxy follows no redirect and repeats nothing by itself."""
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        transport = None
        if self.backend is not None:
            transport = ChatTransport(self.backend, layer=self.layer)
        elif self.translate:
            # A transport of one's own switches off the proxies that the environment names
            # (`HTTPS_PROXY`, `NO_PROXY` and the like): they are looked up here.
            url, proxies = httpx.URL(self.openai), getproxies()
            host = url.host if url.port is None else f"{url.host}:{url.port}"
            proxy = proxies.get(url.scheme) or proxies.get("all")
            if proxy and (on_loopback(self.openai) or proxy_bypass(host)):
                proxy = None
            if proxy and "://" not in proxy:
                proxy = f"http://{proxy}"
            direct = httpx.AsyncHTTPTransport(limits=limits, proxy=proxy or None)
            transport = ChatTransport(None, direct, self.layer)
        remote = self.openai if on_loopback(self.anthropic) else self.anthropic
        hooks = {"response": [limit_async_reply]}
        return async_http_client(
            remote, _SECONDS, limits=limits, transport=transport, event_hooks=hooks
        )

    @property
    def official(self) -> bool:
        """True if prices of the provider's own endpoint hold."""
        return self.backend is None and self.openai == OPENAI_URL


def find_upstream(
    option: str | None,
    environment: Mapping[str, str] = os.environ,
    *,
    translate: bool = False,
    base_url: str | None = None,
) -> Upstream:
    """The upstream of an option's text.

    Args:
        named: a URL; a model spec such as `local/smollm2-135m`; None for what the clients'
            variables name (`OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL`), else the providers.
        environment: where those variables are looked up.
        translate: whether it speaks chat completions only; models in this process always do.
        base_url: endpoint of a model spec, in place of its own.

    Raises:
        BadInput: if it is neither a URL nor a model spec that can be opened.
    """
    if option is None and translate:
        raise BadInput(
            "--translate and --guard need --model or --base-url: a server of chat completions"
        )
    if option is None:
        openai = environment.get("OPENAI_BASE_URL") or environment.get("OPENAI_API_BASE")
        anthropic = environment.get("ANTHROPIC_BASE_URL") or ANTHROPIC_URL
        return Upstream((openai or OPENAI_URL).rstrip("/"), anthropic.rstrip("/"))
    if option.startswith(("http://", "https://")):
        return Upstream(*_both(option), translate=translate)
    if "://" in option:
        raise BadInput(f"expected http(s)://HOST or a model spec, got {option!r}")
    spec = parse_spec(option)
    endpoint = resolve(spec, base_url)
    urls, chat_only = _both(endpoint.given_url), translate or endpoint.backend is not None
    return Upstream(*urls, spec, endpoint.key, endpoint.backend, translate=chat_only)


def _both(url: str) -> tuple[str, str]:
    """Base URLs for OpenAI's and for Anthropic's paths; a URL without a path gets its `/v1`."""
    base = url.rstrip("/")
    if not httpx.URL(base).path.strip("/"):
        base += "/v1"
    return base, base.removesuffix("/v1")


class Purse:
    """Bounds, reserves and counts the requests of one recording.

    Args:
        budget: its limits.
        upstream: who charges.
    """

    def __init__(self, budget: Budget, upstream: Upstream) -> None:
        self._budget, self._upstream = budget, upstream

    def refuse_unbounded(self, body: Body, content: bytes) -> None:
        """Refuse a request that no budget can hold, if there is one.

        Args:
            body: the request.
            content: what the client sent; servers differ in which of two values of a key holds.

        Raises:
            BadInput: if it is no JSON object, has a key twice, or a parameter with a price of its
                own.
        """
        if not body and (self._budget.bounds_tokens or self._budget.calls is not None):
            raise BadInput("expected a JSON object: a budget cannot hold for another body")
        if self._budget.bounds_tokens:
            refuse_unpriced(body)
            json.loads(content, object_pairs_hook=_refuse_doubled)

    def bounded(self, wire: Wire, body: Body) -> Body:
        """The request, with a bound on its completion where a budget needs one and it has none."""
        if not self._budget.bounds_tokens or _limit(wire, body):
            return body
        name = wire.limits[0] if self._upstream.official else wire.limits[-1]
        return {**body, name: DEFAULT_MAX_TOKENS}

    async def reserve(self, wire: Wire, body: Body) -> Reservation:
        """Set the worst case of a request aside; its prompt is bounded by its bytes.

        Raises:
            LimitReached: if the budget cannot hold it.
            BadInput: if money is limited and the model's price is unknown.
        """
        price = self._price(body)
        if price is None and self._budget.usd is not None:
            raise BadInput(
                f"a money budget cannot hold for the model {body.get('model')!r}: its price is "
                f"unknown; add it to a table named by {PRICES_VARIABLE}, or use --budget-tokens"
            )
        items = map(mapping, wire.listed(body))
        system = ({"content": body[name]} for name in ("system", "instructions") if body.get(name))
        further = {name: body[name] for name in ("tools", "response_format") if name in body}
        prompt = prompt_bound({"messages": [*system, *items], **further})
        completion = _limit(wire, body)
        usd = price.cost(prompt, completion) if price else 0.0
        return await self._budget.reserve(Spend(usd, prompt + completion, 1))

    def usage(self, wire: Wire, body: Body, response: Body, seconds: float) -> Usage | None:
        """Read the use in a response; None if it does not say."""
        tokens = wire.tokens(response)
        if tokens is None:
            return None
        price = self._price(body)
        cached = min(tokens.cached, tokens.prompt)
        return Usage(
            calls=1,
            prompt_tokens=tokens.prompt,
            completion_tokens=tokens.completion,
            cached_tokens=cached,
            cost_usd=price.cost(tokens.prompt, tokens.completion, cached) if price else None,
            seconds=seconds,
        )

    def _price(self, body: Body) -> Price | None:
        spec = self._upstream.spec or ModelSpec(kind="openai", name=string(body.get("model")))
        return price_of(spec, official=self._upstream.official)


def _refuse_doubled(pairs: list[tuple[str, Any]]) -> None:
    """Raise BadInput if an object of a body has a key twice."""
    if len(dict(pairs)) < len(pairs):
        names = ", ".join(name for name, _ in pairs)
        raise BadInput(f"expected every key of an object once, got {names:.200}: not counted")


def _limit(wire: Wire, body: Body) -> int:
    return next((count(body[name]) for name in wire.limits if count(body.get(name))), 0)
