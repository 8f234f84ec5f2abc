"""The embedded engine: a small language model on the CPU, as a back end of the gateway.

What it promises:

- `temperature` absent or 0 is greedy decoding.
- Every sampling parameter is honoured, or the request is refused with a 400 that names it.
- Requests that arrive together are batched on one engine thread, and share cached prefixes.
- A greedy answer does not depend on what else is in the batch, nor on what was cached before, on
  any processor: activations are not quantised, and the attention cache is in full precision.
- A seeded request repeats: the engine draws from one random stream, so a request with a seed is
  never in flight together with another sampled one.
- Usage counts the tokens that entered and left the engine; nothing is estimated.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
