"""The embedded engine: a small language model on the CPU behind an OpenAI-compatible app.

What it promises:

- `temperature` absent or 0 is greedy decoding.
- Every sampling parameter is honoured, or the request is refused with a 400 that names it.
- Requests that arrive together are batched on one engine thread, and share cached prefixes.
- A greedy answer does not depend on what else is in the batch, nor on what was cached before.
- A seeded request repeats: the engine draws from one random stream, so a request with a seed is
  never in flight together with another sampled one.
- Usage counts the tokens that entered and left the engine; nothing is estimated.
"""

from __future__ import annotations

from harness.engines.embedded.server import app
from harness.models.endpoints import IN_PROCESS_URL, Endpoint, base_urls
from harness.models.specs import ModelSpec

__all__ = ["app", "endpoint"]


def endpoint(spec: ModelSpec, base_url: str | None) -> Endpoint:
    """The endpoint of `local/<name>`: a server of it at `base_url`, else the engine in here.

    Raises:
        BadInput: if the model is unknown, or its weights were not pulled.
    """
    if base_url:
        return Endpoint("local", spec.name, base_urls(base_url))
    return Endpoint("local", spec.name, (IN_PROCESS_URL,), app=app(spec.name))
