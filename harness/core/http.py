"""HTTP clients, created in one place: a server of this machine is never asked through a proxy."""

from __future__ import annotations

from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import httpx


def http_client(url: str, timeout: float | httpx.Timeout, **options: Any) -> httpx.Client:
    """A client for requests to one server.

    Args:
        url: of the server; proxies that the environment names are used unless it is on loopback.
        timeout: seconds to connect, and between two pieces of an answer.
        options: of `httpx.Client`.
    """
    import httpx

    options.setdefault("trust_env", not on_loopback(url))
    return httpx.Client(timeout=timeout, **options)


def async_http_client(
    url: str, timeout: float | httpx.Timeout, **options: Any
) -> httpx.AsyncClient:
    """As :func:`http_client`, for an event loop."""
    import httpx

    options.setdefault("trust_env", not on_loopback(url))
    return httpx.AsyncClient(timeout=timeout, **options)


def on_loopback(url: str) -> bool:
    """Whether a URL leads to the machine that asks, whichever that is."""
    host = urlsplit(url).hostname or ""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")
