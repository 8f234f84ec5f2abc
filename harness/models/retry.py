"""When to try again, and how long to wait: exponential back-off with full jitter."""

from __future__ import annotations

import asyncio
import email.utils
import random
import re
import time
from collections import deque
from collections.abc import Mapping

ATTEMPTS = 6
CONNECT_ATTEMPTS = 3
"""Of a call whose endpoint cannot be connected to: it is down, not busy."""
BASE_S = 0.5
CAP_S = 30.0
LONGEST_WAIT_S = 300.0
"""A server that asks for more than this is reported instead of waited for."""

LATEST, REFUSED_SHARE = 32, 0.25

RETRIED = frozenset({408, 409, 429})

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def is_retried(status: int) -> bool:
    """Whether a request that got this HTTP status is worth sending again."""
    return status in RETRIED or status >= 500


def backoff_s(attempt: int, rng: random.Random) -> float:
    """Seconds before attempt number `attempt` + 1 (from 1): uniform below a doubling ceiling."""
    return rng.uniform(0, min(CAP_S, BASE_S * 2.0 ** (attempt - 1)))


def duration_s(text: str) -> float | None:
    """Seconds of `1.5`, `120ms` or `6m0s`; None if it is no duration."""
    text = text.strip()
    try:
        seconds = float(text)
        return seconds if 0 <= seconds < float("inf") else None
    except ValueError:
        pass
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _UNIT_S[unit] for number, unit in parts)


def retry_after_s(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds that the server asks to wait (`Retry-After-Ms`, `Retry-After`), if it does."""
    milliseconds = duration_s(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "")
    seconds = duration_s(text)
    if seconds is not None or not text:
        return seconds
    try:
        moment = email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError):
        return None
    return max(0.0, moment - (time.time() if now is None else now))


def quota_pause_s(headers: Mapping[str, str]) -> float:
    """Seconds until a used-up quota (`x-ratelimit-remaining-*: 0`) is refilled."""
    used_up = [
        what
        for what in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{what}", "").strip() == "0"
    ]
    waits = [duration_s(headers.get(f"x-ratelimit-reset-{what}", "")) for what in used_up]
    return max((wait for wait in waits if wait), default=0.0)


class RateGate:
    """Holds all calls to an endpoint back while its quota is used up.

    A refusal now and then concerns the refused call alone; it holds the others back where refusals
    are more than :data:`REFUSED_SHARE` of the latest answers.
    """

    def __init__(self) -> None:
        self._opens_at = 0.0
        self._refused: deque[bool] = deque(maxlen=LATEST)

    def answered(self) -> None:
        """A call got its answer."""
        self._refused.append(False)

    def refused(self, seconds: float) -> None:
        """A call was told to wait `seconds`."""
        self._refused.append(True)
        if sum(self._refused) > REFUSED_SHARE * len(self._refused):
            self.pause(seconds)

    def pause(self, seconds: float) -> None:
        """Let nothing through for `seconds` from now."""
        self._opens_at = max(self._opens_at, time.monotonic() + min(seconds, LONGEST_WAIT_S))

    async def wait(self) -> None:
        """Return once calls may be sent."""
        while (left := self._opens_at - time.monotonic()) > 0:  # noqa: ASYNC110  # it moves
            await asyncio.sleep(left)
