"""What a running vLLM says about itself at `/metrics`."""

from __future__ import annotations

import os
import re

from harness.core import Unreachable, Value
from harness.models.endpoints import on_loopback

_LINE = re.compile(r"^vllm:([a-z_]+)(?:\{.*\})? ([0-9.eE+-]+)$", re.MULTILINE)


class Figures(Value):
    """Counters of one or more servers since they started.

    Attributes:
        running: requests that are worked on.
        waiting: requests that wait for their turn.
        prompt_tokens: of all requests.
        completion_tokens: of all requests.
        cache_queries: prompt tokens that were looked up in the prefix cache.
        cache_hits: those that were there.
    """

    running: int = 0
    waiting: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cache_queries: int = 0
    cache_hits: int = 0

    @property
    def hit_rate(self) -> float | None:
        """Share of prompt tokens that the prefix cache held; None before the first request."""
        return self.cache_hits / self.cache_queries if self.cache_queries else None

    def __add__(self, other: Figures) -> Figures:
        mine, others = self.model_dump(), other.model_dump()
        return Figures(**{name: mine[name] + others[name] for name in mine})

    def __sub__(self, other: Figures) -> Figures:
        """What happened since `other`; requests under way are those of now."""
        mine, others = self.model_dump(), other.model_dump()
        since = {name: mine[name] - others[name] for name in mine}
        return Figures(**{**since, "running": self.running, "waiting": self.waiting})


_NAMES = {
    "num_requests_running": "running",
    "num_requests_waiting": "waiting",
    "prompt_tokens_total": "prompt_tokens",
    "generation_tokens_total": "completion_tokens",
    "prefix_cache_queries_total": "cache_queries",
    "prefix_cache_hits_total": "cache_hits",
}


def parse_figures(text: str) -> Figures:
    """Read the text form of Prometheus; engines of one server are added up."""
    found = dict.fromkeys(_NAMES.values(), 0.0)
    for name, value in _LINE.findall(text):
        if name in _NAMES:
            found[_NAMES[name]] += float(value)
    return Figures(**{name: int(value) for name, value in found.items()})


def authorised() -> dict[str, str]:
    """The header that shows a server the key of VLLM_API_KEY; {} without one."""
    key = os.environ.get("VLLM_API_KEY")
    return {"Authorization": f"Bearer {key}"} if key else {}


def read_figures(url: str, direct: bool = False) -> Figures:
    """Ask a server.

    Args:
        url: base URL, with `/v1`.
        direct: go past any proxy; one on loopback is always asked so.

    Raises:
        Unreachable: if it does not answer.
    """
    import httpx

    where = f"{url.rstrip('/').removesuffix('/v1')}/metrics"
    proxied = not direct and not on_loopback(url)
    try:
        answer = httpx.get(where, headers=authorised(), timeout=10.0, trust_env=proxied)
        answer.raise_for_status()
    except httpx.HTTPError as error:
        raise Unreachable(f"{where} does not answer: {error}; is it a vLLM server?") from error
    return parse_figures(answer.text)
