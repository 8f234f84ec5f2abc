"""The embedded engine: a small language model on the CPU, as a back end of the gateway.

It is llama.cpp's server in a process of its own, one for a model on a machine, which every command
shares. What it promises:

- `temperature` absent or 0 is greedy decoding.
- Every parameter is honoured, or the request is refused with a 400 that names it.
- Requests that arrive together are batched, and prefixes that were seen are not computed again.
- With one slot (`HARNESS_ENGINE_SLOTS=1`) a greedy or seeded answer repeats. With several, requests
  in one batch may change the last bits of each other's sums, and so now and then a word.
- An engine that dies is started again, and what was asked is asked again.
- Usage counts the tokens that entered and left the engine; nothing is estimated.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
