"""HTTP clients, created in one place: a server of this machine is never asked through a proxy."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from harness.core.errors import Unreachable

if TYPE_CHECKING:
    import httpx


PACKINGS = ("gzip", "deflate", "identity")
ACCEPTED = {"Accept-Encoding": ", ".join(PACKINGS)}
"""Headers of a client whose replies :func:`limit_reply` reads."""
KEYLESS = "#keyless"
"""Behind an address to which no key of the user's is sent, see :mod:`harness.core.trust`."""
MAX_BYTES = 32 << 20
"""Of a request or a reply that is held as a whole; what is made of it takes about eight times as
much memory."""


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
    """Create an :func:`http_client` for an event loop."""
    import httpx

    options.setdefault("trust_env", not on_loopback(url))
    return httpx.AsyncClient(timeout=timeout, **options)


def limit_reply(response: Any) -> None:
    """Let reading a reply of more than :data:`MAX_BYTES`, unpacked, end with an error.

    Args:
        response: of httpx, not yet read.

    Raises:
        Unreachable: if it is packed by what was not asked for: few bytes may unpack to gigabytes.
            From then on, by whatever reads it, if it is too large.
    """
    packing = response.headers.get("content-encoding", "identity").lower()
    if packing not in PACKINGS:
        raise Unreachable(
            f"{response.request.url.host}: its reply is packed by {packing!r}: given up"
        )
    read, read_async, size = response.iter_bytes, response.aiter_bytes, 0

    def counted(piece: bytes) -> bytes:
        nonlocal size
        size += len(piece)
        if size > MAX_BYTES:
            host = response.request.url.host
            raise Unreachable(f"{host}: its reply has more than {MAX_BYTES >> 20} MiB: given up")
        return piece

    def iter_bytes(chunk_size: int | None = None) -> Iterator[bytes]:
        return map(counted, read(chunk_size))

    async def aiter_bytes(chunk_size: int | None = None) -> AsyncGenerator[bytes]:
        async with aclosing(read_async(chunk_size)) as pieces:
            async for piece in pieces:
                yield counted(piece)

    response.iter_bytes, response.aiter_bytes = iter_bytes, aiter_bytes


async def limit_async_reply(response: Any) -> None:
    """Apply :func:`limit_reply` as an event hook of a client for event loops."""
    limit_reply(response)


def on_loopback(url: str) -> bool:
    """Return True if a URL leads to the machine that asks, whichever that is."""
    host = urlsplit(url).hostname or ""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")
