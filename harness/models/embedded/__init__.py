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

from harness.models.embedded.server import app

__all__ = ["app"]
