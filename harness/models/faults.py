"""What went wrong with a call: whether to send it again, what it cost, what to tell the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from harness.core import BadInput, HarnessError, Unreachable
from harness.core.redaction import redact
from harness.models.retry import is_retried, quota_pause_s, retry_after_s

if TYPE_CHECKING:
    import openai

    from harness.models.endpoints import Endpoint

BUSY = frozenset({408, 429, 503, 529})
"""Too slow, too many requests, unavailable, overloaded."""
_UNSENT = frozenset(
    {"ConnectError", "ConnectTimeout", "UnsupportedProtocol", "PoolTimeout",
     "ClientConnectorError", "ConnectionTimeoutError", "InvalidURL"}
)  # fmt: skip
"""Errors of httpx and aiohttp that came before the request was sent."""


@dataclass(frozen=True)
class Fault:
    """An attempt that brought no answer.

    Attributes:
        error: what to raise if there is no other attempt.
        retried: whether another attempt may succeed.
        unsent: whether the request never reached the server.
        lost: whether the server may have answered, and charged, without our seeing it.
        retry_after_s: what the server asked us to wait.
        quota_pause_s: how long its quota is used up.
        busy: whether the server has more requests than it bears: it said so, or took too long.
    """

    error: HarnessError
    retried: bool
    unsent: bool = False
    lost: bool = False
    retry_after_s: float | None = None
    quota_pause_s: float = 0.0
    busy: bool = False


def classify(error: openai.APIError, endpoint: Endpoint, index: int) -> Fault:
    """Read a failure of the client.

    HTTP 400, 404, 422 and other rejections are BadInput; 401 and 403 are Unreachable with the
    variable to set; 408, 409, 429, 5xx and broken connections are retried, then Unreachable.
    """
    import openai

    where = f"{endpoint.kind} endpoint {endpoint.urls[index]}"
    if not isinstance(error, openai.APIStatusError):
        return _no_answer(error, where)
    status = error.status_code
    said = _message(error)
    headers = cast("Mapping[str, str]", error.response.headers)
    if is_retried(status):
        return Fault(
            Unreachable(f"{where} unreachable: it keeps answering HTTP {status}: {said}"),
            retried=True,
            lost=status == 408 or status >= 500,
            retry_after_s=retry_after_s(headers),
            quota_pause_s=quota_pause_s(headers) if status == 429 else 0.0,
            busy=status in BUSY,
        )
    if status in (401, 403):
        hint = f"; check {endpoint.key_variable}" if endpoint.key_variable else ""
        text = f"{where} unreachable: it refused the key (HTTP {status}): {said}{hint}"
        return Fault(Unreachable(text), retried=False)
    if endpoint.kind == "replay":
        return Fault(BadInput(said), retried=False)
    text = f"{where} rejected the request for model {endpoint.model!r} (HTTP {status}): {said}"
    return Fault(BadInput(text), retried=False)


def is_broken(error: BaseException) -> bool:
    """Whether it is aiohttp that found no HTTP where an answer should have been."""
    return any(kind.__module__.startswith("aiohttp.") for kind in type(error).__mro__)


def _cause(error: BaseException) -> BaseException:
    """What lies behind an error of the client.

    The transport between httpx and aiohttp calls every lost connection a ConnectTimeout, also one
    that was lost after the request had been sent and may have been paid for.
    """
    cause = error.__cause__ or error
    behind = cause.__cause__
    return behind if behind is not None and is_broken(behind) else cause


def _no_answer(error: openai.APIError, where: str) -> Fault:
    cause = _cause(error)
    reason = f"{type(cause).__name__}: {cause}".rstrip(": ")
    unsent = any(kind.__name__ in _UNSENT for kind in type(cause).__mro__)
    slow = isinstance(cause, TimeoutError) or type(cause).__name__.endswith("Timeout")
    hint = "is the server running, and is the base URL right?" if unsent else "try again later"
    return Fault(
        Unreachable(f"{where} unreachable: {redact(reason)}; {hint}"),
        retried=True,
        unsent=unsent,
        lost=not unsent,
        busy=slow and not unsent,
    )


def _message(error: openai.APIStatusError) -> str:
    """What the server said, without secrets."""
    body: Any = error.body
    text = body.get("message") if hasattr(body, "get") else None
    return redact(str(text or error.response.text))[:2000] or "(no message)"
